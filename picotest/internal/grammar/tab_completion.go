package grammar

import (
	"regexp"
	"strings"
)

// TabCompletion recognises the query that psql sends to complete a table's name.
// The server can't read it as SQL; it knows it by its shape (a UNION ALL that
// reads pg_catalog.pg_class and compares (c.relname) with a pattern) and answers
// with the tables whose name begins with prefix, ordered by name, in the columns
// relname and text, the second of which is null.
func TabCompletion(sql string) (prefix string, ok bool) {
	lower := strings.ToLower(sql)
	if !strings.Contains(lower, "pg_catalog.pg_class") || !strings.Contains(lower, "union") {
		return "", false
	}
	// Compiled on use: a text comes this far when somebody presses tab in psql.
	shape := regexp.MustCompile(`(?s)\bfrom\s+pg_catalog\.pg_class\b.*\bunion\s+all\b`)
	like := regexp.MustCompile(`(?i)\(\s*c\.relname\s*\)\s+like\s+'((?:[^']|'')*)'`)
	m := like.FindStringSubmatch(sql)
	if m == nil || !shape.MatchString(lower) {
		return "", false
	}
	// psql escapes twice: a backslash before each underscore, and that doubled.
	pattern := strings.ReplaceAll(strings.ReplaceAll(m[1], "''", "'"), `\\_`, "_")
	return strings.CutSuffix(pattern, "%")
}
