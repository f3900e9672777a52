package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// dumper is one pico dump.
type dumper struct {
	csvFormat
	t        *tool
	table    string
	file     string // "-" = standard output
	columns  []string
	noHeader bool
	page     int

	out, diag io.Writer
}

// newDump is pico dump.
func (t *tool) newDump() *cobra.Command {
	var g target
	d := &dumper{t: t}
	cmd := &cobra.Command{
		Use:   "dump [DSN] TABLE [FILE.csv|-]",
		Short: "Write a table as a CSV file, as pico load reads it",
		Long: `Write a table as a CSV file that pico load reads with the same flags: to a file, or to standard
output. The first line names the columns.

A sharded table is read bucket by bucket, each from the leader that owns it, a global one by its
key, and both in pages, so that the tool needs the same memory for any number of rows and no limit
of the server is in the way. Rows come sorted by bucket and key: two dumps of equal tables are equal.

A dump is no snapshot: what is written meanwhile is in it or not. A row that stays as it is is in
it once.

A text that reads as --null stands in quotes, NULL doesn't, so that pico load can tell them apart.
The user must be able to read _pico_table and _pico_index.

A file is written whole or not at all. Exit codes: 0 all rows are out; 1 the dump failed before
the first row; 2 wrong usage; 4 it broke off, rows are missing.`,
		Example: `  pico dump 'picodata://app@node-a,node-b/' cities cities.csv
  pico dump cities | gzip >cities.csv.gz
  pico dump --columns id,name --delimiter '\t' --null NULL cities cities.tsv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, args, err := t.choose(&g, args)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				args = append(args, "-")
			}
			if len(args) != 2 {
				return &usageError{errors.New("want a table, and a file or nothing for standard output")}
			}
			d.table, d.file = unquoted(args[0]), args[1]
			d.out, d.diag = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if err := d.validate(); err != nil {
				return &usageError{err}
			}
			return t.reach(cmd.Context(), cfg, g.wait, func(start context.Context, c *client) error {
				s, err := d.begin(start, c)
				if err != nil {
					return err
				}
				return d.run(cmd.Context(), s)
			})
		},
	}
	g.flags(cmd, 10*time.Second, "how long to wait for the cluster at the start")
	f := cmd.Flags()
	f.StringSliceVar(&d.columns, "columns", nil, "the columns, in this order; the default is all of the table's")
	f.BoolVar(&d.noHeader, "no-header", false, "no first line that names the columns")
	d.flags(cmd)
	f.IntVar(&d.page, "page", 1000, "about how many rows a statement reads")
	return cmd
}

func (d *dumper) validate() error {
	if err := d.check(); err != nil {
		return err
	}
	switch {
	case strings.ContainsAny(d.null, d.delimiter+"\"\r\n"):
		return fmt.Errorf("--null %q: want a text without delimiter, quote and line break", d.null)
	case d.page < 1:
		return fmt.Errorf("--page %d: want 1 or more", d.page)
	}
	return nil
}

// begin learns what the table is.
func (d *dumper) begin(ctx context.Context, c *client) (*scan, error) {
	list, err := readTables(ctx, c, d.table)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no table %s, or the user may not read it", d.table)
	}
	t := &list[0]
	indexes, err := readIndexes(ctx, c, t.id)
	if err != nil {
		return nil, err
	}
	if len(d.columns) == 0 {
		for _, column := range t.columns {
			d.columns = append(d.columns, column.Name)
		}
	}
	for _, name := range d.columns {
		if !slices.ContainsFunc(t.columns, func(c columnInfo) bool { return c.Name == name }) {
			return nil, fmt.Errorf("table %s has no column %s", d.table, name)
		}
	}
	return newScan(c, t, indexes, d.columns, d.page)
}

// run writes the table.
func (d *dumper) run(ctx context.Context, s *scan) (err error) {
	to, finish, err := d.create()
	if err != nil {
		return err
	}
	w := newCSVWriter(to, d.comma)
	if !d.noHeader {
		err = w.write(d.columns, nil)
	}
	began := time.Now()
	show, stop := progressLine(d.t, d.diag, func(s *scan, width int) string { return dumpBar(s, time.Since(began), width) })
	values, quoted := make([]string, len(d.columns)), make([]bool, len(d.columns))
	if err == nil {
		err = s.run(ctx, func(row []any) error {
			for i, v := range row {
				if values[i], quoted[i] = d.null, false; v != nil {
					values[i] = cellText(v)
					quoted[i] = values[i] == d.null
				}
			}
			show(s)
			return w.write(values, quoted)
		})
	}
	stop()
	err = finish(errors.Join(err, w.flush()))
	if err != nil && s.rows == 0 {
		return err
	}
	fmt.Fprintf(d.diag, "%s: %s in %s\n", d.table, plural(int(s.rows), "row", "rows"), time.Since(began).Round(time.Millisecond))
	if err != nil {
		showError(d.diag, "pico dump", fmt.Errorf("the dump broke off: %w", err), nil)
		return verdict(exitFaults)
	}
	return nil
}

// create opens what is written to. finish is told how it went: a file is then there whole, or isn't.
func (d *dumper) create() (w io.Writer, finish func(error) error, err error) {
	if d.file == "-" {
		return d.out, func(err error) error { return err }, nil
	}
	return wholeFile(d.file)
}

// dumpBar is a line of progress: of the buckets, and the rows and their rate beside it.
func dumpBar(s *scan, elapsed time.Duration, width int) string {
	figures := withRate(s.rows, "rows", elapsed)
	if s.buckets == 0 {
		return figures
	}
	return barTemplate.New(int(s.buckets)).SetWidth(width).SetCurrent(int64(s.bucket-1)).Set("figures", figures).String()
}
