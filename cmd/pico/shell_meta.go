package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/picodata/go-picodata"
)

// shellHelp is what \? shows, and the command's help.
const shellHelp = `  \d               tables
  \d TABLE         its columns, key, distribution and indexes
  \di [TABLE]      indexes
  \route           say after each statement where it ran, and why; again: no longer
  \route STATEMENT where it would go, without running it
  \timing          say how long each statement took; again: no longer
  \format FORMAT   table, csv or json
  \topology        the instances as the driver sees them
  \i FILE          run the statements of a file
  \?               this list
  \q               end
`

// meta does a backslash command. It is true for \q.
func (s *shell) meta(ctx context.Context, line string) (quit bool) {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	var err error
	switch name {
	case `\q`:
		return true
	case `\?`, `\h`:
		_, err = io.WriteString(s.out, shellHelp)
	case `\timing`:
		s.timing = !s.timing
		fmt.Fprintln(s.diag, "timing is", onOff(s.timing))
	case `\route`:
		if rest == "" {
			s.route = !s.route
			fmt.Fprintln(s.diag, "route is", onOff(s.route))
			break
		}
		if err = parses(ctx, s.c, rest, nil); err == nil {
			var plan picodata.Plan
			if plan, err = s.c.Explain(ctx, rest); err == nil {
				err = showPlan(s.out, plan, false)
			}
		}
	case `\format`:
		if _, known := formats[rest]; !known {
			err = fmt.Errorf("%q: want table, csv or json", rest)
			break
		}
		s.format = rest
	case `\d`:
		if rest == "" {
			err = s.tables(ctx)
		} else {
			err = s.describe(ctx, rest)
		}
	case `\di`:
		err = s.indexes(ctx, rest)
	case `\topology`:
		err = showPicture(s.out, look(ctx, s.c, lookWait), false)
	case `\i`:
		var f *os.File
		if f, err = os.Open(rest); err == nil {
			s.read(ctx, f)
			err = f.Close()
		}
	default:
		err = fmt.Errorf("%s: no such command; \\? lists them", name)
	}
	if err != nil {
		s.complain(err)
	}
	return false
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// tableInfo is a row of _pico_table, read.
type tableInfo struct {
	id           int64
	name, engine string
	distribution string // in words
	tier         string // of a sharded table
	columns      []columnInfo
}

type columnInfo struct {
	Name     string `json:"name"`
	Type     string `json:"field_type"`
	Nullable bool   `json:"is_nullable"`
}

// readTables reads the tables of users, or those with a name. bucket_id is the server's own column.
func readTables(ctx context.Context, c *client, name string) ([]tableInfo, error) {
	rows, err := c.db.QueryContext(ctx, "SELECT id, name, engine, distribution, format FROM _pico_table")
	if err != nil {
		return nil, err
	}
	var list []tableInfo
	for rows.Next() {
		var (
			t                    tableInfo
			distribution, format []byte
		)
		if err := rows.Scan(&t.id, &t.name, &t.engine, &distribution, &format); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if name == "" && strings.HasPrefix(t.name, "_pico_") || name != "" && t.name != name {
			continue
		}
		t.distribution, t.tier = distributionWords(distribution)
		if err := json.Unmarshal(format, &t.columns); err != nil {
			return nil, errors.Join(fmt.Errorf("the columns of %s: %w", t.name, err), rows.Close())
		}
		t.columns = slices.DeleteFunc(t.columns, func(c columnInfo) bool { return c.Name == "bucket_id" })
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b tableInfo) int { return strings.Compare(a.name, b.name) })
	return list, errors.Join(rows.Err(), rows.Close())
}

// globalTable is the distribution of a global table in words.
const globalTable = "global"

// distributionWords says {"ShardedImplicitly": [["id"], "murmur3", "default"]} as people do, and names the tier.
func distributionWords(raw []byte) (words, tier string) {
	var d map[string]json.RawMessage
	if json.Unmarshal(raw, &d) != nil {
		return string(raw), ""
	}
	var parts []json.RawMessage
	var key []string
	switch {
	case d["Global"] != nil:
		return globalTable, ""
	case d["ShardedImplicitly"] != nil && json.Unmarshal(d["ShardedImplicitly"], &parts) == nil && len(parts) == 3 &&
		json.Unmarshal(parts[0], &key) == nil && json.Unmarshal(parts[2], &tier) == nil:
		return fmt.Sprintf("by (%s) in tier %s", strings.Join(key, ", "), tier), tier
	}
	return string(raw), ""
}

// print draws a small table of texts.
func (s *shell) print(columns []string, rows [][]any) error {
	return formats[s.format](s.out, columns, func(each func([]any) error) error {
		for _, r := range rows {
			if err := each(r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *shell) tables(ctx context.Context) error {
	list, err := readTables(ctx, s.c, "")
	if err != nil {
		return err
	}
	var rows [][]any
	for _, t := range list {
		rows = append(rows, []any{t.name, t.distribution, t.engine, int64(len(t.columns))})
	}
	return s.print([]string{"table", "distribution", "engine", "columns"}, rows)
}

func (s *shell) describe(ctx context.Context, name string) error {
	name = unquoted(name)
	list, err := readTables(ctx, s.c, name)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no table %s, or the user may not read it; \\d lists the tables", name)
	}
	t := &list[0]
	fmt.Fprintf(s.diag, "Table %s, distributed %s, engine %s\n", t.name, t.distribution, t.engine)
	indexes, err := readIndexes(ctx, s.c, t.id)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, c := range t.columns {
		null, key := "not null", ""
		if c.Nullable {
			null = ""
		}
		for _, in := range indexes {
			if at := slices.Index(in.columns, c.Name); in.id == 0 && at >= 0 {
				key = fmt.Sprintf("primary key %d", at+1)
			}
		}
		rows = append(rows, []any{c.Name, sqlType(c.Type), null, key})
	}
	if err := s.print([]string{"column", "type", "null", "key"}, rows); err != nil {
		return err
	}
	for _, in := range indexes {
		if in.id > 0 {
			fmt.Fprintf(s.diag, "Index %s\n", in.words())
		}
	}
	return nil
}

// sqlType is a storage type by its name in SQL.
func sqlType(stored string) string {
	if name, ok := map[string]string{"string": "TEXT", "boolean": "BOOL"}[stored]; ok {
		return name
	}
	return strings.ToUpper(stored)
}

// indexInfo is a row of _pico_index, read.
type indexInfo struct {
	table, id int64
	name      string
	kind      string
	unique    bool
	columns   []string
}

func (in *indexInfo) words() string {
	unique := ""
	if in.unique {
		unique = "unique "
	}
	return fmt.Sprintf("%s: %s%s (%s)", in.name, unique, in.kind, strings.Join(in.columns, ", "))
}

// readIndexes reads the indexes of a table, or of all.
func readIndexes(ctx context.Context, c *client, table int64) ([]indexInfo, error) {
	rows, err := c.db.QueryContext(ctx, "SELECT table_id, id, name, type, opts, parts FROM _pico_index")
	if err != nil {
		return nil, err
	}
	var list []indexInfo
	for rows.Next() {
		var (
			in          indexInfo
			opts, parts []byte
		)
		if err := rows.Scan(&in.table, &in.id, &in.name, &in.kind, &opts, &parts); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if table != 0 && in.table != table {
			continue
		}
		var options []map[string]any
		_ = json.Unmarshal(opts, &options) // options in a form of a later version aren't shown
		for _, o := range options {
			if u, ok := o["unique"].(bool); ok {
				in.unique = u
			}
		}
		var columns [][]any
		_ = json.Unmarshal(parts, &columns)
		for _, c := range columns {
			if len(c) > 0 {
				in.columns = append(in.columns, fmt.Sprint(c[0]))
			}
		}
		if len(in.columns) == 1 && in.columns[0] == "bucket_id" {
			continue // the server's own
		}
		list = append(list, in)
	}
	slices.SortFunc(list, func(a, b indexInfo) int { return strings.Compare(a.name, b.name) })
	return list, errors.Join(rows.Err(), rows.Close())
}

func (s *shell) indexes(ctx context.Context, name string) error {
	tables, err := readTables(ctx, s.c, unquoted(name))
	if err != nil {
		return err
	}
	if len(tables) == 0 && name != "" {
		return fmt.Errorf("there is no table %s, or the user may not read it; \\d lists the tables", name)
	}
	list, err := readIndexes(ctx, s.c, 0)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, t := range tables {
		for _, in := range list {
			if in.table == t.id {
				rows = append(rows, []any{t.name, in.name, in.kind, in.unique, strings.Join(in.columns, ", ")})
			}
		}
	}
	return s.print([]string{"table", "index", "kind", "unique", "columns"}, rows)
}

// unquoted is a name as the server keeps it: folded to lower case unless it is quoted.
func unquoted(name string) string {
	if inner, ok := strings.CutPrefix(name, `"`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
	}
	return strings.ToLower(name)
}
