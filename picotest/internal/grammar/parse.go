package grammar

// Parse reads one statement as a server of version v does. Exactly one of the
// results is nil. What the grammar lets in and the server refuses afterwards is
// for [Check] and for the engine.
func Parse(v Version, sql string) (Statement, *SyntaxError) {
	p := &parser{sql: sql, v: v.known(), mode: spaced}
	var s Statement
	if !p.command(&s) {
		return nil, p.syntaxError()
	}
	numberParams(s)
	return s, nil
}

// command matches the whole text. The alternatives stand in the server's order,
// which counts: once one of them matched, the rest of the text has to be empty.
func (p *parser) command(out *Statement) bool {
	p.skip()
	p.first(
		func() bool { return p.block(out) },
		func() bool { return p.query(out) },
		func() bool { return p.explain(out) },
		func() bool { return p.call(out) },
		func() bool { return p.ddl(out) },
		func() bool { return p.acl(out) },
		func() bool { return p.tx(out) },
		func() bool { return p.plugin(out) },
		func() bool { return p.deallocate(out) },
		func() bool {
			*out = &Empty{Span{0, len(p.sql)}}
			return p.wo()
		},
	)
	p.skip()
	return p.end()
}
