package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// scan reads a whole table in pages.
type scan struct {
	c       *client
	table   string
	tier    string // "": a global table
	buckets uint64 // of the tier
	columns []string
	wanted  int   // so many of the columns are the caller's; those of the key that it didn't ask for follow
	key     []int // the primary key in columns
	paged   bool  // a page can go on behind a row
	page    int   // rows

	bucket uint64 // that is read next, counted from 1; the map's end + 1 at the end
	width  uint64 // so many buckets at once
	after  []any  // the key of the last row; nil: bucket is read from its beginning
	rows   int64  // read
}

// bucketColumn is the server's own column of a sharded table.
const bucketColumn = "bucket_id"

// maxWidth bounds the buckets of a page.
const maxWidth = 256

// pageable are the types whose text is the whole value, so that a page can begin behind a row: of a datetime the wire cuts the nanoseconds off,
// and doubles have values that don't compare.
var pageable = []string{"integer", "unsigned", "string", "boolean", "decimal", "uuid"}

func newScan(c *client, t *tableInfo, indexes []indexInfo, columns []string, page int) (*scan, error) {
	s := &scan{c: c, table: t.name, tier: t.tier, columns: slices.Clone(columns), wanted: len(columns), page: page, bucket: 1, width: 1}
	if t.distribution != globalTable {
		known := false
		if s.buckets, known = c.Buckets().Count(t.tier); !known {
			return nil, fmt.Errorf("table %s is distributed %s, and nobody has told how many buckets that tier has: servers do from 25.5.1 on", t.name, t.distribution)
		}
	}
	for _, in := range indexes {
		if in.id != 0 {
			continue
		}
		s.paged = true
		for _, name := range in.columns {
			if name == bucketColumn && s.tier != "" {
				continue // by which rows are sorted anyway
			}
			at := slices.Index(s.columns, name)
			if at < 0 {
				at = len(s.columns)
				s.columns = append(s.columns, name)
			}
			s.key = append(s.key, at)
			s.paged = s.paged && slices.ContainsFunc(t.columns, func(c columnInfo) bool { return c.Name == name && slices.Contains(pageable, c.Type) })
		}
	}
	return s, nil
}

// run calls each with all rows, by bucket and key.
func (s *scan) run(ctx context.Context, each func(row []any) error) error {
	ctx = picodata.WithLimits(ctx, picodata.Limits{VdbeOpcodeMax: options.NoLimit, MotionRowMax: options.NoLimit})
	for {
		group := s.group()
		if s.tier != "" && len(group) == 0 {
			return nil
		}
		next, before := s.bucket+uint64(len(group)), s.rows
		ended, err := s.read(ctx, group, each)
		n := int(s.rows - before)
		switch {
		case err != nil:
			return err
		case !ended:
			s.width = max(s.width/2, 1)
			continue
		case s.tier == "":
			return nil
		}
		s.bucket, s.after = next, nil
		if n < s.page/2 {
			s.width = min(s.width*2, maxWidth)
		} else if n > s.page {
			s.width = max(s.width/2, 1)
		}
	}
}

// group are the buckets of the next page: one replicaset's, as far as the map is known.
func (s *scan) group() (group []any) {
	m := s.c.Buckets()
	owner, _ := m.Lookup(s.tier, s.bucket)
	for b := s.bucket; b <= s.buckets && b < s.bucket+s.width; b++ {
		if o, _ := m.Lookup(s.tier, b); o != owner {
			break
		}
		group = append(group, int64(b))
	}
	return group
}

// read reads a page. ended: no row of the group is left. What broke off behind a row goes on there.
func (s *scan) read(ctx context.Context, group []any, each func(row []any) error) (ended bool, err error) {
	text, args := s.statement(group)
	if s.tier != "" {
		ctx = picodata.ToBucket(ctx, s.tier, s.bucket)
	}
	rows, err := s.c.db.QueryContext(ctx, text, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	own := 0 // columns before the table's
	if s.tier != "" {
		own = 1
	}
	values := make([]any, own+len(s.columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		if err := each(values[own : own+s.wanted]); err != nil {
			return false, err
		}
		n++
		s.rows++
	}
	goesOn := s.paged && n > 0
	if goesOn {
		s.reached(values, own)
	}
	if err := rows.Err(); err != nil && (!goesOn || ctx.Err() != nil) {
		return false, err
	} else if err != nil {
		return false, nil
	}
	return !s.paged || n < s.page, nil
}

// reached notes the last row that was written.
func (s *scan) reached(values []any, own int) {
	if own > 0 {
		if b, ok := values[0].(int64); ok {
			s.bucket = uint64(b)
		}
	}
	s.after = s.after[:0]
	for _, at := range s.key {
		v := values[own+at]
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		s.after = append(s.after, v)
	}
}

// statement is the text of the next page.
func (s *scan) statement(group []any) (text string, args []any) {
	var b strings.Builder
	names := make([]string, len(s.columns))
	for i, name := range s.columns {
		names[i] = pq.QuoteIdentifier(name)
	}
	order := make([]string, len(s.key))
	for i, at := range s.key {
		order[i] = names[at]
	}
	var conditions []string
	if s.tier != "" {
		names = append([]string{bucketColumn}, names...)
		order = append([]string{bucketColumn}, order...)
		list, buckets := picodata.In(1, group)
		conditions, args = append(conditions, bucketColumn+" IN "+list), buckets
	}
	if s.after != nil {
		conditions = append(conditions, s.behind(&args))
	}
	fmt.Fprintf(&b, "SELECT %s FROM %s", strings.Join(names, ", "), pq.QuoteIdentifier(s.table))
	if len(conditions) > 0 {
		b.WriteString(" WHERE " + strings.Join(conditions, " AND "))
	}
	if len(order) > 0 {
		b.WriteString(" ORDER BY " + strings.Join(order, ", "))
	}
	if s.paged {
		fmt.Fprintf(&b, " LIMIT %d", s.page)
	}
	return b.String(), args
}

// behind is the condition that a row comes after the last one: a later bucket, or a greater key.
func (s *scan) behind(args *[]any) string {
	place := func(v any) string {
		*args = append(*args, v)
		return fmt.Sprintf("$%d", len(*args))
	}
	var ways []string
	if s.tier != "" {
		ways = append(ways, bucketColumn+" > "+place(int64(s.bucket)))
	}
	equal := ""
	for i, at := range s.key {
		name := pq.QuoteIdentifier(s.columns[at])
		p := place(s.after[i])
		ways = append(ways, "("+equal+name+" > "+p+")")
		equal += name + " = " + p + " AND "
	}
	return "(" + strings.Join(ways, " OR ") + ")"
}
