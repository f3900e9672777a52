package watch

import "context"

// ahead is a connection whose first questions were asked together, in one flight: what a process reads before its first
// statement. As soon as anything else is asked, what is left of the answers is out of date.
type ahead struct {
	Conn
	texts   []string
	answers []Answer
}

// askAhead asks them. A connection that can't is as good as before.
func askAhead(ctx context.Context, conn Conn, texts []string) (Conn, error) {
	a, ok := conn.(Asker)
	if !ok || len(texts) == 0 {
		return conn, nil
	}
	answers, err := a.Ask(ctx, texts)
	if err != nil {
		return conn, err
	}
	return &ahead{Conn: conn, texts: texts, answers: answers}, nil
}

// Query gives what is known already.
func (a *ahead) Query(ctx context.Context, sql string) (*Result, error) {
	if len(a.texts) > 0 && a.texts[0] == sql {
		answer := a.answers[0]
		a.texts, a.answers = a.texts[1:], a.answers[1:]
		return answer.Result, answer.Err
	}
	a.texts, a.answers = nil, nil
	return a.Conn.Query(ctx, sql)
}
