package sqltext

import "strings"

// insert reads INSERT INTO t [(columns)] VALUES (…)[, (…)] [ON CONFLICT …].
func (r *reader) insert(info *Info) {
	r.pos++
	var ok bool
	if !r.accept(kwInto) {
		r.unknown(info, ReasonSyntax)
		return
	}
	if info.Table, ok = r.table(); !ok {
		r.unknown(info, ReasonSyntax)
		return
	}
	if r.isOp('(') {
		for first := true; first || r.isOp(','); first = false {
			r.pos++
			name, ok := r.name()
			if !ok {
				// "(SELECT …" or something unknown: still an INSERT, without keys.
				info.Columns, info.Reason = nil, ReasonNoValues
				return
			}
			info.Columns = append(info.Columns, name)
		}
		if !r.isOp(')') {
			info.Reason = ReasonSyntax
			return
		}
		r.pos++
	}
	if !r.accept(kwValues) {
		info.Columns, info.Reason = nil, ReasonNoValues
		return
	}
	for first := true; first || r.isOp(','); first = false {
		if !first {
			r.pos++
		}
		if !r.row(info) {
			info.Reason = ReasonSyntax
			return
		}
		info.Rows++
	}
	switch t := r.peek(); {
	case t.kind != end && t.key != kwOn && t.key != kwOption:
		info.Reason = ReasonSyntax
	case info.Rows > 1:
		info.Values, info.Reason = nil, ReasonRows
	case len(info.Columns) > 0 && len(info.Columns) != len(info.Values):
		info.Reason = ReasonSyntax
	}
}

// row reads one row of VALUES. Only the first row's values are kept.
func (r *reader) row(info *Info) bool {
	if !r.isOp('(') {
		return false
	}
	for first := true; first || r.isOp(','); first = false {
		r.pos++
		ref, ok := r.value()
		if !ok {
			return false
		}
		if info.Rows == 0 {
			if info.Values == nil {
				info.Values = make([]Ref, 0, max(len(info.Columns), info.Params))
			}
			info.Values = append(info.Values, ref)
		}
	}
	if !r.isOp(')') {
		return false
	}
	r.pos++
	return true
}

// value reads one value up to a comma or parenthesis: a parameter with or without a cast, or
// any other expression, which is stepped over.
func (r *reader) value() (Ref, bool) {
	start := r.pos
	if ref, ok := r.ref(); ok && (r.isOp(',') || r.isOp(')')) {
		return ref, true
	}
	r.pos = start
	for depth := 0; ; r.pos++ {
		t := r.peek()
		switch {
		case t.kind == end, t.key == kwSelect:
			return Ref{}, false
		case opIs(t, '('), opIs(t, '['):
			depth++
		case depth > 0 && (opIs(t, ')') || opIs(t, ']')):
			depth--
		case depth == 0 && (opIs(t, ',') || opIs(t, ')')):
			return Ref{Param: -1}, r.pos > start
		}
	}
}

// ref reads $n, ?, $n::T or CAST($n AS T). If it is none, the position is where it began or later.
func (r *reader) ref() (Ref, bool) {
	if r.isKey(kwCast) {
		r.pos++
		if !r.isOp('(') {
			return Ref{}, false
		}
		r.pos++
		n, ok := r.parameter()
		if !ok || !r.accept(kwAs) {
			return Ref{}, false
		}
		cast, ok := r.typeName()
		if !ok || !r.isOp(')') {
			return Ref{}, false
		}
		r.pos++
		return Ref{Param: n, Cast: cast}, true
	}
	n, ok := r.parameter()
	if !ok {
		return Ref{}, false
	}
	ref := Ref{Param: n}
	if t := r.peek(); t.kind == op && t.first == ':' && t.end == t.start+2 {
		r.pos++
		if ref.Cast, ok = r.typeName(); !ok {
			return Ref{}, false
		}
	}
	return ref, true
}

// parameter reads $n or ? and gives its index counted from 0.
func (r *reader) parameter() (int, bool) {
	t := r.peek()
	if t.kind != param && t.kind != question {
		return 0, false
	}
	r.pos++
	return int(t.index), true
}

// typeName reads a type with or without precision. Arrays aren't read: they can't be keys.
func (r *reader) typeName() (string, bool) {
	t := r.peek()
	if t.kind != word {
		return "", false
	}
	name := strings.ToLower(r.text(t))
	r.pos++
	if r.isOp('(') {
		for r.pos++; !r.isOp(')'); r.pos++ {
			if k := r.peek(); k.kind != num && !opIs(k, ',') {
				return "", false
			}
		}
		r.pos++
	}
	return name, !r.isOp('[') && !r.isKey(kwArray)
}

func (r *reader) unknown(info *Info, reason string) {
	info.Class, info.Reason = Unknown, reason
}
