package sqltext

import "strings"

// Projected is one item of a SELECT's list.
type Projected struct {
	Column string // the table's column that stands there by itself; "*" for all; "" for anything else
	Name   string // what the result calls it; "" where the server decides
}

// Projection gives the list of a SELECT from one table, and ok only if that is beyond doubt: no join, no set operation, no subquery
// in FROM.
func Projection(sql string) (table string, list []Projected, ok bool) {
	if len(sql) > maxText {
		return "", nil, false
	}
	r := reader{s: sql}
	var tokens []token
	l := lexer{s: sql}
	for {
		t := l.next()
		if t.kind == bad || l.doubtful || t.kind == op && t.first == ';' && strings.TrimLeft(sql[t.end:], "; \t\r\n") != "" {
			return "", nil, false
		}
		if t.kind == end || opIs(t, ';') {
			break
		}
		tokens = append(tokens, t)
	}
	at := func(i int) token {
		if i < len(tokens) {
			return tokens[i]
		}
		return token{kind: end}
	}
	name := func(i int) (string, bool) {
		t := at(i)
		switch {
		case t.kind == quoted:
			return strings.ReplaceAll(sql[t.start+1:t.end-1], `""`, `"`), true
		case t.kind == word && !t.key.reserved() && t.key != kwTrue && t.key != kwFalse && t.key != kwNull:
			return strings.ToLower(r.text(t)), true
		}
		return "", false
	}
	if at(0).key != kwSelect {
		return "", nil, false
	}
	i := 1
	if k := at(i).key; k == kwDistinct || k == kwAll {
		i++
	}
	var qualifiers []string
	for {
		p, next := Projected{}, i
		if opIs(at(i), '*') {
			p.Column, next = "*", i+1
		} else if n, isName := name(i); isName {
			p.Column, next = n, i+1
			if opIs(at(i+1), '.') {
				qualifiers = append(qualifiers, n)
				if opIs(at(i+2), '*') {
					p.Column, next = "*", i+3
				} else if n, isName = name(i + 2); isName {
					p.Column, next = n, i+3
				}
			}
			if p.Column != "*" {
				p.Name = p.Column
			}
			if at(next).key == kwAs {
				next++
			}
			if alias, isName := name(next); isName && p.Column != "*" {
				p.Name, next = alias, next+1
			}
		}
		if p.Column == "" || at(next).key != kwFrom && !opIs(at(next), ',') {
			p = Projected{}
			for depth := 0; at(next).kind != end && (depth > 0 || at(next).key != kwFrom && !opIs(at(next), ',')); next++ {
				switch {
				case opIs(at(next), '('):
					depth++
				case opIs(at(next), ')'):
					depth--
				}
			}
		}
		list = append(list, p)
		if i = next; opIs(at(i), ',') {
			i++
			continue
		}
		break
	}
	if at(i).key != kwFrom {
		return "", nil, false
	}
	i++
	if table, ok = name(i); !ok {
		return "", nil, false
	}
	if i++; opIs(at(i), '.') {
		if table != "public" {
			return "", nil, false
		}
		if table, ok = name(i + 1); !ok {
			return "", nil, false
		}
		i += 2
	}
	alias := table
	if at(i).key == kwAs {
		i++
	}
	if n, isName := name(i); isName {
		alias, i = n, i+1
	}
	switch t := at(i); {
	case t.kind == end, t.key == kwWhere, t.key == kwGroup, t.key == kwOrder, t.key == kwLimit, t.key == kwOption, t.key == kwHaving:
	default:
		return "", nil, false
	}
	for _, q := range qualifiers {
		if q != alias {
			return "", nil, false
		}
	}
	for _, t := range tokens[i:] {
		switch t.key {
		case kwUnion, kwExcept, kwIntersect, kwJoin:
			return "", nil, false
		}
	}
	return table, list, true
}
