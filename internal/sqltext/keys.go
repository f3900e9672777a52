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
	var (
		all   []Ref
		rows  int
		width = len(info.Columns)
		whole = true // all has every value, and the rows are of one width
	)
	for first := true; first || r.isOp(','); first = false {
		if !first {
			r.pos++
		}
		before := len(all)
		if all, rows = r.row(info, all), rows+1; all == nil {
			info.Columns, info.Reason = nil, ReasonSyntax
			return
		}
		if width == 0 {
			width = len(all)
		}
		whole = whole && len(all)-before == width
		if rows > 1 && len(all) > maxRowValues {
			all, whole = all[:0], false // the rows are counted all the same
		}
	}
	if t := r.peek(); t.kind != end && t.key != kwOn && t.key != kwOption {
		info.Columns, info.Reason = nil, ReasonSyntax
		return
	}
	switch {
	case rows > 1:
		info.Rows, info.Reason = rows, ReasonRows
		if whole {
			info.RowValues = all
		}
	case !whole:
		info.Reason = ReasonSyntax
	default:
		info.Rows, info.Values = rows, all
	}
}

// maxRowValues bounds what is kept of an INSERT of several rows.
const maxRowValues = 1 << 14

// row reads one row of VALUES and appends its values to all; nil: it can't be read.
func (r *reader) row(info *Info, all []Ref) []Ref {
	if !r.isOp('(') {
		return nil
	}
	for first := true; first || r.isOp(','); first = false {
		r.pos++
		ref, ok := r.value()
		if !ok {
			return nil
		}
		if all == nil {
			all = make([]Ref, 0, max(len(info.Columns), min(info.Params, maxRowValues)))
		}
		all = append(all, ref)
	}
	if !r.isOp(')') {
		return nil
	}
	r.pos++
	return all
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
