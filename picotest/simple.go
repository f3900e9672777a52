package picotest

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// query answers a Query message; false ends the connection.
func (s *session) query(sql string) bool {
	st := s.begin(sql, nil)
	stmt, bad := s.prepare(sql, nil)
	if bad == nil && s.statements[""] != nil {
		// The server runs it as an unnamed statement, which takes the place of one that was there.
		bad = s.keep(&statement{stmt: stmt, sql: sql})
	}
	if bad == nil {
		bad = countParameters(0, len(stmt.Params()), "")
	}
	if bad != nil {
		s.finish(st, nil, bad)
		s.error(bad.Code, bad.Message)
		s.ready()
		return true
	}
	st.Kind = kindName(stmt.Kind())
	result, end := s.perform(stmt, nil, st)
	if result == nil {
		if end == nil {
			return false
		}
		if end.Code != alreadyAnswered {
			s.error(end.Code, end.Message)
		}
		s.ready()
		return true
	}
	if stmt.Kind() == engine.Empty {
		s.send(&pgproto3.EmptyQueryResponse{})
		s.ready()
		return true
	}
	if columns := stmt.Columns(); columns != nil {
		s.send(rowDescription(columns, nil, 0))
	}
	if !s.rows(st, result, nil, 0, len(result.Rows)) {
		return false
	}
	s.send(&pgproto3.CommandComplete{CommandTag: []byte(result.Tag)})
	if !s.atReady(st) {
		return false
	}
	s.ready()
	return true
}

// rowDescription describes result columns. typmod is 0 in the simple protocol and -1 in the extended one.
func rowDescription(columns []engine.Column, formats []int16, typmod int32) *pgproto3.RowDescription {
	m := &pgproto3.RowDescription{Fields: make([]pgproto3.FieldDescription, len(columns))}
	for i, c := range columns {
		f := &m.Fields[i]
		f.Name, f.DataTypeOID, f.TypeModifier = []byte(c.Name), c.OID, typmod
		if formats != nil {
			f.Format = formats[i]
		}
	}
	return m
}

// rows sends result rows from..to; false ends the connection.
func (s *session) rows(st *Statement, r *engine.Result, formats []int16, from, to int) bool {
	h := &s.c.node.c.hooks
	watched := h.any(pointRow) || h.any(pointInside)
	values := make([][]byte, len(r.Columns))
	for i := from; i < to; i++ {
		if watched && !s.atRow(st, i, nil) {
			return false
		}
		for k, v := range r.Rows[i] {
			if v == nil {
				values[k] = nil
				continue
			}
			format := int16(0)
			if formats != nil {
				format = formats[k]
			}
			b, err := engine.Encode(v, r.Columns[k].OID, format)
			if err != nil {
				s.error("XX000", err.Error())
				s.skipping = st.Extended
				return true
			}
			if b == nil {
				b = []byte{}
			}
			values[k] = b
		}
		m := &pgproto3.DataRow{Values: values}
		if watched && h.any(pointInside) {
			frame, _ := m.Encode(nil)
			if !s.atRow(st, i, frame) {
				return false
			}
		}
		s.send(m)
	}
	if watched {
		return s.atRow(st, to, nil)
	}
	return true
}

// atRow lets happen what waits for row n: after n rows (frame is nil) or inside the message of the next.
func (s *session) atRow(st *Statement, n int, frame []byte) bool {
	kind := pointRow
	if frame != nil {
		kind = pointInside
	}
	h := &s.c.node.c.hooks
	if !h.any(kind) {
		return true
	}
	o := h.at(s, kind, n, st)
	if o.cut && frame != nil {
		s.c.out = append(s.c.out, frame[:len(frame)/2]...)
	}
	return s.obey(o, true)
}

// atReady lets happen what waits between CommandComplete and ReadyForQuery.
func (s *session) atReady(st *Statement) bool {
	h := &s.c.node.c.hooks
	if !h.any(pointReady) {
		return true
	}
	return s.obey(h.at(s, pointReady, 0, st), true)
}

// obey does what hooks decided; false ends the connection. With keep, what is queued is sent before a cut, else it is lost.
func (s *session) obey(o outcome, keep bool) bool {
	for _, m := range o.insert {
		s.c.out = m.encode(s.c.out)
	}
	switch {
	case o.blocked:
		return false
	case o.cut:
		if keep {
			s.c.flush()
		}
		s.c.out, s.c.due = nil, 0
		s.c.cut(o.how)
		if o.how == cutHang {
			select {
			case <-s.c.done:
			case <-s.c.in.over: // the client has had enough
			}
		}
		return false
	}
	return true
}
