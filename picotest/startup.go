package picotest

import (
	"encoding/binary"
	"io"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// Codes of packets without a type byte.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

// maxStartup bounds a startup packet, as PostgreSQL does.
const maxStartup = 10000

// startupOptions are the options a session began with.
type startupOptions struct {
	readPreference, forward string
	motionRowMax, opcodeMax *int64
	metadata, invalidation  bool
}

// startup takes a client in; false ends the connection. What went wrong with options and
// parameters the server keeps to itself: the client sees EOF.
func (s *session) startup() bool {
	if !s.c.node.awaitOnline(s.c.done) {
		return false
	}
	secure := false
	for {
		code, body, ok := s.packet()
		if !ok {
			return false
		}
		switch {
		case code == codeSSL && !secure:
			s.c.node.counters.sslRequests.Add(1)
			s.c.counters.sslRequests.Add(1)
			if s.c.node.c.ca == nil {
				s.c.sendNow([]byte{'N'})
				continue
			}
			s.c.sendNow([]byte{'S'})
			if len(s.c.in.left) > 0 || !s.c.handshake() { // bytes in clear before the handshake are nobody's
				return false
			}
			secure = true
			continue
		case code == codeCancel:
			s.c.node.counters.cancels.Add(1)
			return false
		case code>>16 != 3: // GSSENCRequest, protocol 2.0 and 4.0, garbage
			return false
		}
		params, ok := readParams(body)
		if !ok || params["user"] == "" {
			return false
		}
		s.mu.Lock()
		s.user, s.params = params["user"], params
		s.mu.Unlock()
		if s.c.node.c.ca != nil && !secure {
			s.error("28000", "this server requires the client to use ssl")
			return false
		}
		if s.opts, ok = readOptions(params, s.version); !ok {
			return false
		}
		return s.letIn()
	}
}

// letIn decides about a client that has introduced itself.
func (s *session) letIn() bool {
	o := s.c.node.c.hooks.at(s, pointLogin, 0, s.login())
	for _, m := range o.insert {
		s.c.out = m.encode(s.c.out)
	}
	switch {
	case o.blocked:
		return false
	case o.cut:
		s.c.cut(o.how)
		if o.how == cutHang {
			_, _ = io.Copy(io.Discard, s.c.transport()) // until the client has had enough
		}
		return false
	case o.answer != nil:
		s.c.out = o.answer.encode(s.c.out)
		return false
	}
	if !s.c.node.admit(s.c) {
		s.c.node.counters.refused()
		s.error("53300", "sorry, too many clients already")
		return false
	}
	if !s.authenticate() {
		return false
	}
	s.c.node.counters.session(s.user, s.params["options"])
	s.send(&pgproto3.AuthenticationOk{})
	for _, p := range [][2]string{
		{"server_version", "15.0"}, {"server_encoding", "UTF8"}, {"client_encoding", "UTF8"},
		{"DateStyle", "ISO, MDY"}, {"integer_datetimes", "on"}, {"TimeZone", "UTC"},
	} {
		s.send(&pgproto3.ParameterStatus{Name: p[0], Value: p[1]})
	}
	s.ready()
	return true
}

// packet reads a packet without type byte.
func (s *session) packet() (code uint32, body []byte, ok bool) {
	var head [8]byte
	if s.c.readStartup(head[:]) != nil {
		return 0, nil, false
	}
	size := int(binary.BigEndian.Uint32(head[:4]))
	if size < 8 || size > maxStartup {
		return 0, nil, false
	}
	body = make([]byte, size-8)
	if s.c.readStartup(body) != nil {
		return 0, nil, false
	}
	if !s.c.node.frozen.pass(s.c.done) || !s.delay() {
		return 0, nil, false
	}
	s.c.frame(true, "startup", append(head[4:8:8], body...))
	return binary.BigEndian.Uint32(head[4:]), body, true
}

// readParams reads name, value, name, value, …, an empty name.
func readParams(body []byte) (map[string]string, bool) {
	params := map[string]string{}
	rest := string(body)
	for {
		name, more, ok := strings.Cut(rest, "\x00")
		if !ok {
			return nil, false
		}
		if name == "" {
			return params, true
		}
		value, more, ok := strings.Cut(more, "\x00")
		if !ok {
			return nil, false
		}
		params[name], rest = value, more
	}
}

// readOptions reads the startup parameter options, k=v,k2=v2, and the two smart-client parameters
// that may also stand by themselves, which then win. False: the server would close the connection.
func readOptions(params map[string]string, v engine.Version) (startupOptions, bool) {
	var o startupOptions
	items := []string{}
	if text, given := params["options"]; given {
		items = strings.Split(text, ",")
	}
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		if !ok || !o.set(name, value, v) {
			return o, false
		}
	}
	for _, name := range []string{"pico_query_metadata", "pico_stmt_invalidation"} {
		if value, given := params[name]; given && !o.set(name, value, v) {
			return o, false
		}
	}
	return o, true
}

// set takes one option; an unknown one is fine.
func (o *startupOptions) set(name, value string, v engine.Version) bool {
	number := func(to **int64) bool {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return false
		}
		*to = &n
		return true
	}
	truth := func(to *bool) bool {
		*to = value == "true"
		return value == "true" || value == "false"
	}
	switch {
	case name == "sql_motion_row_max":
		return number(&o.motionRowMax)
	case name == "sql_vdbe_opcode_max":
		return number(&o.opcodeMax)
	case name == "read_preference" && knowsReadPreference(v):
		o.readPreference = strings.ToLower(value)
		return o.readPreference == "leader" || o.readPreference == "replica" || o.readPreference == "any"
	case name == "forward" && knowsForward(v):
		o.forward = value
		return value == "on" || value == "off" || value == "ro_to_rw"
	case name == "pico_query_metadata" && knowsReadPreference(v):
		return truth(&o.metadata)
	case name == "pico_stmt_invalidation" && knowsReadPreference(v):
		return truth(&o.invalidation)
	}
	return true
}
