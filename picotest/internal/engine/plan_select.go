package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// selectPlan runs a query.
type selectPlan struct{ q *query }

func (s *Stmt) buildSelect(n *grammar.Select) *Error {
	s.kind, s.tag, s.counted, s.options = DQL, "SELECT", true, n.Options
	q, err := s.an.query(n.Query, nil, nil)
	if err != nil {
		return err
	}
	if err := s.an.checkOptions(n.Options, true); err != nil {
		return err
	}
	if err := s.an.oneTier(); err != nil {
		return err
	}
	s.describe(q.columns)
	s.plan = &selectPlan{q}
	return nil
}

func (p *selectPlan) buckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error) {
	return s.queryBuckets(p.q, r, args)
}

func (p *selectPlan) run(s *Stmt, _ *runState, args []Value, v View) (*Result, *Error) {
	if err := s.mayRead(nil); err != nil {
		return nil, err
	}
	opts, err := s.resolveOptions(args)
	if err != nil {
		return nil, err
	}
	if err := s.visit(v, false); err != nil {
		return nil, err
	}
	rows, err := s.rows(s.eng.db.run, p.q.code, args, v, nil, &opts)
	if err != nil {
		return nil, err
	}
	if text := p.q.rejects(rows); text != "" {
		return nil, refuse("Query 2 from EXPLAIN (RAW): %s", text)
	}
	values, err := s.decode(rows)
	if err != nil {
		return nil, err
	}
	return &Result{Rows: values, Affected: int64(len(rows))}, s.visit(v, true)
}

// visit tells the cluster that the copies are about to be read, or have been; the lock is given back meanwhile.
func (s *Stmt) visit(v View, done bool) *Error {
	if v.Before == nil || s.tier == "" {
		return nil
	}
	for _, c := range v.Copies {
		if err := s.outside(v, c, done); err != nil {
			return err
		}
	}
	if done {
		return nil
	}
	s.eng.begin(v.Instance)
	return s.recheck(v)
}

// outside calls View.Before without the engine's lock.
func (s *Stmt) outside(v View, c Copy, done bool) *Error {
	if v.Before == nil {
		return nil
	}
	s.eng.mu.Unlock()
	defer s.eng.mu.Lock()
	return v.Before(c, done)
}

// cells turns arguments into what SQLite binds. They're of the parameters' types already.
func cells(args []Value) []cell {
	out := make([]cell, len(args))
	for i, a := range args {
		out[i] = toCell(a)
	}
	return out
}

// rows runs translated text. only, if set, replaces the view's copies for one of the markers.
func (s *Stmt) rows(r *runState, code string, args []Value, v View, only map[int][]Copy, opts *Options) ([][]cell, *Error) {
	if s.an.doomed != "" {
		return nil, s.storageError(s.an.doomed, v)
	}
	sql, err := s.expand(r, code, v, only)
	if err != nil {
		return nil, broken(err)
	}
	s.eng.db.fnErr = nil
	rows, steps, err := s.eng.db.query(sql, cells(args), len(args))
	if errors.Is(err, errUntranslatable) {
		return nil, broken(err)
	}
	if err != nil {
		if f := s.eng.db.fnErr; f != nil {
			return nil, s.storageError(f.Message, v)
		}
		return nil, s.storageError("Failed to execute SQL statement: "+err.Error(), v)
	}
	if opts != nil {
		if err := s.limits(r, code, args, v, opts, rows, steps); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// storageError words an error of a query's execution: bare where it ran, wrapped when it came from another instance.
func (s *Stmt) storageError(text string, v View) *Error {
	if text == textUnsigned {
		return bare("%s", text)
	}
	if (text == textMany || text == textRange) && s.tier != "" {
		return refuse("Query 2 from EXPLAIN (RAW): %s", text) // the subquery was the first
	}
	if s.tier != "" && !v.Local && len(v.Copies) > 0 {
		return remote(refuse("%s", text), firstReplicaset(v))
	}
	return locally(text, s.sess.Version)
}

// storageSteps is what the storage's virtual machine takes to open a table and SQLite's doesn't.
const storageSteps = 10

// limits holds a run against sql_vdbe_opcode_max and sql_motion_row_max; 0 is no limit.
func (s *Stmt) limits(r *runState, code string, args []Value, v View, o *Options, rows [][]cell, steps int) *Error {
	parts := max(1, len(v.Copies))
	for _, t := range s.an.refs {
		if !t.system {
			steps += storageSteps
			break
		}
	}
	if o.OpcodeMax > 0 && int64(steps/parts) > o.OpcodeMax {
		return s.storageError(fmt.Sprintf("Reached a limit on max executed vdbe opcodes. Limit: %d", o.OpcodeMax), v)
	}
	if o.MotionRowMax <= 0 || int64(len(rows)) <= o.MotionRowMax {
		return nil
	}
	text := func(n int64) string {
		return fmt.Sprintf("Exceeded maximum number of rows (%d) in virtual table: %d", o.MotionRowMax, n)
	}
	for _, c := range v.Copies {
		one := v
		one.Copies = []Copy{c}
		part, err := s.rows(r, code, args, one, nil, nil)
		if err == nil && int64(len(part)) > o.MotionRowMax {
			if one.Local || !s.sess.Version.AtLeast(26, 2) {
				return s.storageError("unexpected number of values: "+text(o.MotionRowMax+1), one)
			}
			return s.storageError(text(o.MotionRowMax+1), one)
		}
	}
	return locally(text(int64(len(rows))), s.sess.Version)
}

// expand puts the rows of the view's copies in the place of each marker.
func (s *Stmt) expand(r *runState, code string, v View, only map[int][]Copy) (string, error) {
	key := expansion{code: code, epoch: s.eng.store.epoch, sys: r.sys}
	if only != nil || len(s.eng.store.spoilt) > 0 || len(v.Copies) > len(key.copies) || s.readsSystem() {
		return s.expandText(r, code, v, only)
	}
	if copy(key.copies[:], v.Copies); s.expandedAs == key {
		return s.expanded, nil
	}
	text, err := s.expandText(r, code, v, only)
	if err == nil {
		key.epoch = s.eng.store.epoch // tables may have been made
		s.expandedAs, s.expanded = key, text
	}
	return text, err
}

// expansion tells apart what expand makes; the last one is kept.
type expansion struct {
	code   string
	epoch  uint64
	sys    *System // instances' uuids are part of the text
	copies [4]Copy
}

func (s *Stmt) readsSystem() bool {
	for _, t := range s.an.refs {
		if t.system {
			return true
		}
	}
	return false
}

func (s *Stmt) expandText(r *runState, code string, v View, only map[int][]Copy) (string, error) {
	var b strings.Builder
	for {
		at := strings.IndexByte(code, 0)
		if at < 0 {
			b.WriteString(code)
			return b.String(), nil
		}
		b.WriteString(code[:at])
		end := strings.IndexByte(code[at+1:], 0) + at + 1
		n, err := strconv.Atoi(code[at+1 : end])
		if err != nil {
			return "", fmt.Errorf("engine: broken marker in %q: %w", code, err)
		}
		copies := v.Copies
		if c, ok := only[n]; ok {
			copies = c
		}
		text, err := s.tableText(r, s.an.refs[n], copies)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		code = code[end+1:]
	}
}

// tableText is a subquery that yields a table's rows, its columns named after their slots.
func (s *Stmt) tableText(r *runState, t *table, copies []Copy) (string, error) {
	cols := make([]string, len(t.columns))
	for i, c := range t.columns {
		cols[i] = fmt.Sprintf("c%d", c.slot)
	}
	list := strings.Join(cols, ", ")
	switch {
	case t.system:
		name, err := s.eng.loadSystem(r, t, s.sess.Version)
		return "(SELECT " + list + " FROM " + name + ")", err
	case t.global:
		name, err := s.eng.store.ensure(t, s.eng.store.global)
		return "(SELECT " + list + " FROM " + name + s.eng.store.sound(t) + ")", err
	}
	var parts []string
	for _, c := range copies {
		name, err := s.eng.store.ensure(t, s.eng.store.at(c))
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("SELECT %s, %s AS %s FROM %s%s", list, quoteText(r.uuidOf(c.Instance)), quote(instanceColumn), name, s.eng.store.sound(t)))
	}
	if len(parts) == 0 {
		nulls := make([]string, len(t.columns))
		for i, c := range t.columns {
			nulls[i] = fmt.Sprintf("NULL AS c%d", c.slot)
		}
		parts = []string{fmt.Sprintf("SELECT %s, NULL AS %s WHERE 0", strings.Join(nulls, ", "), quote(instanceColumn))}
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ")", nil
}

// uuidOf gives an instance's uuid by its name.
func (r *runState) uuidOf(name string) string {
	uuid := ""
	for _, i := range r.sys.Instances {
		if i.Name == name {
			uuid = i.UUID
		}
	}
	return uuid
}

// loadSystem fills SQLite's picture of a system table, unless it already shows this state.
func (e *Engine) loadSystem(r *runState, t *table, v Version) (string, error) {
	name := "sys" + t.name
	want := loadedTable{sys: r.sys, version: e.cat.revision, build: v.Build}
	have, exists := e.loaded[t.name]
	if exists && have == want {
		return name, nil
	}
	def, _ := systemTable(t.name, Version{Major: 99})
	cols := make([]string, def.slots)
	for _, c := range def.columns {
		cols[c.slot] = fmt.Sprintf("c%d BLOB%s", c.slot, c.typ.collation())
	}
	if !exists {
		if err := e.db.ddl("CREATE TABLE %s (%s)", name, strings.Join(cols, ", ")); err != nil {
			return "", err
		}
	} else if err := e.db.exec("DELETE FROM " + name); err != nil {
		return "", err
	}
	for _, row := range e.cat.systemRows(t.name, r.sys, v) {
		marks := strings.Repeat(", ?", len(row))[2:]
		names := make([]string, len(row))
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i)
		}
		if err := e.db.exec("INSERT INTO "+name+" ("+strings.Join(names, ", ")+") VALUES ("+marks+")", row...); err != nil {
			return "", err
		}
	}
	e.loaded[t.name] = want
	return name, nil
}
