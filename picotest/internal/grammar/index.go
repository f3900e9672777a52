package grammar

func (p *parser) createIndex(out *Statement) bool {
	start := p.pos
	return p.try(rCreateIndex, tight, func() bool {
		s := &CreateIndex{}
		if !p.word("create") || !p.w() {
			return false
		}
		s.Unique = p.maybe(func() bool {
			return p.try(rUnique, inherit, func() bool { return p.word("unique") }) && p.w()
		})
		if !p.word("index") || !p.w() || !p.ifNotExists(&s.IfNotExists) || !p.ident(&s.Name) || !p.w() ||
			!p.word("on") || !p.w() || !p.publicSchema() || !p.table(&s.Table) || !p.wo() {
			return false
		}
		if !p.maybe(func() bool { return p.indexType(&s.Type) && p.wo() }) {
			s.Type = IndexDefault
		}
		if !p.sym("(") || !p.wo() || !p.try(rParts, spaced, func() bool {
			return p.spacedList(func() bool { return p.keyPart(V262, &s.Parts) })
		}) || !p.wo() || !p.sym(")") {
			return false
		}
		p.opt(func() bool { return p.w() && p.indexOptions(&s.Options) })
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) indexType(out *IndexType) bool {
	return p.try(rIndexType, inherit, func() bool {
		if !p.word("using") || !p.w() {
			return false
		}
		for _, t := range [...]struct {
			r    rule
			word string
			typ  IndexType
		}{{rTree, "tree", IndexTree}, {rHash, "hash", IndexHash}, {rRTree, "rtree", IndexRTree}, {rBitSet, "bitset", IndexBitset}} {
			if p.try(t.r, inherit, func() bool { return p.word(t.word) }) {
				*out = t.typ
				return true
			}
		}
		return false
	})
}

func (p *parser) dropIndex(out *Statement) bool {
	start := p.pos
	return p.try(rDropIndex, tight, func() bool {
		s := &DropIndex{}
		if !p.words("drop", "index") || !p.w() || !p.ifExists(&s.IfExists) || !p.publicSchema() || !p.ident(&s.Name) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

func (p *parser) renameIndex(out *Statement) bool {
	start := p.pos
	return p.try(rRenameIndex, tight, func() bool {
		s := &RenameIndex{}
		if !p.words("alter", "index") || !p.w() || !p.ifExists(&s.IfExists) || !p.ident(&s.From) || !p.w() ||
			!p.words("rename", "to") || !p.w() || !p.ident(&s.To) {
			return false
		}
		p.tail(&s.DDLTail)
		s.Span = p.since(start)
		*out = s
		return true
	})
}

// storageOption is a name = value of WITH ( … ).
type storageOption struct {
	r     rule
	name  string
	value func(p *parser, out *string) bool
	// table says that CREATE TABLE knows it too, since 26.2 through a rule of its own.
	table bool
}

// distance matches the two distances of an rtree index.
func (p *parser) distance(out *string) bool {
	start := p.pos
	ok := p.first(
		func() bool { return p.try(rEuclid, inherit, func() bool { return p.word("euclid") }) },
		func() bool { return p.try(rManhattan, inherit, func() bool { return p.word("manhattan") }) },
	)
	*out = p.sql[start:p.pos]
	return ok
}

// boolean matches true and false.
func (p *parser) boolean(out *string) bool {
	start := p.pos
	ok := p.first(p.bTrue, p.bFalse)
	*out = p.sql[start:p.pos]
	return ok
}

var storageOptions = [...]storageOption{
	{rBloomFpr, "bloom_fpr", (*parser).decimal, true},
	{rPageSize, "page_size", (*parser).unsigned, true},
	{rRangeSize, "range_size", (*parser).unsigned, true},
	{rRunCountPerLevel, "run_count_per_level", (*parser).unsigned, true},
	{rRunSizeRatio, "run_size_ratio", (*parser).decimal, true},
	{rCompressionLevel, "compression_level", (*parser).signed, true},
	{rDimension, "dimension", (*parser).unsigned, false},
	{rDistance, "distance", (*parser).distance, false},
	{rHint, "hint", (*parser).boolean, false},
}

func (p *parser) indexOptions(out *[]TableOption) bool {
	return p.withOptions(rIndexOptions, rIndexOptionParam, false, out)
}

func (p *parser) tableOptions(out *[]TableOption) bool {
	return p.withOptions(rTableOptions, rTableOptionParam, true, out)
}

// withOptions matches WITH ( … ).
func (p *parser) withOptions(clause, param rule, ofTable bool, out *[]TableOption) bool {
	var list []TableOption
	ok := p.try(clause, tight, func() bool {
		return p.word("with") && p.wo() && p.sym("(") && p.wo() && p.list(func() bool {
			start := p.pos
			o := TableOption{}
			if !p.try(param, inherit, func() bool { return p.storageOption(ofTable, &o) }) {
				return false
			}
			o.Span = p.since(start)
			list = append(list, o)
			return true
		}) && p.wo() && p.sym(")")
	})
	if ok {
		*out = list
	}
	return ok
}

func (p *parser) storageOption(ofTable bool, out *TableOption) bool {
	for i := range storageOptions {
		o := &storageOptions[i]
		if ofTable && !o.table || o.r == rCompressionLevel && !p.v.AtLeast(V261) {
			continue
		}
		if p.try(o.r, spaced, func() bool {
			return p.word(o.name) && p.skip() && p.sym("=") && p.skip() && o.value(p, &out.Value)
		}) {
			out.Name = o.name
			return true
		}
	}
	return false
}
