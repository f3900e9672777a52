package engine

import (
	"fmt"
	"strings"
)

// catchUp applies what a lagging copy has missed.
func (s *store) catchUp(c *dataCopy) error {
	for _, op := range c.queue {
		if s.phys[op.table.id] == nil {
			continue
		}
		if err := s.apply(c, op); err != nil {
			return err
		}
	}
	c.queue = nil
	return nil
}

// resync makes a copy equal to another, unlogged tables excepted.
func (s *store) resync(to, from *dataCopy, tables []*table) error {
	to.queue = nil
	for _, t := range tables {
		if t.global || t.unlogged || !s.phys[t.id][from.n] && !s.phys[t.id][to.n] {
			continue
		}
		src, err := s.ensure(t, from)
		if err != nil {
			return err
		}
		dst, err := s.ensure(t, to)
		if err != nil {
			return err
		}
		if err := s.db.exec("DELETE FROM " + dst); err != nil {
			return err
		}
		if err := s.db.exec("INSERT INTO " + dst + " SELECT * FROM " + src); err != nil {
			return fmt.Errorf("engine: copy table %s to %s: %w", t.name, to.instance, err)
		}
	}
	return nil
}

// remove drops a copy's tables.
func (s *store) remove(replicaset, instance string) error {
	kept := s.copies[replicaset][:0]
	var err error
	for _, c := range s.copies[replicaset] {
		if c.instance != instance {
			kept = append(kept, c)
			continue
		}
		s.db.forget()
		for id, copies := range s.phys {
			if copies[c.n] {
				delete(copies, c.n)
				s.epoch++
				if e := s.db.ddl("DROP TABLE %s", physName(id, c.n)); e != nil {
					err = e
				}
			}
		}
	}
	s.copies[replicaset] = kept
	return err
}

// move takes the rows of buckets from one replicaset's copies to another's.
func (s *store) move(tables []*table, tier string, first, last uint64, from, to string) error {
	src, dst := s.copies[from], s.copies[to]
	if len(src) == 0 || len(dst) == 0 {
		return fmt.Errorf("engine: move buckets %d-%d from %s to %s: no copy there", first, last, from, to)
	}
	for _, t := range tables {
		if t.global || t.tier != tier {
			continue
		}
		b := t.bucketColumn()
		if b < 0 {
			continue
		}
		cols := make([]string, t.slots)
		for i := range cols {
			cols[i] = fmt.Sprintf("c%d", i)
		}
		where := fmt.Sprintf(" WHERE c%d BETWEEN ? AND ?", t.columns[b].slot)
		leader := s.fullest(t, src)
		name, err := s.ensure(t, leader)
		if err != nil {
			return err
		}
		bounds := []cell{int64(first), int64(last)}
		rows, _, err := s.db.query("SELECT "+strings.Join(cols, ", ")+" FROM "+name+where, bounds, 2)
		if err != nil {
			return err
		}
		for _, row := range rows {
			for _, c := range dst {
				if err := s.apply(c, rowOp{table: t, row: row}); err != nil {
					return err
				}
			}
		}
		for _, c := range src {
			name, err := s.ensure(t, c)
			if err != nil {
				return err
			}
			if err := s.db.exec("DELETE FROM "+name+where, bounds...); err != nil {
				return err
			}
		}
	}
	return nil
}

// fullest picks the copy that lags least: a leader has no queue.
func (s *store) fullest(t *table, copies []*dataCopy) *dataCopy {
	best := copies[0]
	for _, c := range copies {
		if !c.lag && (best.lag || !s.phys[t.id][best.n] && s.phys[t.id][c.n]) {
			best = c
		}
	}
	return best
}
