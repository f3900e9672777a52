package picotest

import "github.com/jackc/pgx/v5/pgproto3"

// Message is a message of the server that a test puts into an answer.
type Message struct {
	m   pgproto3.BackendMessage
	raw []byte
}

// injected is a message as a hook hands it over.
type injected struct{ Message }

// ErrorMessage is an ErrorResponse with severity ERROR.
func ErrorMessage(code, text string) Message {
	return Message{m: &pgproto3.ErrorResponse{Severity: "ERROR", Code: code, Message: text}}
}

// Notice is a NoticeResponse.
func Notice(severity, code, text string) Message {
	return Message{m: &pgproto3.NoticeResponse{Severity: severity, Code: code, Message: text}}
}

// Parameter is a ParameterStatus.
func Parameter(name, value string) Message {
	return Message{m: &pgproto3.ParameterStatus{Name: name, Value: value}}
}

// Raw is whatever bytes: a message no server sends, or half of one.
func Raw(frame []byte) Message { return Message{raw: append([]byte(nil), frame...)} }

// replaces tells whether the message is an answer by itself.
func (m Message) replaces() bool {
	_, is := m.m.(*pgproto3.ErrorResponse)
	return is
}

func (m Message) encode(to []byte) []byte {
	if m.m == nil {
		return append(to, m.raw...)
	}
	out, err := m.m.Encode(to)
	if err != nil {
		return to
	}
	return out
}

// Send sends a message on all connections of the node at once, whatever they are at.
func (n *Node) Send(m Message) {
	for _, c := range n.connections() {
		if c.loggedIn.Load() {
			c.sendNow(m.encode(nil))
		}
	}
}
