package engine

import (
	"math"
	"slices"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// bucketList is a set of buckets; nil stands for all.
type bucketList struct{ list []uint64 }

func (b *bucketList) union(o *bucketList) *bucketList {
	if b == nil || o == nil {
		return nil
	}
	return &bucketList{slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(b.list), o.list...))))}
}

func (b *bucketList) intersect(o *bucketList) *bucketList {
	if b == nil {
		return o
	}
	if o == nil {
		return b
	}
	out := &bucketList{}
	for _, x := range b.list {
		if slices.Contains(o.list, x) {
			out.list = append(out.list, x)
		}
	}
	return out
}

func (s *Stmt) bucketSet(b *bucketList, motion bool) BucketSet {
	if b == nil {
		return BucketSet{Tier: s.tier, All: true, Motion: motion}
	}
	return BucketSet{Tier: s.tier, List: b.list, Motion: motion}
}

// keyValue is a value as the bucket hash sees it. A double passes through the storage first, which reads NaN as NULL and a number
// within rounding of a whole one as that integer, clamped to the integers' range (seen live; 25.5 and older hash it as it is).
func keyValue(v Value, rule doubleRule) Value {
	f, ok := v.(float64)
	if !ok || rule == doubleRaw {
		return v
	}
	if math.IsNaN(f) {
		return nil
	}
	if math.IsInf(f, 0) || math.Abs(f-math.Trunc(f)) >= 2.220446049250313e-16 {
		return v
	}
	return clampInt(f)
}

// constant evaluates literals, parameters and casts of them; ok is false for anything else.
func (s *Stmt) constant(x grammar.Expr, args []Value) (v Value, ok bool) {
	switch x := unparen(x).(type) {
	case *grammar.Literal:
		t, cast := s.an.casts[x]
		if !cast {
			t = s.an.types[x]
		}
		v, err := literal(x, t)
		return v, err == nil
	case *grammar.Param:
		if x.Index < 1 || x.Index > len(args) {
			return nil, false
		}
		return args[x.Index-1], true
	case *grammar.Cast:
		v, ok := s.constant(x.X, args)
		if !ok {
			return nil, false
		}
		return convert(v, typeOfName(x.Type).expr())
	}
	return nil, false
}

// queryBuckets gives the buckets that a query and its subqueries read.
func (s *Stmt) queryBuckets(q *query, r *runState, args []Value) (BucketSet, *Error) {
	if s.tier == "" {
		return BucketSet{}, nil
	}
	count, err := r.bucketCount(s.tier)
	if err != nil {
		return BucketSet{}, err
	}
	f := &bucketFinder{s: s, args: args, count: count, rule: doubleRuleOf(s.sess.Version)}
	set := f.query(q)
	for _, sub := range s.an.subqueries {
		set = set.union(f.query(sub))
	}
	return s.bucketSet(set, f.motion), nil
}

// bucketFinder derives buckets from conditions.
type bucketFinder struct {
	s      *Stmt
	args   []Value
	count  uint64
	rule   doubleRule
	motion bool
}

func (f *bucketFinder) query(q *query) *bucketList {
	set := &bucketList{}
	for _, c := range q.ctes {
		set = set.union(f.query(c.query))
	}
	for _, c := range q.cores {
		set = set.union(f.core(c))
	}
	return set
}

func (f *bucketFinder) core(c *core) *bucketList {
	set := &bucketList{}
	first, joined := true, false
	for _, src := range c.sources {
		var own *bucketList
		switch {
		case src.table != nil && !src.table.global:
			own = f.source(src, c)
		case src.cte:
			continue // counted where it's defined
		case src.inner != nil:
			own = f.query(src.inner)
			if own != nil && len(own.list) == 0 {
				continue
			}
		default:
			continue
		}
		switch {
		case first:
			set, first = own, false
		case f.local(c):
			set = set.intersect(own)
		default:
			set, joined = set.union(own), true
		}
	}
	f.motion = f.motion || joined
	return set
}

// local tells whether a join compares sharding keys, so that matching rows lie together.
func (f *bucketFinder) local(c *core) bool {
	for _, on := range c.joinOn {
		ok := false
		for _, x := range conjuncts(on) {
			b, isEq := unparen(x).(*grammar.Binary)
			if !isEq || b.Op != grammar.OpEq {
				continue
			}
			if f.isKey(b.L) && f.isKey(b.R) {
				ok = true
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// isKey tells whether an expression is a sharding key of one column, or bucket_id.
func (f *bucketFinder) isKey(x grammar.Expr) bool {
	ref, ok := unparen(x).(*grammar.ColumnRef)
	if !ok {
		return false
	}
	b := f.s.an.columns[ref]
	if b.source == nil || b.source.table == nil {
		return false
	}
	t := b.source.table
	return t.columns[b.index].hidden || len(t.key) == 1 && t.key[0] == b.index
}

// source gives the buckets of one table that the conditions of its SELECT leave.
func (f *bucketFinder) source(src *source, c *core) *bucketList {
	var set *bucketList
	if c.node.Where != nil {
		set = f.condition(c.node.Where, src)
	}
	for _, on := range c.joinOn {
		set = set.intersect(f.condition(on, src))
	}
	return set
}

// conjuncts takes a condition apart at its ANDs.
func conjuncts(x grammar.Expr) []grammar.Expr {
	if b, ok := unparen(x).(*grammar.Binary); ok && b.Op == grammar.OpAnd {
		return append(conjuncts(b.L), conjuncts(b.R)...)
	}
	return []grammar.Expr{x}
}

func (f *bucketFinder) condition(x grammar.Expr, src *source) *bucketList {
	eq := map[int][]Value{}
	var set *bucketList
	for _, part := range conjuncts(x) {
		if or, ok := unparen(part).(*grammar.Binary); ok && or.Op == grammar.OpOr {
			set = set.intersect(f.condition(or.L, src).union(f.condition(or.R, src)))
			continue
		}
		f.equalities(part, src, eq)
	}
	t := src.table
	if b := t.bucketColumn(); b >= 0 {
		if vals, ok := eq[b]; ok {
			ids := &bucketList{}
			for _, v := range vals {
				whole, _ := convertInt(v) // fractions are cut
				if n, ok := whole.(int64); ok && n >= 1 && uint64(n) <= f.count {
					ids = ids.union(&bucketList{[]uint64{uint64(n)}})
				}
			}
			set = set.intersect(ids)
		}
	}
	keys := [][]Value{nil}
	for _, k := range t.key {
		vals, ok := eq[k]
		if !ok {
			return set
		}
		var next [][]Value
		for _, head := range keys {
			for _, v := range vals {
				next = append(next, append(slices.Clone(head), keyValue(v, f.rule)))
			}
		}
		keys = next
	}
	found := &bucketList{}
	for _, k := range keys {
		found.list = append(found.list, bucketOf(f.count, f.rule, k...))
	}
	return set.intersect(found.union(&bucketList{}))
}

// equalities collects `column = constant` and `column IN (constants)`, rows included.
func (f *bucketFinder) equalities(x grammar.Expr, src *source, eq map[int][]Value) {
	switch n := unparen(x).(type) {
	case *grammar.Binary:
		if n.Op != grammar.OpEq {
			return
		}
		if l, ok := unparen(n.L).(*grammar.Row); ok {
			if r, ok := unparen(n.R).(*grammar.Row); ok && len(l.Items) == len(r.Items) {
				for i := range l.Items {
					f.pair(l.Items[i], r.Items[i:i+1], src, eq)
				}
			}
			return
		}
		f.pair(n.L, []grammar.Expr{n.R}, src, eq)
		f.pair(n.R, []grammar.Expr{n.L}, src, eq)
	case *grammar.In:
		if list, ok := unparen(n.R).(*grammar.Row); ok && !n.Not {
			f.pair(n.X, list.Items, src, eq)
		}
	}
}

func (f *bucketFinder) pair(col grammar.Expr, list []grammar.Expr, src *source, eq map[int][]Value) {
	ref, ok := unparen(col).(*grammar.ColumnRef)
	if !ok {
		return
	}
	b, ok := f.s.an.columns[ref]
	if !ok || b.source != src {
		return
	}
	var vals []Value
	for _, x := range list {
		v, ok := f.s.constant(x, f.args)
		if !ok {
			return
		}
		vals = append(vals, v)
	}
	if old, twice := eq[b.index]; twice {
		vals = slices.DeleteFunc(vals, func(v Value) bool {
			return !slices.ContainsFunc(old, func(o Value) bool { return toCell(o) == toCell(v) })
		})
	}
	eq[b.index] = vals
}
