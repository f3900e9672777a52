package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// dataCopy is an instance's copy of its replicaset's rows. Copy 0 holds the global tables, once for the whole cluster.
type dataCopy struct {
	n                    int
	replicaset, instance string
	lag, cut             bool
	stopped              bool // cut for good
	queue                []rowOp
}

// rowOp is a replicated change of one row; row is by slot.
type rowOp struct {
	table *table
	del   bool
	row   []cell
}

// store holds the rows: one SQLite table for each table and copy.
type store struct {
	db     *db
	copies map[string][]*dataCopy // by replicaset
	global *dataCopy
	next   int
	// physical tables that exist, by table id and copy number
	phys map[uint64]map[int]bool
	// epoch grows whenever a physical table is made or dropped.
	epoch uint64
	texts map[*table]*tableTexts
	// made are the physical tables, table id and copy number, that the running change has made.
	made [][2]uint64
	// spoilt are the tables, by id, that hold a row which can't be read.
	spoilt map[uint64]bool
	// latest is each table as of its last DDL: rows of older versions fit its copies too.
	latest map[uint64]*table
}

// tableTexts are parts of SQL texts that every row written needs.
type tableTexts struct {
	slots string // c0, c1, …
	marks string // ?, ?, …
	pk    string // c0 = ? AND …
	pkAt  []int  // slots
}

// maxTableTexts bounds the texts kept; DDL leaves old tables behind.
const maxTableTexts = 1024

func (s *store) text(t *table) *tableTexts {
	if x := s.texts[t]; x != nil {
		return x
	}
	x := &tableTexts{}
	cols, marks, conds := make([]string, t.slots), make([]string, t.slots), make([]string, len(t.pk))
	for i := range cols {
		cols[i], marks[i] = fmt.Sprintf("c%d", i), "?"
	}
	for i, p := range t.pk {
		slot := t.columns[p].slot
		x.pkAt = append(x.pkAt, slot)
		conds[i] = fmt.Sprintf("c%d = ?", slot)
	}
	x.slots, x.marks, x.pk = strings.Join(cols, ", "), strings.Join(marks, ", "), strings.Join(conds, " AND ")
	if len(s.texts) >= maxTableTexts {
		clear(s.texts)
	}
	s.texts[t] = x
	return x
}

func newStore(d *db) *store {
	return &store{db: d, copies: map[string][]*dataCopy{}, global: &dataCopy{}, next: 1, phys: map[uint64]map[int]bool{}, texts: map[*table]*tableTexts{}, latest: map[uint64]*table{}, spoilt: map[uint64]bool{}}
}

func (s *store) find(replicaset, instance string) *dataCopy {
	for _, c := range s.copies[replicaset] {
		if c.instance == instance {
			return c
		}
	}
	return nil
}

// at finds a copy, making an empty one for an instance that nobody announced.
func (s *store) at(c Copy) *dataCopy {
	if d := s.find(c.Replicaset, c.Instance); d != nil {
		return d
	}
	return s.add(c.Replicaset, c.Instance)
}

func (s *store) add(replicaset, instance string) *dataCopy {
	d := &dataCopy{n: s.next, replicaset: replicaset, instance: instance}
	s.next++
	s.copies[replicaset] = append(s.copies[replicaset], d)
	return d
}

func physName(id uint64, n int) string {
	return "d" + strconv.FormatUint(id, 10) + "_" + strconv.Itoa(n)
}

// collation is what a column needs for its values to compare as the server compares them.
func (t sqlType) collation() string {
	if t.array {
		return ""
	}
	switch t.base {
	case tNumeric:
		return " COLLATE dec"
	case tDatetime:
		return " COLLATE dt"
	}
	return ""
}

// ensure gives the SQLite table of a table's copy, making it at first use.
func (s *store) ensure(t *table, c *dataCopy) (string, error) {
	name := physName(t.id, c.n)
	if s.phys[t.id][c.n] {
		return name, nil
	}
	if newer := s.latest[t.id]; newer != nil {
		t = newer
	}
	cols := make([]string, t.slots)
	for i := range cols {
		cols[i] = fmt.Sprintf("c%d BLOB", i)
	}
	for _, col := range t.columns {
		cols[col.slot] += col.typ.collation()
	}
	if err := s.db.ddl("CREATE TABLE %s (%s, PRIMARY KEY (%s)) WITHOUT ROWID", name, strings.Join(cols, ", "), strings.Join(t.pkSlots(), ", ")); err != nil {
		return "", fmt.Errorf("engine: make the copy of table %s at %s: %w", t.name, c.instance, err)
	}
	if s.phys[t.id] == nil {
		s.phys[t.id] = map[int]bool{}
	}
	s.phys[t.id][c.n] = true
	s.made = append(s.made, [2]uint64{t.id, uint64(c.n)})
	s.epoch++
	for _, ix := range t.indexes {
		if err := s.index(t, ix, c.n); err != nil {
			return "", err
		}
	}
	return name, nil
}

// unmake forgets the physical tables that a change made which was undone.
func (s *store) unmake() {
	for _, k := range s.made {
		delete(s.phys[k[0]], int(k[1]))
	}
	s.made = nil
	s.epoch++
	s.db.forget()
}

func (t *table) pkSlots() []string {
	out := make([]string, len(t.pk))
	for i, p := range t.pk {
		out[i] = fmt.Sprintf("c%d", t.columns[p].slot)
	}
	return out
}

func (s *store) index(t *table, ix index, n int) error {
	var cols []string
	for _, name := range ix.columns {
		if i, ok := t.column(name); ok {
			cols = append(cols, fmt.Sprintf("c%d", t.columns[i].slot))
		}
	}
	return s.db.ddl("CREATE INDEX IF NOT EXISTS i%d_%d_%d ON %s (%s)", t.id, ix.id, n, physName(t.id, n), strings.Join(cols, ", "))
}

// eachPhys runs f for every copy of a table that exists.
func (s *store) eachPhys(id uint64, f func(n int) error) error {
	for n := range s.phys[id] {
		if err := f(n); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) createIndex(t *table, ix index) error {
	return s.eachPhys(t.id, func(n int) error { return s.index(t, ix, n) })
}

func (s *store) dropIndex(t *table, ix index) error {
	return s.eachPhys(t.id, func(n int) error { return s.db.ddl("DROP INDEX IF EXISTS i%d_%d_%d", t.id, ix.id, n) })
}

func (s *store) addColumn(t *table, col column) error {
	return s.eachPhys(t.id, func(n int) error {
		return s.db.ddl("ALTER TABLE %s ADD COLUMN c%d BLOB%s", physName(t.id, n), col.slot, col.typ.collation())
	})
}

// anyRows tells whether some copy of a table has rows.
func (s *store) anyRows(t *table) (found bool, err error) {
	err = s.eachPhys(t.id, func(n int) error {
		rows, _, err := s.db.query("SELECT 1 FROM "+physName(t.id, n)+" LIMIT 1", nil, 0)
		found = found || len(rows) > 0
		return err
	})
	return found, err
}

func (s *store) truncate(t *table) error {
	return s.eachPhys(t.id, func(n int) error { return s.db.exec("DELETE FROM " + physName(t.id, n)) })
}

// drop frees the copies of a table and forgets what waits for its replicas.
func (s *store) drop(t *table) error {
	s.db.forget()
	err := s.eachPhys(t.id, func(n int) error { return s.db.ddl("DROP TABLE %s", physName(t.id, n)) })
	delete(s.phys, t.id)
	delete(s.latest, t.id)
	delete(s.spoilt, t.id)
	s.epoch++
	for _, copies := range s.copies {
		for _, c := range copies {
			kept := c.queue[:0]
			for _, op := range c.queue {
				if op.table.id != t.id {
					kept = append(kept, op)
				}
			}
			c.queue = kept
		}
	}
	return err
}

// replicate hands a change of a leader's copy to the copies that follow it; a lagging one keeps it for later.
func (s *store) replicate(c *dataCopy, op rowOp) error {
	if c == s.global || op.table.unlogged || c.cut {
		return nil
	}
	for _, f := range s.copies[c.replicaset] {
		if f == c || f.cut {
			continue
		}
		if f.lag {
			f.queue = append(f.queue, op)
			continue
		}
		if err := s.apply(f, op); err != nil {
			return err
		}
	}
	return nil
}

// apply changes a row of one copy.
func (s *store) apply(c *dataCopy, op rowOp) error {
	name, err := s.ensure(op.table, c)
	if err != nil {
		return err
	}
	x := s.text(op.table)
	if op.del {
		args := make([]cell, len(x.pkAt))
		for i, slot := range x.pkAt {
			args[i] = op.row[slot]
		}
		return s.db.exec("DELETE FROM "+name+" WHERE "+x.pk, args...)
	}
	row := op.row
	for len(row) < op.table.slots {
		row = append(row, nil)
	}
	return s.db.exec("INSERT OR REPLACE INTO "+name+" ("+x.slots+") VALUES ("+x.marks+")", row...)
}

// conflict finds the row that stands in the way of a new one in the primary key or a unique index; old is by slot.
func (s *store) conflict(t *table, c *dataCopy, row []cell) (old []cell, indexName string, err error) {
	name, err := s.ensure(t, c)
	if err != nil {
		return nil, "", err
	}
	x := s.text(t)
	args := make([]cell, len(x.pkAt))
	for i, slot := range x.pkAt {
		args[i] = row[slot]
	}
	rows, _, err := s.db.query("SELECT "+x.slots+" FROM "+name+" WHERE "+x.pk, args, len(args))
	if err == nil && len(rows) > 0 {
		old = rows[0]
	}
	if err != nil || old != nil {
		return old, t.pkName(), err
	}
	for _, ix := range t.indexes {
		if !ix.unique {
			continue
		}
		var at []int
		null := false
		for _, n := range ix.columns {
			if i, ok := t.column(n); ok {
				at = append(at, i)
				null = null || row[t.columns[i].slot] == nil
			}
		}
		if null {
			continue // NULLs never collide
		}
		old, err = s.rowWhere(name, t, at, row)
		if err != nil || old != nil {
			return old, ix.name, err
		}
	}
	return nil, "", nil
}

func (s *store) rowWhere(name string, t *table, at []int, row []cell) ([]cell, error) {
	args := make([]cell, len(at))
	conds := make([]string, len(at))
	for i, p := range at {
		slot := t.columns[p].slot
		args[i], conds[i] = row[slot], fmt.Sprintf("c%d = ?", slot)
	}
	rows, _, err := s.db.query("SELECT "+s.text(t).slots+" FROM "+name+" WHERE "+strings.Join(conds, " AND ")+" LIMIT 1", args, len(args))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}
