package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/peterh/liner"
)

// converse is the prompt on a terminal.
func (s *shell) converse(ctx context.Context) error {
	line := liner.NewLiner()
	defer func() { _ = line.Close() }() // it gives the terminal its mode back
	line.SetCtrlCAborts(true)
	line.SetTabCompletionStyle(liner.TabPrints)
	line.SetWordCompleter(func(text string, pos int) (string, []string, string) {
		return s.words.complete(ctx, text, pos)
	})
	history := historyFile(s.t.env)
	if f, err := os.Open(history); err == nil {
		_, _ = line.ReadHistory(f) // a damaged history is a short one
		_ = f.Close()
	}
	defer s.keep(line, history)
	// An interrupt ends a statement, not the shell: at the prompt it is a key. A SIGTERM ends it, and must leave a sane terminal.
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	defer signal.Stop(term)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-term:
			s.keep(line, history)
			_ = line.Close()
			os.Exit(exitFailed)
		case <-done:
		}
	}()
	ctx = context.WithoutCancel(ctx)
	fmt.Fprintf(s.diag, "%s\n%s\n\\? lists the commands, \\q ends.\n", s.c.Config().RedactedDSN(), servers(s.c.Topology()))
	pending := new(strings.Builder)
	for {
		prompt := "pico> "
		if pending.Len() > 0 {
			prompt = "   -> "
		}
		text, err := line.Prompt(prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			pending.Reset()
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.diag)
			return nil
		case err != nil:
			return err
		}
		if strings.TrimSpace(text) != "" && !secretText(pending.String()+text) {
			line.AppendHistory(text)
		}
		if s.feed(ctx, pending, text) {
			return nil
		}
	}
}

// secretText tells statements that carry a password: they don't go into the history.
func secretText(text string) bool { return strings.Contains(strings.ToUpper(text), "PASSWORD") }

// historyFile is $PICO_HISTORY, or pico/history among the user's settings; "" if there is no such place.
func historyFile(env func(string) string) string {
	if name := env("PICO_HISTORY"); name != "" {
		return name
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "pico", "history")
}

// keep writes the history, for its owner only. One that can't be written is told once, at the end.
func (s *shell) keep(line *liner.State, name string) {
	if name == "" {
		return
	}
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
			_, err = line.WriteHistory(f)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(s.diag, "the history isn't kept:", err)
	}
}

// read takes statements from what is no terminal.
func (s *shell) read(ctx context.Context, in io.Reader) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	pending := new(strings.Builder)
	for lines.Scan() && ctx.Err() == nil {
		if s.feed(ctx, pending, lines.Text()) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		s.complain(err)
	}
	s.feed(ctx, pending, ";") // the last one needs no semicolon
}

// splitStatements cuts a text at its semicolons: those in quotes, comments and $$ … $$ don't count. rest is what no semicolon ends.
func splitStatements(text string) (list []string, rest string) {
	from := 0
	for i := 0; i < len(text); {
		switch end := spanEnd(text[i:]); {
		case end > 0:
			i += end
		case end < 0: // a quote or a comment that goes on in the next line
			return list, text[from:]
		default:
			if text[i] == ';' {
				list = append(list, text[from:i])
				from = i + 1
			}
			i++
		}
	}
	return list, text[from:]
}

// spanEnd is the length of the quote or comment that a text begins with, 0 if it begins with neither, -1 if it has no end.
func spanEnd(text string) int {
	var open, shut string
	switch {
	case text[0] == '\'' || text[0] == '"':
		open, shut = text[:1], text[:1]
	case strings.HasPrefix(text, "--"):
		open, shut = "--", "\n"
	case strings.HasPrefix(text, "/*"):
		open, shut = "/*", "*/"
	case strings.HasPrefix(text, "$$"):
		open, shut = "$$", "$$"
	default:
		return 0
	}
	end := strings.Index(text[len(open):], shut)
	if end < 0 {
		return -1
	}
	return len(open) + end + len(shut)
}
