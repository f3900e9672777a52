package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cheggaaa/pb/v3"
)

// progress draws a bar on a terminal, below what the program prints; elsewhere it stays quiet.
type progress struct {
	mu         sync.Mutex // keeps the bar and the lines apart
	done       *atomic.Int64
	all        int64
	over, gone chan struct{} // nil: no bar
}

func startProgress(done *atomic.Int64, all int64) *progress {
	p := &progress{done: done, all: all}
	if !isTerminal(os.Stderr) {
		return p
	}
	p.over, p.gone = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.gone)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.over:
				return
			case <-tick.C:
				p.mu.Lock()
				p.draw()
				p.mu.Unlock()
			}
		}
	}()
	return p
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// barWidth is how wide the whole line is.
const barWidth = 60

// line is the bar.
func (p *progress) line() string {
	const template pb.ProgressBarTemplate = `{{bar . "[" "=" "=" " " "]"}} {{counters . "%s/%s"}}`
	return template.New(int(p.all)).SetWidth(barWidth).SetCurrent(min(p.done.Load(), p.all)).String()
}

func (p *progress) draw() { fmt.Fprint(os.Stderr, "\r", p.line()) }

func (p *progress) clear() { fmt.Fprintf(os.Stderr, "\r%*s\r", barWidth, "") }

// println prints a line in the bar's place; the bar goes on below it.
func (p *progress) println(out io.Writer, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		p.clear()
	}
	fmt.Fprintln(out, line)
}

func (p *progress) stop() {
	if p.over == nil {
		return
	}
	close(p.over)
	<-p.gone
	p.clear()
}
