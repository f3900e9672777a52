package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/options"
)

// shell is one pico shell: a prompt, the driver beneath it, and what backslash commands switch.
type shell struct {
	t         *tool
	c         *client
	out, diag io.Writer

	format string
	timing bool
	route  bool
	words  *vocabulary
	failed bool // a statement did
}

// newShell is pico shell.
func (t *tool) newShell() *cobra.Command {
	var (
		g        target
		commands []string
		format   string
	)
	cmd := &cobra.Command{
		Use:   "shell [DSN]",
		Short: "A SQL prompt that goes through the driver",
		Long: `A SQL prompt that goes through the driver: each statement is routed, balanced and retried as a
program's would be, and \route says where it went and why.

A statement ends with a semicolon and may take several lines. On a terminal there are a history,
search in it with Ctrl-R, and completion of keywords, tables and columns with Tab. Elsewhere
statements are read from standard input, and the exit code is 4 if one failed.

` + shellHelp,
		Example: `  pico shell 'picodata://app@node-a,node-b/'
  pico shell -c 'SELECT count(*) FROM orders'
  pico shell --format csv -c 'SELECT * FROM orders' > orders.csv
  pico shell < schema.sql`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, known := formats[format]; !known {
				return &usageError{fmt.Errorf("--format %q: want table, csv or json", format)}
			}
			cfg, err := t.chooseOnly(&g, args)
			if err != nil {
				return err
			}
			s := &shell{t: t, out: cmd.OutOrStdout(), diag: cmd.ErrOrStderr(), format: format}
			return s.run(cmd.Context(), cfg, g.wait, commands, cmd.InOrStdin())
		},
	}
	g.flags(cmd, 10*time.Second, "how long to wait for the cluster at the start")
	f := cmd.Flags()
	f.StringArrayVarP(&commands, "command", "c", nil, "run that statement or backslash command and end; may be repeated")
	f.StringVar(&format, "format", "table", "of results: table, csv or json")
	complete(cmd, "format", "table", "csv", "json")
	return cmd
}

func (s *shell) run(ctx context.Context, cfg *options.Config, wait time.Duration, commands []string, in io.Reader) (err error) {
	if s.c, err = s.t.open(cfg, options.WithTracers(shellTracer{})); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.c.Close()) }()
	start, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := s.c.db.PingContext(start); err != nil {
		return err
	}
	s.words = newVocabulary(s.c)
	switch _, terminal := s.t.terminal(s.out); {
	case len(commands) > 0:
		for _, text := range commands {
			if quit := s.feed(ctx, new(strings.Builder), text+";"); quit || ctx.Err() != nil {
				break
			}
		}
	case terminal && s.t.interactive(in):
		return s.converse(ctx)
	default:
		s.read(ctx, in)
	}
	if s.failed {
		return verdict(exitFaults)
	}
	return ctx.Err()
}

// feed takes a line and runs what it completes; pending holds the beginning of a statement. It is true for \q.
func (s *shell) feed(ctx context.Context, pending *strings.Builder, line string) (quit bool) {
	if pending.Len() == 0 && strings.HasPrefix(strings.TrimSpace(line), `\`) {
		return s.meta(ctx, strings.TrimRight(strings.TrimSpace(line), "; "))
	}
	pending.WriteString(line)
	pending.WriteByte('\n')
	list, rest := splitStatements(pending.String())
	pending.Reset()
	if strings.TrimSpace(rest) != "" {
		pending.WriteString(rest)
	}
	for _, text := range list {
		s.statement(ctx, text)
		if ctx.Err() != nil {
			break
		}
	}
	return false
}

// statement runs one statement and shows what came of it. On a terminal Ctrl-C ends the statement, not the shell.
func (s *shell) statement(ctx context.Context, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var at shellSample
	began := time.Now()
	err := s.execute(context.WithValue(ctx, shellKey{}, &at), text)
	took := time.Since(began)
	if err != nil {
		s.complain(err)
	}
	if s.route {
		s.showRoute(&at)
	}
	if s.timing {
		fmt.Fprintf(s.diag, "Time: %.3f ms\n", ms(took))
	}
}

// execute asks for rows where there may be some, so that a write says how many it touched.
func (s *shell) execute(ctx context.Context, text string) error {
	info := sqltext.Analyze(text)
	switch info.Class {
	case sqltext.Insert, sqltext.Update, sqltext.Delete:
		result, err := s.c.db.ExecContext(ctx, text)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		fmt.Fprintln(s.diag, plural(int(n), "row", "rows"), "changed")
		return nil
	case sqltext.DDL, sqltext.Tx:
		if _, err := s.c.db.ExecContext(ctx, text); err != nil {
			return err
		}
		s.words.forget() // a table may be new
		fmt.Fprintln(s.diag, "ok")
		return nil
	}
	rows, err := s.c.db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	return s.show(rows)
}

// complain says what went wrong, and what to do where that is known.
func (s *shell) complain(err error) {
	s.failed = true
	fmt.Fprintln(s.diag, "ERROR:", strings.TrimPrefix(err.Error(), "picodata: "))
	if do := advice(err); do != "" {
		fmt.Fprintln(s.diag, "  what to do:", do)
	}
}

// shellSample is where the driver's tracer notes how a statement went.
type shellSample struct{ end picodata.StatementEnd }

type shellKey struct{}

type shellTracer struct{}

// StatementStart is picodata.StatementTracer's.
func (shellTracer) StatementStart(ctx context.Context, _ picodata.StatementStart) context.Context {
	return ctx
}

// StatementEnd is picodata.StatementTracer's.
func (shellTracer) StatementEnd(ctx context.Context, e picodata.StatementEnd) {
	if s, ok := ctx.Value(shellKey{}).(*shellSample); ok {
		s.end = e
	}
}

func (s *shell) showRoute(at *shellSample) {
	e := &at.end
	if e.Node == (picodata.Node{}) {
		fmt.Fprintln(s.diag, "Route: no node ran it")
		return
	}
	text := fmt.Sprintf("Route: %s, %s", e.Node, e.Reason)
	if meaning := meanings[e.Reason]; meaning != "" {
		text += " (" + meaning + ")"
	}
	if e.Attempts > 1 {
		text += fmt.Sprintf(", after %s", plural(e.Attempts, "attempt", "attempts"))
	}
	fmt.Fprintln(s.diag, text)
}
