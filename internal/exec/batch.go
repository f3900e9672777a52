package exec

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/picodata/go-picodata/internal/pool"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/sqltext"
	"github.com/picodata/go-picodata/internal/wire"
)

// Item is one statement of a batch: the first part is the caller's, the second its answer.
type Item struct {
	Query string
	Args  []driver.NamedValue

	Columns  []string
	Types    []uint32 // the columns' type OIDs
	Rows     [][]driver.Value
	Affected int64
	Node     *pool.NodeInfo // the one that ran it last; nil: none
	Err      error

	run   run
	piece wire.Piece
	wait  time.Duration // before it is run again
	cause error         // of the attempt that failed
}

// Batch runs statements together: in each round those that go to the same node are one flight, and nodes work in
// parallel. Each is planned and judged as if it had come alone; those that may be run again make the next round.
func (x *Executor) Batch(ctx context.Context, items []*Item) {
	c := x.NewCheckout()
	defer c.Forget()
	var end func(*Ended)
	if x.Tracer != nil {
		ctx, end = x.Tracer.Statement(ctx, &Started{Operation: "batch", Text: x.texts.get(""), Args: len(items)})
	}
	hint := HintOf(ctx)
	for _, it := range items {
		text := x.texts.get(it.Query)
		it.run = run{c: c, x: x, op: opOf(text), ctx: ctx, hint: hint, args: it.Args, text: text, extra: true}
	}
	sound := make([]*Item, 0, len(items))
	for _, it := range items {
		if err := it.run.settle(); err != nil {
			it.Err = err
			continue
		}
		sound = append(sound, it)
	}
	free, held := x.apart(sound)
	var waits sync.WaitGroup
	if len(held) > 0 {
		waits.Go(func() { x.rounds(ctx, held) })
	}
	x.rounds(ctx, free)
	waits.Wait()
	if end != nil {
		e := Ended{Attempts: 1}
		for _, it := range items {
			e.Rows += it.Affected
			if e.Err == nil {
				e.Err = it.Err
			}
		}
		end(&e)
	}
}

// apart tells statements that wait for a leader from those that needn't wait with them.
func (x *Executor) apart(items []*Item) (free, held []*Item) {
	if !x.dead.hurt.Load() {
		return items, nil
	}
	for _, it := range items {
		if err := it.run.decide(); err != nil {
			it.fail(err)
		} else if why, _ := it.run.heldUp(); why != nil {
			held = append(held, it)
		} else {
			free = append(free, it)
		}
	}
	return free, held
}

// rounds runs statements until each has its answer.
func (x *Executor) rounds(ctx context.Context, pending []*Item) {
	for len(pending) > 0 {
		var flights sync.WaitGroup
		groups := x.group(pending)
		for _, g := range groups[min(1, len(groups)):] {
			flights.Go(func() { x.fly(ctx, g) })
		}
		if len(groups) > 0 {
			x.fly(ctx, groups[0])
		}
		flights.Wait()
		pending = x.nextRound(ctx, pending)
	}
}

// opOf is the operation that a text alone would be: Query where rows are what it is for.
func opOf(t *Text) operation {
	if t.Info.Class == sqltext.Read {
		return opQuery
	}
	return opExec
}

// answered notes an answer without an error.
func (it *Item) answered() {
	r := &it.run
	r.affected = it.Affected
	r.heed()
	r.x.budget.succeeded()
	switch {
	case r.shadow == nil:
	case r.op == opExec:
		r.compare(nil)
	default:
		for _, row := range it.Rows {
			r.shadow.Row(row)
		}
		r.shadow.Done(true)
	}
}

// fail notes the error that a statement ends with, in whichever round. The mirror hears of it too: it was handed the
// statement in the first one.
func (it *Item) fail(err error) {
	it.Err = it.run.fail(err)
	it.run.compare(it.Err)
}

// errAgain marks an item that goes into the next round.
var errAgain = errors.New("to be run again")

// nextRound are the items that may be run again, after the longest of their pauses.
func (x *Executor) nextRound(ctx context.Context, items []*Item) []*Item {
	var next []*Item
	var wait time.Duration
	for _, it := range items {
		if it.Err == errAgain {
			next = append(next, it)
			wait = max(wait, it.wait)
		}
	}
	if wait > 0 && len(next) > 0 {
		if err := x.sleep(ctx, wait); err != nil {
			for _, it := range next {
				it.fail(fmt.Errorf("%w; %w", err, it.cause))
			}
			return nil
		}
	}
	for _, it := range next {
		it.Err = nil
	}
	return next
}

// group are items for the same nodes.
type group struct {
	req   pool.Request
	items []*Item
}

// group plans each item. Those that can't be planned have their error.
func (x *Executor) group(items []*Item) []*group {
	var groups []*group
	byReq := map[pool.Request]*group{}
	reqs := make([]pool.Request, len(items))
	request := func(i int) {
		var err error
		if reqs[i], err = items[i].run.request(); err != nil {
			items[i].fail(items[i].run.unrun(err))
		}
	}
	hurt := x.dead.hurt.Load() // those that wait for a leader do so at the same time, or each would wait as long as all
	var waits sync.WaitGroup
	for i := range items {
		if hurt {
			waits.Go(func() { request(i) })
		} else {
			request(i)
		}
	}
	waits.Wait()
	for i, it := range items {
		if it.Err != nil {
			continue
		}
		req := reqs[i]
		look := req.Look
		req.Look = false
		g := byReq[req]
		if g == nil {
			g = &group{req: req}
			byReq[req] = g
			groups = append(groups, g)
		}
		g.req.Look = g.req.Look || look
		g.items = append(g.items, it)
	}
	return groups
}

// overtaken puts a group off whose leader has been found dead since it was planned: its items are planned anew, together.
func (g *group) overtaken() bool {
	if !g.items[0].run.x.dead.hurt.Load() || !slices.ContainsFunc(g.items, func(it *Item) bool { return it.run.overtaken() }) {
		return false
	}
	for _, it := range g.items {
		it.Err, it.wait = errAgain, 0
	}
	return true
}

// fly runs a group on one connection.
func (x *Executor) fly(ctx context.Context, g *group) {
	first := &g.items[0].run
	l, err := first.leaseFor(g.req)
	if err != nil {
		for _, it := range g.items {
			it.fail(it.run.unrun(err))
		}
		return
	}
	if g.overtaken() {
		l.Release()
		return
	}
	w := wireOf(l.Conn())
	pieces := make([]*wire.Piece, len(g.items))
	teller := first // of whom stuck knows: one that writes, if there is one
	for i, it := range g.items {
		r := &it.run
		r.lease, r.lastNode = l, l.Node()
		r.attempts++
		x.routing.tally(&r.plan, l.Node())
		if x.mirror != nil {
			r.offer()
		}
		it.piece = wire.Piece{SQL: r.sql, Args: it.Args}
		if r.plan.Reason == route.StaleRead {
			it.piece.SQL, r.asks = r.staleText(), false
		} else {
			r.asks = len(it.Args) > 0 && x.routing.wants(r.text)
			it.piece.Anew = r.asks
		}
		pieces[i] = &it.piece
		if !r.text.Info.PlainRead {
			teller = r
		}
	}
	teller.depart(w)
	var end func(*Ended)
	if x.Tracer != nil {
		ctx, end = x.Tracer.Statement(ctx, &Started{Operation: "flight", Text: first.text, Args: len(pieces)})
	}
	err = w.Pipeline(ctx, pieces)
	teller.arrive()
	lost := false
	for i, it := range g.items {
		p := pieces[i]
		if err != nil {
			p.Err = err
		}
		it.Node = l.Node()
		if p.Err == nil {
			it.Columns, it.Types, it.Rows, it.Affected = p.Columns, p.Types, p.Rows, p.Affected
			it.answered()
			continue
		}
		o := it.run.conclude(p.Err, false)
		lost = lost || o.lost
		if !o.stop {
			it.Err, it.wait, it.cause = errAgain, o.wait, o.cause
			continue
		}
		it.fail(o.cause)
	}
	if end != nil {
		e := Ended{Node: l.Node(), Reason: first.plan.Counter(), Attempts: 1}
		for _, it := range g.items {
			e.Rows += it.Affected
			if e.Err == nil && it.Err != errAgain {
				e.Err = it.Err
			}
		}
		end(&e)
	}
	if lost {
		l.Discard(pool.Lost)
	} else {
		l.Release()
	}
}
