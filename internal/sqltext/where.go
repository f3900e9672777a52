package sqltext

// selectKeys reads SELECT … FROM t [[AS] alias] WHERE … of one table.
func (r *reader) selectKeys(info *Info) {
	i, depth := r.pos+1, 0
	from := -1
	for ; r.at(i).kind != end; i++ {
		t := r.at(i)
		switch {
		case opIs(t, '('):
			depth++
		case opIs(t, ')'):
			depth--
		case t.key == kwSelect, t.key == kwValues, t.key == kwJoin, t.key == kwUnion, t.key == kwExcept, t.key == kwIntersect:
			info.Reason = ReasonSubquery
			return
		case t.key == kwFrom && depth == 0 && from < 0:
			from = i
		}
	}
	if from < 0 {
		info.Reason = ReasonNotDML
		return
	}
	r.pos = from + 1
	table, ok := r.table()
	if !ok {
		info.Reason = ReasonSyntax
		return
	}
	info.Table = table
	alias, ok := r.alias()
	if !ok {
		info.Reason = ReasonSyntax
		return
	}
	r.where(info, alias, nil)
}

// update reads UPDATE t SET c = …, … WHERE ….
func (r *reader) update(info *Info) {
	r.pos++
	var ok bool
	if info.Table, ok = r.table(); !ok {
		r.unknown(info, ReasonSyntax)
		return
	}
	if !r.indexed() || !r.accept(kwSet) {
		info.Reason = ReasonSyntax
		return
	}
	var set []string
	for {
		name, ok := r.name()
		if !ok || !r.isOp('=') {
			info.Reason = ReasonSyntax
			return
		}
		set = append(set, name)
		for depth := 0; ; {
			r.pos++
			t := r.peek()
			switch {
			case t.key == kwSelect:
				info.Reason = ReasonSubquery
				return
			case opIs(t, '('):
				depth++
				continue
			case opIs(t, ')'):
				depth--
				continue
			case t.kind == end, depth == 0 && (t.key == kwWhere || t.key == kwFrom || t.key == kwOption || opIs(t, ',')):
			default:
				continue
			}
			break
		}
		if !r.isOp(',') {
			break
		}
		r.pos++
	}
	if r.isKey(kwFrom) {
		info.Reason = ReasonSubquery
		return
	}
	r.where(info, info.Table, set)
}

// delete reads DELETE FROM t WHERE ….
func (r *reader) delete(info *Info) {
	r.pos++
	var ok bool
	if !r.accept(kwFrom) {
		r.unknown(info, ReasonSyntax)
		return
	}
	if info.Table, ok = r.table(); !ok {
		r.unknown(info, ReasonSyntax)
		return
	}
	if !r.indexed() {
		info.Reason = ReasonSyntax
		return
	}
	r.where(info, info.Table, nil)
}

// indexed steps over INDEXED BY name.
func (r *reader) indexed() bool {
	if !r.isKey(kwIndexed) {
		return true
	}
	r.pos++
	if !r.accept(kwBy) {
		return false
	}
	_, ok := r.name()
	return ok
}

// alias reads [[AS] name] [INDEXED BY name] and gives the name by which columns may be qualified.
func (r *reader) alias() (string, bool) {
	alias := ""
	switch t := r.peek(); {
	case r.accept(kwAs):
		name, ok := r.name()
		if !ok {
			return "", false
		}
		alias = name
	case t.kind == quoted, t.kind == word && !t.key.reserved() && t.key != kwIndexed:
		name, ok := r.name()
		if !ok {
			return "", false
		}
		alias = name
	}
	return alias, r.indexed()
}

// where reads WHERE and what follows it. qualifier may stand before a column ("" = the table),
// set are columns that an UPDATE changes: rows move away from their bucket then.
func (r *reader) where(info *Info, qualifier string, set []string) {
	if qualifier == "" {
		qualifier = info.Table
	}
	if !r.accept(kwWhere) {
		info.Reason = ReasonNoWhere
		return
	}
	start, depth, stop := r.pos, 0, -1
	for i := start; stop < 0; i++ {
		t := r.at(i)
		switch {
		case opIs(t, '('):
			if depth++; depth > maxDepth { // each level is walked over again
				info.Reason = ReasonWhere
				return
			}
		case opIs(t, ')'):
			depth--
			if depth < 0 {
				info.Reason = ReasonSyntax
				return
			}
		case t.kind == end:
			stop = i
		case t.key == kwSelect, t.key == kwExists:
			info.Reason = ReasonSubquery
			return
		case t.key == kwOr, t.key == kwNot, t.key == kwBetween, t.key == kwCase:
			// Each of them changes what an AND after it means; NOT also what an equality means.
			info.Reason = ReasonWhere
			return
		case depth == 0 && (t.key == kwGroup || t.key == kwHaving || t.key == kwWindow || t.key == kwOrder ||
			t.key == kwLimit || t.key == kwOption || t.key == kwOffset && r.at(i+1).kind == num):
			stop = i
		}
	}
	r.conjuncts(info, start, stop, qualifier, set)
	if len(info.Keys) == 0 {
		info.Reason = ReasonNoKey
	}
}

// conjuncts splits the tokens of [from, to) at AND and looks at each part.
func (r *reader) conjuncts(info *Info, from, to int, qualifier string, set []string) {
	depth, begin := 0, from
	for i := from; i <= to; i++ {
		if i < to {
			t := r.at(i)
			switch {
			case opIs(t, '('):
				depth++
			case opIs(t, ')'):
				depth--
			}
			if depth != 0 || t.key != kwAnd {
				continue
			}
		}
		r.conjunct(info, begin, i, qualifier, set)
		begin = i + 1
	}
}

// conjunct keeps [from, to) if it is column = parameter, either way round, or parentheses
// around conjuncts.
func (r *reader) conjunct(info *Info, from, to int, qualifier string, set []string) {
	if to-from >= 5 && r.wrapped(from, to) {
		r.conjuncts(info, from+1, to-1, qualifier, set)
		return
	}
	back := r.pos
	defer func() { r.pos = back }()
	r.pos = from
	column, ok := r.column(qualifier)
	var ref Ref
	if ok {
		if !r.isOp('=') {
			return
		}
		r.pos++
		ref, ok = r.ref()
	} else {
		r.pos = from
		if ref, ok = r.ref(); !ok || !r.isOp('=') {
			return
		}
		r.pos++
		column, ok = r.column(qualifier)
	}
	if !ok || r.pos != to || len(info.Keys) == maxKeys || len(set) > maxSet {
		return
	}
	for _, s := range set {
		if s == column {
			return
		}
	}
	for _, k := range info.Keys {
		if k.Column == column { // k = $1 AND k = $2: both must hold, so either one will do
			return
		}
	}
	info.Keys = append(info.Keys, KeyEquality{Column: column, Ref: ref})
}

// wrapped: one pair of parentheses encloses [from, to).
func (r *reader) wrapped(from, to int) bool {
	if !opIs(r.at(from), '(') || !opIs(r.at(to-1), ')') {
		return false
	}
	depth := 0
	for i := from; i < to-1; i++ {
		switch {
		case opIs(r.at(i), '('):
			depth++
		case opIs(r.at(i), ')'):
			depth--
		}
		if depth == 0 {
			return false
		}
	}
	return true
}

// column reads name or qualifier.name.
func (r *reader) column(qualifier string) (string, bool) {
	name, ok := r.name()
	if !ok || !r.isOp('.') {
		return name, ok
	}
	if name != qualifier {
		return "", false
	}
	r.pos++
	return r.name()
}
