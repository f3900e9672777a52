package sqltext

import "strings"

// Missing says in a sentence what of a text that a server didn't understand isn't in Picodata's grammar though other
// databases have it, and what to write instead; "" if nothing of that is in it. Ask it only about texts that a server has
// refused: versions to come may know more.
func Missing(sql string) string {
	if len(sql) > maxText {
		return ""
	}
	l := lexer{s: sql}
	var last token
	word1 := true
	for {
		t := l.next()
		switch t.kind {
		case end, bad:
			return ""
		case word:
			text := sql[t.start:t.end]
			switch {
			case word1 && (strings.EqualFold(text, "listen") || strings.EqualFold(text, "notify") || strings.EqualFold(text, "unlisten")):
				return "Picodata has no LISTEN and NOTIFY; ask again at intervals"
			case word1 && strings.EqualFold(text, "copy"):
				return "Picodata has no COPY; use INSERT with several rows"
			case t.key == kwReturning:
				return "Picodata has no RETURNING; make keys in the program, and SELECT what else is needed"
			case t.key == kwOffset:
				return "Picodata has no OFFSET; page by the key: WHERE id > $1 ORDER BY id LIMIT 10"
			}
		case param, question:
			if last.key == kwLimit {
				return "Picodata takes no parameter in LIMIT; write the number into the text"
			}
		}
		word1, last = false, t
	}
}
