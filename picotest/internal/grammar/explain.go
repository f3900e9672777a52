package grammar

func (p *parser) explain(out *Statement) bool {
	start := p.pos
	return p.try(rExplain, tight, func() bool {
		s := &Explain{}
		if !p.word("explain") {
			return false
		}
		if !p.maybe(func() bool { return p.wo() && p.facets(&s.Facets) }) {
			s.Facets = nil
		}
		if !p.w() || !p.first(func() bool { return p.query(&s.Stmt) }, func() bool { return p.block(&s.Stmt) }) {
			return false
		}
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// facets matches the words in EXPLAIN's parentheses: (raw) or (raw, fmt) until
// 26.1, any of six in any order since.
func (p *parser) facets(out *[]Facet) bool {
	var list []Facet
	add := func(f Facet) func() bool {
		return func() bool {
			list = append(list, f)
			return true
		}
	}
	if !p.v.AtLeast(V262) {
		ok := p.try(rExplainQueryPlan, inherit, func() bool {
			return p.sym("(") && p.wo() && p.word("raw") && add(FacetRaw)() && p.wo() && p.opt(func() bool {
				return p.sym(",") && p.wo() && p.word("fmt") && add(FacetFmt)() && p.wo()
			}) && p.sym(")")
		})
		*out = list
		return ok
	}
	one := func(r rule, w string, f Facet) func() bool {
		return func() bool { return p.try(r, inherit, func() bool { return p.word(w) }) && add(f)() }
	}
	ok := p.try(rExplainQueryPlan, inherit, func() bool {
		return p.sym("(") && p.wo() && p.list(func() bool {
			return p.first(
				one(rExplainRaw, "raw", FacetRaw),
				one(rExplainFmt, "fmt", FacetFmt),
				one(rExplainBuckets, "buckets", FacetBuckets),
				one(rExplainLogical, "logical", FacetLogical),
				one(rExplainForward, "forward", FacetForward),
				one(rExplainContext, "context", FacetContext),
			)
		}) && p.wo() && p.sym(")")
	})
	*out = list
	return ok
}
