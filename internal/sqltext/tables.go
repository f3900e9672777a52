package sqltext

// Tables are the names that stand where a table may: after FROM, JOIN, INTO and UPDATE, and after a comma of a FROM;
// folded, without "public.". Names of common table expressions are among them: only whoever knows the tables can tell.
// nil for a text that isn't read.
func Tables(sql string) []string {
	if len(sql) > maxRead {
		return nil
	}
	r := reader{s: sql}
	if r.scan() != "" {
		return nil
	}
	var names []string
	from := []bool{false} // by parentheses: a comma here separates tables
	for r.pos = 0; r.peek().kind != end; {
		t := r.peek()
		r.pos++
		listed := false
		switch {
		case opIs(t, '('):
			from = append(from, from[len(from)-1] && r.pos > 1 && opensFrom(r.at(r.pos-2)))
			listed = from[len(from)-1] // FROM (a JOIN b …)
		case opIs(t, ')'):
			if len(from) > 1 {
				from = from[:len(from)-1]
			}
		case opIs(t, ','):
			listed = from[len(from)-1]
		case t.key == kwFrom:
			from[len(from)-1], listed = true, true
		case t.key == kwJoin, t.key == kwInto, t.key == kwUpdate:
			listed = true
		case t.key == kwSelect, t.key == kwWhere, t.key == kwGroup, t.key == kwHaving, t.key == kwWindow, t.key == kwOrder, t.key == kwLimit, t.key == kwSet:
			from[len(from)-1] = false
		}
		if !listed {
			continue
		}
		at := r.pos
		if name, ok := r.table(); ok {
			names = append(names, name)
		} else {
			r.pos = at
		}
	}
	return names
}

// opensFrom: a parenthesis after the token holds tables rather than values.
func opensFrom(t token) bool {
	return t.key == kwFrom || t.key == kwJoin || opIs(t, ',') || opIs(t, '(')
}
