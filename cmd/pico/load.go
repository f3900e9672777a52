package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
)

// loader is one pico load.
type loader struct {
	csvFormat
	t         *tool
	file      string // "-" = standard input
	table     string
	columns   []string
	noHeader  bool
	conflict  string
	maxErrors int
	rejects   string
	resume    string
	every     int

	in        io.Reader
	out, diag io.Writer
}

// conflicts are the words of --on-conflict.
var conflicts = map[string]picodata.Conflict{"fail": picodata.ConflictFail, "skip": picodata.ConflictSkip, "replace": picodata.ConflictReplace}

// newLoad is pico load.
func (t *tool) newLoad() *cobra.Command {
	var g target
	l := &loader{t: t}
	cmd := &cobra.Command{
		Use:   "load [DSN] FILE.csv|- TABLE",
		Short: "Load a CSV file into a table, each row straight to its owner",
		Long: `Load a CSV file into a table, each row straight to the leader that owns it, many to a statement.

The first line names the columns, unless --columns does. Values are handed over as text, which the
server reads as the column's type; one that is what --null says, and doesn't stand in quotes, is NULL.

Each statement is all or nothing, the load as a whole isn't: what was inserted before an error
stays. --rejects writes the rows that aren't in, or of which nobody knows, to a file of the same
form: load that one with --on-conflict skip to go on.

--resume keeps in a file how far the load is. Run again with it after a crash, it skips the rows
that are in for sure; of those behind them, at most --resume-every, some may be in: they are loaded
with --on-conflict skip, unless it says replace. A load that is whole removes the file.

Exit codes: 0 all rows are in; 1 the load failed before it began; 2 wrong usage; 4 rows are left.`,
		Example: `  pico load 'picodata://app@node-a,node-b/' cities.csv cities
  pico load --rejects left.csv cities.csv cities || pico load --on-conflict skip left.csv cities
  pico load --resume cities.state cities.csv cities
  zcat big.csv.gz | pico load --on-conflict replace - cities`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, args, err := t.choose(&g, args)
			if err != nil {
				return err
			}
			if len(args) != 2 {
				return &usageError{errors.New("want a file, or - for standard input, and a table")}
			}
			l.file, l.table = args[0], unquoted(args[1])
			l.in, l.out, l.diag = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			if err := l.validate(); err != nil {
				return &usageError{err}
			}
			return t.reach(cmd.Context(), cfg, g.wait, func(_ context.Context, c *client) error { return l.run(cmd.Context(), c) })
		},
	}
	g.flags(cmd, 10*time.Second, "how long to wait for the cluster at the start")
	f := cmd.Flags()
	f.StringSliceVar(&l.columns, "columns", nil, "the columns, in the order of the file; the first line is a row then only with --no-header")
	f.BoolVar(&l.noHeader, "no-header", false, "the first line is a row; needs --columns")
	l.flags(cmd)
	f.StringVar(&l.conflict, "on-conflict", "fail", "fail, skip or replace: what happens to a row whose key exists")
	f.IntVar(&l.maxErrors, "max-errors", 0, "go on until more than so many errors were met")
	f.StringVar(&l.rejects, "rejects", "", "write the rows that aren't in to that file")
	f.StringVar(&l.resume, "resume", "", "keep in that file how far the load is, and go on from there")
	f.IntVar(&l.every, "resume-every", 50_000, "with --resume, how many rows are loaded between two notes")
	complete(cmd, "on-conflict", "fail", "skip", "replace")
	return cmd
}

func (l *loader) validate() error {
	if err := l.check(); err != nil {
		return err
	}
	_, known := conflicts[l.conflict]
	switch {
	case !known:
		return fmt.Errorf("--on-conflict %q: want fail, skip or replace", l.conflict)
	case l.maxErrors < 0:
		return fmt.Errorf("--max-errors %d: want 0 or more", l.maxErrors)
	case l.every < 1:
		return fmt.Errorf("--resume-every %d: want 1 or more", l.every)
	case l.noHeader && len(l.columns) == 0:
		return errors.New("--no-header needs --columns")
	case l.rejects != "" && l.file == "-":
		return errors.New("--rejects reads the file a second time, which standard input can't be")
	}
	return nil
}

// open opens the file and reads its header. size is 0 where nobody knows it.
func (l *loader) open() (r *csvReader, header []string, size int64, shut func() error, err error) {
	from, shut := l.in, func() error { return nil }
	if l.file != "-" {
		f, err := os.Open(l.file)
		if err != nil {
			return nil, nil, 0, nil, err
		}
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		from, shut = f, f.Close
	}
	r = newCSVReader(from, l.comma)
	header = l.columns
	if !l.noHeader {
		first, _, err := r.read()
		if err != nil {
			return nil, nil, 0, nil, errors.Join(fmt.Errorf("the header of %s: %w", l.file, err), shut())
		}
		if len(header) == 0 {
			header = first
			header[0] = strings.TrimPrefix(header[0], "\ufeff")
		}
	}
	r.fields = len(header)
	return r, header, size, shut, nil
}

func (l *loader) run(ctx context.Context, c *client) error {
	state, err := l.resumed()
	if err != nil {
		return err
	}
	r, columns, size, shut, err := l.open()
	if err != nil {
		return err
	}
	before := state.Rows
	for range before { // which are in, or known not to be
		if _, _, err := r.read(); err != nil {
			return errors.Join(fmt.Errorf("%s has fewer rows than %s says were loaded: %w", l.file, l.resume, err), shut())
		}
	}
	began := time.Now()
	show, stop := progressLine(l.t, l.diag, func(p picodata.InsertProgress, width int) string { return loadBar(p, size, width) })
	res, err := l.segments(ctx, c, r, columns, &state, show)
	stop()
	err = errors.Join(err, shut())
	if res.Rows == before && err != nil {
		return err // it didn't begin
	}
	l.tell(&res, time.Since(began), err)
	left := res.Failed + res.Unknown + res.Unsent
	if l.rejects != "" && (left > 0 || err != nil) {
		n, rejectErr := l.reject(&res)
		if rejectErr != nil {
			return errors.Join(rejectErr, err)
		}
		fmt.Fprintf(l.diag, "%s in %s\n", plural(n, "row", "rows"), l.rejects)
	}
	if left > 0 || err != nil {
		return verdict(exitFaults)
	}
	return nil
}

// segments loads the rest of the file, with --resume a part after the other. The account is of all parts; its row numbers are the file's.
func (l *loader) segments(ctx context.Context, c *client, r *csvReader, columns []string, state *loadState, show func(picodata.InsertProgress)) (all picodata.InsertResult, err error) {
	all.Rows = state.Rows
	all.Failed, all.FailedRows = int64(len(state.Left)), state.Left
	conflict := conflicts[l.conflict]
	if state.again && conflict == picodata.ConflictFail {
		conflict = picodata.ConflictSkip
	}
	for ended := false; !ended; {
		var broken error // of the file
		taken := 0
		rows := func(yield func([]any) bool) {
			for l.resume == "" || taken < l.every {
				record, quoted, err := r.read()
				if err != nil {
					ended = true
					if !errors.Is(err, io.EOF) {
						broken = fmt.Errorf("%s: %w", l.file, err)
					}
					return
				}
				taken++
				row := make([]any, len(record))
				for i, v := range record {
					if quoted[i] || v != l.null {
						row[i] = v
					}
				}
				if !yield(row) {
					return
				}
			}
		}
		done := all
		res, err := picodata.Insert(ctx, c.db, l.table, columns, rows, picodata.OnConflict(conflict), picodata.MaxErrors(max(l.maxErrors-len(all.Errors), 0)),
			picodata.OnProgress(func(p picodata.InsertProgress) { p.Inserted += done.Inserted; show(p) }))
		join(&all, &res)
		if err = errors.Join(err, broken); err != nil || res.Unknown+res.Unsent > 0 {
			return all, err
		}
		if l.resume == "" {
			continue
		}
		conflict = conflicts[l.conflict]
		state.Rows, state.Left = all.Rows, all.FailedRows
		if err := state.note(l.resume); err != nil {
			return all, err
		}
	}
	if l.resume != "" && all.Failed == 0 {
		err = os.Remove(l.resume)
	}
	return all, err
}

// join adds the account of the next part.
func join(all, next *picodata.InsertResult) {
	beyond := func(list []int64) []int64 {
		moved := make([]int64, len(list))
		for i, n := range list {
			moved[i] = n + all.Rows
		}
		return moved
	}
	all.FailedRows = append(all.FailedRows, beyond(next.FailedRows)...)
	all.UnknownRows = append(all.UnknownRows, beyond(next.UnknownRows)...)
	all.UnsentRows = append(all.UnsentRows, beyond(next.UnsentRows)...)
	for _, e := range next.Errors {
		all.Errors = append(all.Errors, picodata.InsertRowsError{Rows: beyond(e.Rows), Err: e.Err})
	}
	all.Rows += next.Rows
	all.Inserted += next.Inserted
	all.Skipped += next.Skipped
	all.Failed += next.Failed
	all.Unknown += next.Unknown
	all.Unsent += next.Unsent
	all.Plain += next.Plain
	all.Statements += next.Statements
}

// loadBar is a line of progress: of the file's bytes, and the rows, their rate and their owners beside it.
func loadBar(p picodata.InsertProgress, size int64, width int) string {
	figures := withRate(p.Inserted, "rows", p.Elapsed)
	for _, owner := range slices.Sorted(maps.Keys(p.Owners)) {
		figures += fmt.Sprintf("  %s %.0f%%", owner, 100*float64(p.Owners[owner])/float64(max(p.Inserted, 1)))
	}
	if size == 0 {
		return figures
	}
	return barTemplate.New(int(size)).SetWidth(width).SetCurrent(min(p.Bytes, size)).Set("figures", figures).String()
}

// tell prints the account.
func (l *loader) tell(res *picodata.InsertResult, took time.Duration, err error) {
	fmt.Fprintf(l.out, "%s: %d inserted", l.table, res.Inserted)
	for _, p := range []struct {
		n    int64
		what string
	}{{res.Skipped, "skipped"}, {res.Failed, "failed"}, {res.Unknown, "of unknown outcome"}, {res.Unsent, "not sent"}} {
		if p.n > 0 {
			fmt.Fprintf(l.out, ", %d %s", p.n, p.what)
		}
	}
	fmt.Fprintf(l.out, "; %d statements in %s\n", res.Statements, took.Round(time.Millisecond))
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "picodata: ")
		fmt.Fprintln(l.diag, "pico:", text)
		if do := advice(err); do != "" {
			fmt.Fprintln(l.diag, "  what to do:", do)
		}
	}
}

// reject writes the rows that aren't in, or of which nobody knows, and those that were never read.
func (l *loader) reject(res *picodata.InsertResult) (n int, err error) {
	r, columns, _, shut, err := l.open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, shut()) }()
	f, err := os.OpenFile(l.rejects, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	w := newCSVWriter(f, l.comma)
	defer func() { err = errors.Join(err, w.flush(), f.Close()) }()
	if err := w.write(columns, nil); err != nil {
		return 0, err
	}
	bad := map[int64]bool{}
	for _, number := range slices.Concat(res.FailedRows, res.UnknownRows, res.UnsentRows) {
		bad[number] = true
	}
	for number := int64(0); ; number++ {
		record, quoted, err := r.read()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("%s can't be read beyond row %d: %w", l.file, number+1, err)
		}
		if number >= res.Rows || bad[number] {
			n++
			if err := w.write(record, quoted); err != nil {
				return n, err
			}
		}
	}
}
