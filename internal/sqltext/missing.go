package sqltext

import "strings"

// lack is what other databases have and Picodata hasn't: words that follow each other, and what to write instead.
type lack struct {
	words string // lower case; the first one may be "^", the text's beginning
	help  string
}

var lacks = [...]lack{
	{"^ listen", "Picodata has no LISTEN and NOTIFY; ask again at intervals"},
	{"^ notify", "Picodata has no LISTEN and NOTIFY; ask again at intervals"},
	{"^ unlisten", "Picodata has no LISTEN and NOTIFY; ask again at intervals"},
	{"^ copy", "Picodata has no COPY; use INSERT with several rows"},
	{"^ merge", "Picodata has no MERGE; use INSERT … ON CONFLICT DO REPLACE, or a block"},
	{"^ replace", "Picodata has no REPLACE; use INSERT … ON CONFLICT DO REPLACE"},
	{"insert or", "Picodata has no INSERT OR …; use INSERT … ON CONFLICT DO REPLACE or DO NOTHING"},
	{"^ savepoint", "Picodata has no transactions over several statements, and so no savepoints; use picodata.Block"},
	{"^ with recursive", "Picodata has no WITH RECURSIVE; walk in the program, level by level"},
	{"^ create temp", "Picodata has no temporary tables"},
	{"^ create temporary", "Picodata has no temporary tables"},
	{"returning", "Picodata has no RETURNING; make keys in the program, and SELECT what else is needed"},
	{"offset", "Picodata has no OFFSET; page by the key: WHERE id > $1 ORDER BY id LIMIT 10"},
	{"fetch first", "Picodata has no FETCH FIRST; write LIMIT 10"},
	{"fetch next", "Picodata has no FETCH NEXT; write LIMIT 10"},
	{"distinct on", "Picodata has no DISTINCT ON; use DISTINCT, or GROUP BY with an aggregate"},
	{"for update", noRowLocks},
	{"for share", noRowLocks},
	{"for no key", noRowLocks},
	{"for key share", noRowLocks},
	{"cross join", otherJoins},
	{"right join", otherJoins},
	{"right outer", otherJoins},
	{"full join", otherJoins},
	{"full outer", otherJoins},
	{"natural", otherJoins},
	{"lateral", "Picodata has no LATERAL; join with a subquery that stands by itself"},
	{"union (", partsInParentheses},
	{"union all (", partsInParentheses},
	{"except (", partsInParentheses},
	{"intersect", "Picodata has no INTERSECT; use IN (SELECT …)"},
	{"except all", "Picodata has no EXCEPT ALL; EXCEPT leaves out what is there twice"},
	{"grouping sets", "Picodata groups by expressions only; ask once for each grouping"},
	{"rollup", "Picodata groups by expressions only; ask once for each grouping"},
	{"cube", "Picodata groups by expressions only; ask once for each grouping"},
	{"do update", "Picodata has DO UPDATE from 26.2 on, inside blocks only; DO NOTHING and DO REPLACE everywhere"},
	{"on conflict (", "Picodata takes no columns after ON CONFLICT; write ON CONFLICT DO NOTHING or DO REPLACE"},
	{"foreign key", "Picodata has no foreign keys"},
	{"references", "Picodata has no foreign keys"},
	{"default values", "Picodata has no DEFAULT VALUES; give the values"},
	{"= any", "Picodata has no = ANY; use picodata.In, or IN ($1, $2)"},
}

const (
	partsInParentheses = "Picodata reads no parentheses around the parts of a UNION or EXCEPT; leave them out"

	noRowLocks = "Picodata has no row locks (FOR UPDATE); compute in the UPDATE itself, or use picodata.Block"
	otherJoins = "Picodata joins with JOIN … ON and LEFT JOIN … ON; write RIGHT and FULL ones the other way round, CROSS ones as JOIN … ON true"
)

// Missing says in a sentence what of a text that a server didn't understand isn't in Picodata's grammar though other
// databases have it, and what to write instead; "" if nothing of that is in it. Ask it only about texts that a server has
// refused: versions to come may know more.
func Missing(sql string) string {
	if len(sql) > maxText {
		return ""
	}
	l := lexer{s: sql}
	var last [3]string // the tokens before, the nearest last
	last[2] = "^"
	var limit, change, cte bool
	depth := 0
	for {
		t := l.next()
		text := ""
		switch t.kind {
		case end, bad:
			return ""
		case word, op:
			text = strings.ToLower(sql[t.start:t.end])
		case param, question:
			if limit {
				return "Picodata takes no parameter in LIMIT; write the number into the text"
			}
		}
		last[0], last[1], last[2] = last[1], last[2], text
		if last[1] == "^" {
			change, cte = t.key == kwUpdate || t.key == kwDelete, t.key == kwWith
		}
		switch {
		case opIs(t, '('):
			depth++
		case opIs(t, ')'):
			depth--
		case cte && depth == 0 && (t.key == kwInsert || t.key == kwUpdate || t.key == kwDelete):
			return "Picodata has no WITH in front of INSERT, UPDATE and DELETE; write the subquery where it is used"
		}
		if change && (t.key == kwLimit || t.key == kwOrder) {
			return "Picodata has no ORDER BY and LIMIT in UPDATE and DELETE; select the keys first, and change the rows by them"
		}
		if text != "" {
			if help := lacking(&last); help != "" {
				return help
			}
		}
		limit = t.key == kwLimit
	}
}

// lacking finds the lack whose words are the last ones.
func lacking(last *[3]string) string {
	for i := range lacks {
		words, at := lacks[i].words, len(last)
		for {
			before, w, more := cutLast(words)
			at--
			if at < 0 || last[at] != w {
				break
			}
			if !more {
				return lacks[i].help
			}
			words = before
		}
	}
	return ""
}

// cutLast takes the last word off. more: there are others.
func cutLast(words string) (before, last string, more bool) {
	if i := strings.LastIndexByte(words, ' '); i >= 0 {
		return words[:i], words[i+1:], true
	}
	return "", words, false
}
