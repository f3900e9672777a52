package engine

import (
	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// Prepare reads, checks and types a statement. oids are the client's parameter types (0 = infer).
func (e *Engine) Prepare(s Session, sql string, oids []uint32) (*Stmt, *Error) {
	for _, oid := range oids {
		if err := checkParamOID(oid, s.Version); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, broken(errClosed)
	}
	node, bad := grammar.Parse(grammar.Version{Major: s.Version.Major, Minor: s.Version.Minor}, sql)
	if bad != nil {
		return nil, bare("%s", bad.Message)
	}
	if bad := grammar.Check(node); bad != nil {
		return nil, bare("%s", bad.Message)
	}
	a := newAnalyzer(e.cat, s, sql, oids)
	st := &Stmt{eng: e, sess: s, sql: sql, an: a}
	if err := st.build(node); err != nil {
		return nil, err
	}
	a.cast = onlyCast(node)
	st.finish(node, oids)
	return st, nil
}

// build analyses a statement by its kind.
func (s *Stmt) build(node grammar.Statement) *Error {
	switch n := node.(type) {
	case *grammar.Empty:
		s.kind = Empty
	case *grammar.Tx:
		s.kind = NoOp
		s.tag = map[grammar.TxKind]string{grammar.TxBegin: "BEGIN", grammar.TxCommit: "COMMIT", grammar.TxRollback: "ROLLBACK", grammar.TxEnd: "COMMIT"}[n.Kind]
	case *grammar.Set:
		s.kind, s.tag = NoOp, "SET"
	case *grammar.CreateSchema:
		s.kind, s.tag = NoOp, "CREATE SCHEMA"
	case *grammar.DropSchema:
		s.kind, s.tag = NoOp, "DROP SCHEMA"
	case *grammar.CreatePartition:
		s.kind, s.tag = NoOp, "CREATE TABLE"
	case *grammar.Deallocate:
		s.kind, s.tag, s.name = Deallocate, "DEALLOCATE", n.Name.Name
		if n.All {
			s.tag = "DEALLOCATE ALL"
		}
	case *grammar.Select:
		return s.buildSelect(n)
	case *grammar.Insert:
		return s.buildInsert(n)
	case *grammar.Update:
		return s.buildUpdate(n)
	case *grammar.Delete:
		return s.buildDelete(n)
	case *grammar.Explain:
		return s.buildExplain(n)
	case *grammar.Block:
		return s.buildBlock(n)
	case *grammar.Call:
		return s.buildCall(n)
	default:
		return s.buildSchema(node)
	}
	return nil
}

// finish settles parameters and what follows from the tables.
func (s *Stmt) finish(node grammar.Statement, oids []uint32) {
	used := map[int]bool{}
	top := 0
	if _, ok := node.(*grammar.CreateProc); !ok { // those in a body are the procedure's own
		for _, p := range grammar.Params(node) {
			used[p.Index] = true
			top = max(top, p.Index)
		}
	}
	s.params = make([]uint32, top)
	for i := range s.params {
		p := s.an.param(i + 1)
		switch {
		case i < len(oids) && oids[i] != 0 && oids[i] != OIDUnknown:
			s.params[i] = oids[i]
		case !used[i+1]:
			s.params[i] = OIDJSON // what the server says of a number that the text leaves out
		case p.known:
			s.params[i] = p.typ.oid()
		default:
			s.params[i] = OIDText
		}
	}
	if s.tables == nil {
		s.tables = s.an.tables
	}
	for _, t := range s.tables {
		if !t.global {
			s.tier = t.tier
		}
		s.unlogged = s.unlogged || t.unlogged
	}
}

// oneTier refuses tables of different tiers in one query.
func (a *analyzer) oneTier() *Error {
	tier := ""
	for _, t := range a.tables {
		if t.global {
			continue
		}
		if tier != "" && tier != t.tier {
			return refuse("invalid query: Query cannot use tables from different tiers")
		}
		tier = t.tier
	}
	return nil
}

// describe sets the result's columns.
func (s *Stmt) describe(cols []sourceColumn) {
	s.columns = make([]Column, len(cols))
	s.types = make([]sqlType, len(cols))
	for i, c := range cols {
		s.columns[i] = Column{Name: c.name, OID: c.typ.oid()}
		s.types[i] = c.typ
	}
}
