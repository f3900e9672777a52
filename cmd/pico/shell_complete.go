package main

import (
	"context"
	"slices"
	"strings"
	"time"
)

// lookWait bounds what the shell asks of its own accord.
const lookWait = 2 * time.Second

// keywords are what Tab completes beside names: the statements that Picodata has.
var keywords = strings.Fields(`ALTER AND AS ASC BETWEEN BY CASE CAST CONFLICT COUNT CREATE DELETE DESC DISTINCT DISTRIBUTED DO DROP ELSE END EXISTS
EXPLAIN FROM GLOBALLY GRANT GROUP HAVING IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NOTHING NULL ON OPTION OR ORDER PRIMARY READ REPLACE
REVOKE SELECT SET TABLE THEN TIER TO TRUNCATE UNION UNIQUE UPDATE USER USING VALUES WHEN WHERE WITH WRITE`)

// metaNames are the backslash commands.
var metaNames = []string{`\?`, `\d`, `\di`, `\format`, `\i`, `\q`, `\route`, `\timing`, `\topology`}

// vocabulary is what Tab completes. Names of tables and columns come from _pico_table, once, and again after DDL.
type vocabulary struct {
	read  func(ctx context.Context) []string
	names []string
	known bool
}

func newVocabulary(c *client) *vocabulary {
	return &vocabulary{read: func(ctx context.Context) []string {
		ctx, cancel := context.WithTimeout(ctx, lookWait)
		defer cancel()
		tables, err := readTables(ctx, c, "")
		if err != nil {
			return nil // without the right to read them there are keywords alone
		}
		var names []string
		for _, t := range tables {
			names = append(names, t.name)
			for _, c := range t.columns {
				names = append(names, c.Name)
			}
		}
		return names
	}}
}

// forget has the names read again at the next Tab.
func (v *vocabulary) forget() { v.known = false }

// complete is liner's word completer: what stands before the word, the words that it may become, what stands behind it.
func (v *vocabulary) complete(ctx context.Context, line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	pos = min(pos, len(runes))
	from := pos
	for from > 0 && !strings.ContainsRune(" \t\n(),;=<>+*/.", runes[from-1]) {
		from--
	}
	head, part, tail := string(runes[:from]), string(runes[from:pos]), string(runes[pos:])
	if strings.HasPrefix(part, `\`) {
		return head, withPrefix(metaNames, part), tail
	}
	if !v.known {
		v.names, v.known = v.read(ctx), true
	}
	words = withPrefix(v.names, part)
	if part != "" {
		for _, k := range withPrefix(keywords, strings.ToUpper(part)) {
			if part == strings.ToLower(part) {
				k = strings.ToLower(k) // as the user writes
			}
			words = append(words, k)
		}
	}
	if len(words) == 1 && tail == "" {
		words[0] += " " // the next word may follow, as in psql
	}
	return head, words, tail
}

func withPrefix(list []string, prefix string) []string {
	var found []string
	for _, w := range list {
		if strings.HasPrefix(w, prefix) && !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	slices.Sort(found)
	return found
}
