package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

const barWidth = 40

func (p *progress) draw() {
	n := min(p.done.Load(), p.all)
	fmt.Fprintf(os.Stderr, "\r[%-*s] %d/%d", barWidth, strings.Repeat("=", int(n*barWidth/p.all)), n, p.all)
}

func (p *progress) clear() { fmt.Fprintf(os.Stderr, "\r%*s\r", barWidth+20, "") }

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
