package picotest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// prepare has the engine read a statement for this session.
func (s *session) prepare(sql string, oids []uint32) (engine.StmtAPI, *engine.Error) {
	return s.c.node.c.prepare(engine.Session{
		User: s.user, Instance: s.c.node.name, Version: s.version,
		ReadPreference: s.opts.readPreference, Forward: s.opts.forward,
		MotionRowMax: s.opts.motionRowMax, OpcodeMax: s.opts.opcodeMax,
	}, sql, oids)
}

// prepare has the engine read a statement.
func (c *Cluster) prepare(s engine.Session, sql string, oids []uint32) (engine.StmtAPI, *engine.Error) {
	stmt, bad := c.eng.Prepare(s, sql, oids)
	if bad != nil {
		return nil, bad
	}
	return stmt, nil
}

// parse answers a Parse message.
func (s *session) parse(m *pgproto3.Parse) bool {
	if answered, on := s.met(pointParse, m.Query, m.Name); answered || !on {
		return on
	}
	stmt, bad := s.prepare(m.Query, m.ParameterOIDs)
	if bad == nil && s.opts.metadata && stmt.Kind() == engine.Empty {
		// The server asks for the top of a plan that isn't there.
		bad = &engine.Error{Code: "XX000", Message: "sbroad: invalid plan: plan tree top is None"}
	}
	if bad == nil {
		bad = s.keep(&statement{name: m.Name, stmt: stmt, sql: m.Query})
	}
	if bad != nil {
		return s.fail(bad.Code, bad.Message)
	}
	if s.opts.metadata {
		s.send(metadataNotice(m.Query, stmt))
	}
	s.send(&pgproto3.ParseComplete{})
	return true
}

// met has happen what was set for a message of a text at a point. answered: instead of the server's own answer; on: the
// connection lives.
func (s *session) met(point pointKind, sql, name string) (answered, on bool) {
	h := &s.c.node.c.hooks
	if !h.any(point) {
		return false, true
	}
	st := s.login()
	st.SQL, st.Extended, st.Prepared = sql, true, name
	o := h.at(s, point, 0, st)
	if !s.obey(o, false) {
		return false, false
	}
	if o.answer != nil {
		s.c.out = o.answer.encode(s.c.out)
		s.skipping = true
	}
	return o.answer != nil, true
}

// metadataNotice tells a smart client which parameters form the sharding key.
func metadataNotice(sql string, stmt engine.StmtAPI) *pgproto3.NoticeResponse {
	text := struct {
		Type  string      `json:"type"`
		Query string      `json:"query"`
		Tier  *string     `json:"tier"`
		Key   [][2]uint32 `json:"dk_meta"`
	}{Type: "PreparedStatementMetadata", Query: sql, Key: [][2]uint32{}}
	if tier := stmt.Tier(); tier != "" {
		text.Tier = &tier
	}
	for _, k := range stmt.Key() {
		text.Key = append(text.Key, [2]uint32{uint32(k.Index), k.OID})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return &pgproto3.NoticeResponse{Severity: "NOTICE", Code: "00000", Message: string(bytes.TrimRight(b.Bytes(), "\n"))}
}

// bind answers a Bind message.
func (s *session) bind(m *pgproto3.Bind) bool {
	st := s.statements[m.PreparedStatement]
	if st == nil {
		return s.fail("XX000", fmt.Sprintf("Couldn't find statement '%s'.", m.PreparedStatement))
	}
	if answered, on := s.met(pointBind, st.sql, st.name); answered || !on {
		return on
	}
	if s.opts.invalidation {
		if bad := st.stmt.Missing(); bad != nil {
			return s.fail(bad.Code, bad.Message)
		}
	}
	if s.opts.invalidation && st.stmt.Stale() {
		return s.fail("42999", fmt.Sprintf("prepared statement %s has been invalidated", m.PreparedStatement))
	}
	want := len(st.stmt.Params())
	if bad := countParameters(len(m.Parameters), want, m.PreparedStatement); bad != nil {
		return s.fail(bad.Code, bad.Message)
	}
	formats, bad := spreadFormats(m.ParameterFormatCodes, want)
	if bad != nil {
		return s.fail(bad.Code, bad.Message)
	}
	args, bad := st.stmt.Bind(formats, m.Parameters)
	if bad != nil {
		return s.fail(bad.Code, bad.Message)
	}
	results, bad := spreadFormats(m.ResultFormatCodes, len(st.stmt.Columns()))
	if bad != nil {
		return s.fail(bad.Code, bad.Message)
	}
	if bad := s.openPortal(m.DestinationPortal, &portal{st: st, args: args, formats: results}); bad != nil {
		return s.fail(bad.Code, bad.Message)
	}
	s.send(&pgproto3.BindComplete{})
	return true
}

// countParameters is nil if a statement got as many parameters as it has.
func countParameters(got, want int, name string) *engine.Error {
	if got == want {
		return nil
	}
	return &engine.Error{Code: "08P01", Message: fmt.Sprintf(
		`protocol violation: bind message supplies %d parameters, but prepared statement "%s" requires %d`, got, name, want)}
}

// spreadFormats makes one format code per item: none means text for all, one is meant for all.
func spreadFormats(codes []int16, n int) ([]int16, *engine.Error) {
	list := make([]int16, n)
	switch len(codes) {
	case 0:
	case 1:
		for i := range list {
			list[i] = codes[0]
		}
	case n:
		copy(list, codes)
	default:
		return nil, &engine.Error{Code: "08P01", Message: fmt.Sprintf("protocol violation: got %d format codes for %d items", len(codes), n)}
	}
	return list, nil
}

// describe answers a Describe message.
func (s *session) describe(m *pgproto3.Describe) bool {
	var stmt engine.StmtAPI
	var formats []int16
	if m.ObjectType == 'P' {
		p := s.portals[m.Name]
		if p == nil {
			return s.fail("XX000", fmt.Sprintf("Couldn't find portal '%s'.", m.Name))
		}
		stmt, formats = p.st.stmt, p.formats
	} else {
		st := s.statements[m.Name]
		if st == nil {
			return s.fail("XX000", fmt.Sprintf("Couldn't find statement '%s'.", m.Name))
		}
		stmt = st.stmt
		s.send(&pgproto3.ParameterDescription{ParameterOIDs: stmt.Params()})
	}
	if columns := stmt.Columns(); columns != nil {
		s.send(rowDescription(columns, formats, -1))
	} else {
		s.send(&pgproto3.NoData{})
	}
	return true
}

// execute answers an Execute message.
func (s *session) execute(m *pgproto3.Execute) bool {
	p := s.portals[m.Portal]
	if p == nil {
		return s.fail("XX000", fmt.Sprintf("Couldn't find portal '%s'.", m.Portal))
	}
	if p.done {
		return s.fail("XX000", "Can't execute portal in state Done")
	}
	st := &Statement{}
	if !p.started {
		p.started = true
		st = s.begin(p.st.sql, p)
		result, bad := s.perform(p.st.stmt, p.args, st)
		if result == nil {
			p.done = true
			if bad == nil {
				return false
			}
			if bad.Code == alreadyAnswered {
				s.skipping = true
				return true
			}
			return s.fail(bad.Code, bad.Message)
		}
		p.result = result
	} else {
		st.Extended, st.SQL, st.Prepared = true, p.st.sql, p.st.name
		st.User, st.Conn, st.Node = s.user, s.c.id, s.c.node.name
	}
	if p.st.stmt.Kind() == engine.Empty {
		p.done = true
		s.send(&pgproto3.EmptyQueryResponse{})
		return true
	}
	from, to := p.sent, len(p.result.Rows)
	if m.MaxRows > 0 && int(m.MaxRows) < to-from {
		to = from + int(m.MaxRows)
	}
	if !s.rows(st, p.result, p.formats, from, to) {
		return false
	}
	if s.skipping {
		return true
	}
	p.sent = to
	if to < len(p.result.Rows) {
		s.send(&pgproto3.PortalSuspended{})
		return true
	}
	p.done = true
	tag := p.result.Tag
	if text, counted := p.st.stmt.Tag(); counted && from > 0 {
		tag = fmt.Sprintf("%s %d", text, to-from) // of a portal that was suspended the last part counts
	}
	s.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
	return s.atReady(st)
}

// close answers a Close message: what isn't there counts as closed.
func (s *session) close(m *pgproto3.Close) bool {
	if m.ObjectType == 'P' {
		s.closePortal(m.Name)
	} else {
		s.drop(m.Name)
	}
	s.send(&pgproto3.CloseComplete{})
	return true
}
