package sqltext

import (
	"strings"
)

// effects is what a read may do beside reading.
type effects uint8

const (
	readsOnly    effects = iota
	callsUnknown         // a function that isn't known to be free of effects
	mayWrite             // a word that may write, lock or create
)

// effects looks at every token from here to the end.
func (r *reader) effects() effects {
	v := readsOnly
	for i := r.pos; r.at(i).kind != end; i++ {
		t := r.at(i)
		switch t.kind {
		case block:
			return mayWrite
		case word:
		case quoted:
			// "f"(…) is a call too, unless it is a CTE or a window: those have AS.
			if opIs(r.at(i+1), '(') && !r.columnList(i) {
				v = callsUnknown
			}
			continue
		default:
			continue
		}
		switch t.key {
		case kwInsert, kwUpdate, kwDelete, kwMerge, kwTruncate, kwInto, kwCall, kwDo, kwReturning:
			return mayWrite
		case kwFor:
			if locks(r.at(i+1), r.s) {
				return mayWrite
			}
		}
		if opIs(r.at(i+1), '(') && !t.key.beforeParenthesis() &&
			(!harmlessFunction(r.text(t)) || i > 0 && opIs(r.at(i-1), '.')) && !r.columnList(i) && !r.castType(i) {
			v = callsUnknown
		}
	}
	return v
}

// beforeParenthesis: the keyword may stand before a parenthesis without being a function.
func (k keyword) beforeParenthesis() bool {
	switch k {
	case kwLeft:
		return false
	case kwLike, kwIlike, kwEscape, kwRow, kwCurrentTime, kwCurrentTimestamp, kwLocalTime, kwLocalTimestamp:
		return true
	}
	return k.reserved()
}

// locks: the word after FOR belongs to PostgreSQL's row locks and not to SUBSTRING.
func locks(t token, s string) bool {
	if t.key == kwUpdate {
		return true
	}
	w := s[t.start:t.end]
	return t.kind == word && (strings.EqualFold(w, "share") || strings.EqualFold(w, "no") || strings.EqualFold(w, "key"))
}

// columnList: the word at i is the name of a CTE with columns, as in WITH c (a, b) AS (SELECT …). A call in FROM
// may look the same up to the query: FROM t, f(a) AS (b).
func (r *reader) columnList(i int) bool {
	if i == 0 || r.at(i-1).key != kwWith && !opIs(r.at(i-1), ',') {
		return false
	}
	for i += 2; ; i += 2 {
		if k := r.at(i).kind; k != word && k != quoted {
			return false
		}
		if opIs(r.at(i+1), ')') {
			if r.at(i+2).key != kwAs || !opIs(r.at(i+3), '(') {
				return false
			}
			switch r.at(i + 4).key {
			case kwSelect, kwValues, kwWith:
				return true
			}
			return false
		}
		if !opIs(r.at(i+1), ',') {
			return false
		}
	}
}

// castType: the word at i is a type with precision, as in x::decimal(10, 2).
func (r *reader) castType(i int) bool {
	if i == 0 {
		return false
	}
	p := r.at(i - 1)
	return (p.kind == op && p.first == ':' || p.key == kwAs) && precisionType(r.text(r.at(i)))
}

func precisionType(name string) bool {
	for _, t := range [...]string{"decimal", "numeric", "number", "varchar"} {
		if strings.EqualFold(name, t) {
			return true
		}
	}
	return false
}

// longestFunction is the length of "pico_instance_health_status".
const longestFunction = 27

// harmlessFunction: calling the function, even twice, changes nothing, on any version that has it. These are
// Picodata's functions of 25.2 to 26.2 (docs.picodata.io, "SQL functions") and the aggregates and scalars that every SQL
// database has under these names. Whatever else a SELECT calls may write: a procedure of a plugin, or PostgreSQL's nextval.
func harmlessFunction(name string) bool {
	if len(name) > longestFunction {
		return false
	}
	var buf [longestFunction]byte
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		buf[i] = c
	}
	switch string(buf[:len(name)]) { // doesn't allocate
	case "count", "sum", "avg", "min", "max", "total", "group_concat", "string_agg",
		"row_number", "rank", "dense_rank", "first_value", "last_value", "lag", "lead", "ntile",
		"abs", "coalesce", "concat", "instr", "json_extract_path", "left", "length", "lower", "nullif",
		"round", "substr", "to_char", "to_date", "to_timestamp", "trim", "upper", "version",
		"instance_uuid", "pico_instance_uuid", "pico_raft_leader_id", "pico_raft_leader_uuid",
		"pico_instance_name", "pico_replicaset_name", "pico_tier_name", "pico_instance_dir",
		"pico_config_file_path", "pico_instance_health_status", "_pico_bucket":
		return true
	}
	return false
}

// Replaces reports whether an INSERT may take the place of rows that are there: whether REPLACE is one of its words. A
// text that isn't read to its end may.
func Replaces(sql string) bool {
	if len(sql) > maxText {
		return true
	}
	l := lexer{s: sql}
	for {
		switch t := l.next(); t.kind {
		case end:
			return false
		case bad, block:
			return true
		case word:
			if strings.EqualFold(sql[t.start:t.end], "replace") {
				return true
			}
		}
	}
}
