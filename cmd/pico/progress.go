package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cheggaaa/pb/v3"
)

// showProgress draws a bar on a terminal, and nothing elsewhere, until the function that it returns is called.
func (b *bench) showProgress(rec *recorder) (stop func()) {
	width, terminal := b.t.terminal(b.diag)
	if !terminal {
		return func() {}
	}
	var wait sync.WaitGroup
	end := make(chan struct{})
	wait.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			fmt.Fprint(b.diag, "\r", cut(b.bar(rec, time.Now(), width-1), width-1), "\x1b[K")
			select {
			case <-end:
				fmt.Fprint(b.diag, "\r\x1b[K")
				return
			case <-ticker.C:
			}
		}
	})
	return func() {
		close(end)
		wait.Wait()
	}
}

// progressLine draws a line on a terminal, ten times a second at most, and nothing elsewhere. stop takes it away.
func progressLine[P any](t *tool, diag io.Writer, line func(p P, width int) string) (show func(P), stop func()) {
	width, terminal := t.terminal(diag)
	if !terminal {
		return func(P) {}, func() {}
	}
	var last time.Time
	return func(p P) {
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprint(diag, "\r", cut(line(p, width-1), width-1), "\x1b[K")
		}
	}, func() { fmt.Fprint(diag, "\r\x1b[K") }
}

// withRate is a number of things, and how many of them there were a second.
func withRate(n int64, things string, took time.Duration) string {
	text := fmt.Sprintf("%d %s", n, things)
	if took > 0 {
		text += fmt.Sprintf("  %.0f/s", float64(n)/took.Seconds())
	}
	return text
}

// barTemplate is a line of progress for the library: it widens the bar to what the rest leaves of the width.
const barTemplate pb.ProgressBarTemplate = `{{bar . "[" "█" "█" "·" "]"}} {{percent . "%3.0f%%"}}  {{string . "figures"}}`

// bar is one line of progress.
func (b *bench) bar(rec *recorder, now time.Time, width int) string {
	done, failed, p99 := rec.progress()
	since := now.Sub(rec.began)
	share := 0.0
	if b.load.duration > 0 {
		share = float64(since) / float64(b.load.duration)
	}
	if b.load.count > 0 {
		share = max(share, float64(done+uint64(failed))/float64(b.load.count))
	}
	figures := withRate(int64(done), "statements", since)
	figures += fmt.Sprintf("  p99 %s  %d errors", short(p99), failed)
	const whole = 1000
	return barTemplate.New(whole).SetWidth(width).SetCurrent(int64(min(max(share, 0), 1)*whole)).Set("figures", figures).String()
}

// short is a duration with three digits that matter.
func short(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
