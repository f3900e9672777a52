package sqltext

import "strings"

// Reasons of Info. They are part of what Explain says, so they are words.
const (
	ReasonUnterminated = "a string, identifier, block or comment doesn't end"
	ReasonDoubtful     = "Picodata and PostgreSQL read the text differently"
	ReasonSeveral      = "several statements in one text"
	ReasonStart        = "the first word isn't the beginning of a statement"
	ReasonMixedParams  = "$n and ? in one text"
	ReasonSyntax       = "the statement isn't of a form that is read here"
	ReasonNotDML       = "the statement has no sharding key"
	ReasonNoValues     = "INSERT without VALUES"
	ReasonRows         = "INSERT of several rows"
	ReasonNoWhere      = "no WHERE"
	ReasonSubquery     = "a subquery, join or set operation"
	ReasonWhere        = "WHERE is more than equalities joined by AND"
	ReasonNoKey        = "no equality of a column and a parameter"
	ReasonLong         = "the text is too long"
	ReasonParameter    = "a parameter's number is out of range"
)

// maxParam is the highest parameter number of the protocol.
const maxParam = 65535

// reader is a text as tokens, comments left out, and a position in them.
type reader struct {
	s string
	// The tokens, the last of kind end: the first ones lie in the reader itself, which stays
	// on the stack, the others on the heap.
	room     [64]token
	more     []token
	n        int
	pos      int
	question int // number of "?" in the text
	dollar   int // highest $n
}

// at is the i-th token. Only tokens up to the end may be asked for.
func (r *reader) at(i int) token {
	if i < len(r.room) {
		return r.room[i]
	}
	return r.more[i-len(r.room)]
}

func (r *reader) add(t token) {
	if r.n < len(r.room) {
		r.room[r.n] = t
	} else {
		r.more = append(r.more, t)
	}
	r.n++
}

// Analyze reads a text. It never fails: what it doesn't understand has Class Unknown and a
// Reason. It takes well under a microsecond for a short text and allocates only the slices of
// the result, so callers that see a text often keep the Info.
//
// PlainRead is set only for SELECT, VALUES and WITH … SELECT, and EXPLAIN of these, that hold
// no word of a write (INSERT, UPDATE, DELETE, MERGE, TRUNCATE, INTO, FOR UPDATE), call no
// function but those of harmlessFunction, and are one statement. Functions that are volatile but
// harmless (version(), pico_instance_uuid()) are in that list: running them again elsewhere
// gives another answer, never another effect.
//
// A text of more than 1 MiB isn't read: its Class is Unknown, so it is balanced and never run again.
//
// Keys are read from INSERT INTO t [(columns)] VALUES (…) and from the WHERE of a SELECT,
// UPDATE or DELETE of one table, where a value is $n, ?, $n::T or CAST($n AS T).
func Analyze(sql string) Info {
	if len(sql) > maxRead {
		return Info{Reason: ReasonLong, sql: sql}
	}
	r := reader{s: sql}
	if reason := r.scan(); reason != "" {
		return Info{Reason: reason, sql: sql}
	}
	info := Info{Params: r.dollar, sql: sql}
	if r.question > 0 {
		info.Params, info.Question = r.question, true
	}
	r.statement(&info)
	switch {
	case info.Class == Unknown:
		// Nothing that was half understood may be used.
		return Info{Reason: info.Reason, Params: info.Params, Question: info.Question, sql: sql}
	case info.Reason == ReasonSyntax:
		// The class was told by the first words, and whether a read is plain by all of them; what stands where
		// wasn't read to the end.
		info.Table, info.Columns, info.Values, info.Rows, info.Keys = "", nil, nil, 0, nil
	}
	return info
}

// scan makes the tokens. Semicolons at the end are left out.
func (r *reader) scan() (reason string) {
	l := lexer{s: r.s}
	semicolon := false
	for {
		t := l.next()
		switch t.kind {
		case bad:
			return ReasonUnterminated
		case end:
			if l.doubtful {
				return ReasonDoubtful
			}
			if r.question > 0 && r.dollar > 0 {
				return ReasonMixedParams
			}
			r.add(t)
			return ""
		case op:
			if t.first == ';' {
				semicolon = true
				continue
			}
		case question:
			if r.question == maxParam {
				return ReasonParameter
			}
			t.index = uint16(r.question)
			r.question++
		case param:
			n := 0
			for _, c := range []byte(r.s[t.start+1 : t.end]) {
				n = n*10 + int(c-'0')
				if n > maxParam {
					return ReasonParameter
				}
			}
			if n == 0 {
				return ReasonParameter
			}
			t.index = uint16(n - 1)
			r.dollar = max(r.dollar, n)
		}
		if semicolon {
			return ReasonSeveral
		}
		r.add(t)
	}
}

// statement reads the whole text and fills the Info.
func (r *reader) statement(info *Info) {
	t := r.peek()
	if t.kind == end {
		info.Class, info.Reason = Empty, ReasonNotDML
		return
	}
	if t.kind != word {
		info.Reason = ReasonStart
		return
	}
	switch t.key {
	case kwSelect, kwValues, kwWith:
		r.read(info)
	case kwExplain:
		r.explain(info)
	case kwInsert:
		info.Class = Insert
		r.insert(info)
	case kwUpdate:
		info.Class = Update
		r.update(info)
	case kwDelete:
		info.Class = Delete
		r.delete(info)
	case kwCreate, kwDrop, kwAlter, kwTruncate, kwBackup, kwGrant, kwRevoke, kwAudit:
		info.Class, info.Reason = DDL, ReasonNotDML
	case kwDo:
		info.Class, info.Reason = Block, ReasonNotDML
		r.blockParams(info)
	case kwBegin, kwCommit, kwEnd, kwRollback:
		info.Class, info.Reason = Tx, ReasonNotDML
	case kwCall, kwSet, kwDeallocate:
		info.Class, info.Reason = Other, ReasonNotDML
	default:
		info.Reason = ReasonStart
		return
	}
}

// read is a SELECT, VALUES or WITH … SELECT.
func (r *reader) read(info *Info) {
	first := r.peek().key
	switch r.effects() {
	case readsOnly:
		info.Class, info.PlainRead = Read, true
	case callsUnknown:
		info.Class = Read
	default:
		info.Reason = "a read with words of a write in it"
		return
	}
	if first != kwSelect {
		info.Reason = ReasonSubquery
		return
	}
	r.selectKeys(info)
}

// explain is EXPLAIN [(facet, …)] statement. Picodata's never runs the statement;
// PostgreSQL's does with ANALYZE, which is left unknown.
func (r *reader) explain(info *Info) {
	r.pos++
	if r.isOp('(') {
		for r.pos++; !r.isOp(')'); r.pos++ {
			t := r.peek()
			if t.kind != word && !r.isOp(',') || t.key == kwAnalyze {
				info.Reason = ReasonSyntax
				return
			}
		}
		r.pos++
	}
	info.Reason = ReasonNotDML
	switch r.peek().key {
	case kwSelect, kwValues, kwWith:
		switch r.effects() {
		case readsOnly:
			info.Class, info.PlainRead = Read, true
		case callsUnknown:
			info.Class = Read
		default:
			info.Class = Other
		}
	case kwInsert, kwUpdate, kwDelete, kwDo:
		info.Class = Other
	default:
		info.Reason = ReasonSyntax
	}
}

// blockParams counts the parameters within the text of a block.
func (r *reader) blockParams(info *Info) {
	for i := r.pos; r.at(i).kind != end; i++ {
		t := r.at(i)
		if t.kind != block {
			continue
		}
		inner := r.text(t)
		tag := strings.IndexByte(inner[1:], '$') + 2
		// Renumber takes one statement; which of them a parameter stands in makes no difference.
		_, params, ok := Renumber(strings.ReplaceAll(inner[tag:len(inner)-tag], ";", " "), 0)
		info.Params = max(info.Params, params)
		if !ok {
			info.Params = -1
			return
		}
	}
}

func (r *reader) peek() token         { return r.at(r.pos) }
func (r *reader) text(t token) string { return r.s[t.start:t.end] }
func (r *reader) isOp(c byte) bool    { return opIs(r.at(r.pos), c) }
func (r *reader) isKey(k keyword) bool {
	return r.at(r.pos).key == k
}

// opIs: the token is the one-byte operator c.
func opIs(t token, c byte) bool { return t.kind == op && t.first == c && t.end == t.start+1 }

// accept steps over a keyword if it is next.
func (r *reader) accept(k keyword) bool {
	if r.at(r.pos).key == k {
		r.pos++
		return true
	}
	return false
}

// name reads an identifier as the server knows it: unquoted ones folded, quotes taken off.
func (r *reader) name() (string, bool) {
	t := r.peek()
	switch {
	case t.kind == quoted:
		r.pos++
		s := r.s[t.start+1 : t.end-1]
		if strings.IndexByte(s, '"') >= 0 {
			s = strings.ReplaceAll(s, `""`, `"`)
		}
		return s, true
	case t.kind == word && !t.key.reserved() && t.key != kwTrue && t.key != kwFalse && t.key != kwNull:
		r.pos++
		return strings.ToLower(r.text(t)), true
	}
	return "", false
}

// table reads [public.]name.
func (r *reader) table() (string, bool) {
	name, ok := r.name()
	if !ok {
		return "", false
	}
	if r.isOp('.') {
		if name != "public" {
			return "", false
		}
		r.pos++
		return r.name()
	}
	return name, true
}
