package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
)

// An interruption ends a statement that waits, and the error says that it was sent.
func TestInterrupt(t *testing.T) {
	for _, args := range [][]driver.NamedValue{nil, named(int64(1))} {
		s := newServer(t)
		heard := make(chan string, 10)
		s.handle = silent(heard)
		c, _ := s.dial(newConfig())
		op := c.NextOp()
		if c.Interrupt(op) {
			t.Fatal("an operation that hasn't begun was interrupted")
		}
		go func() {
			<-heard
			if !c.Interrupt(op) {
				t.Error("the operation under way wasn't met")
			}
		}()
		// The caller's context lives on: that it could end must not matter.
		ctx, cancel := context.WithCancel(bg)
		_, err := c.Query(ctx, "select 1", args)
		cancel()
		e := wireError(t, err)
		if !errors.Is(err, ErrInterrupted) || !e.Sent || e.Cancelled() || e.Local {
			t.Fatalf("sent %v, cancelled %v, local %v: %v", e.Sent, e.Cancelled(), e.Local, err)
		}
		if c.Usable() {
			t.Fatal("a connection with an answer under way may not be used again")
		}
		if c.Interrupt(op) {
			t.Fatal("an operation that is over was interrupted")
		}
		for range heard {
		}
	}
}

// Between the answer and the next statement lies no moment at which an interruption hurts: it meets the
// operation of its number, or nothing.
func TestInterruptHurtsNoOther(t *testing.T) {
	s := newServer(t)
	c, _ := s.dial(newConfig())
	ops := make(chan uint64)
	done := make(chan struct{})
	var met int
	go func() {
		defer close(done)
		for op := range ops {
			if c.Interrupt(op) {
				met++
			}
		}
	}()
	for range 2000 {
		op := c.NextOp()
		rows, err := c.Query(bg, "select $1", named(int64(1)))
		if err == nil {
			err = rows.Close()
		}
		if err != nil {
			t.Fatalf("an interruption of the operation before: %v", err)
		}
		ops <- op
		if !c.Usable() {
			t.Fatal("the connection was lost")
		}
	}
	close(ops)
	<-done
	if met > 0 {
		t.Errorf("%d operations were interrupted after they were over", met)
	}
}

// An interruption at any moment of a statement's life either ends it or leaves no trace.
func TestInterruptAtAnyMoment(t *testing.T) {
	s := newServer(t)
	var interrupted, whole int
	for range 300 {
		c, _ := s.dial(newConfig())
		for range 5 {
			op := c.NextOp()
			struck := make(chan bool)
			go func() { struck <- c.Interrupt(op) }()
			_, err := c.Exec(bg, "insert into t values ($1)", named(int64(1)))
			hit := <-struck
			switch {
			case err == nil:
				whole++
				if !c.Usable() {
					t.Fatal("the answer was complete, and yet the connection is lost")
				}
				continue
			case !hit || !errors.Is(err, ErrInterrupted):
				t.Fatalf("struck %v: %v", hit, err)
			}
			interrupted++
			break
		}
		c.Close()
	}
	t.Logf("%d interrupted, %d whole", interrupted, whole)
}
