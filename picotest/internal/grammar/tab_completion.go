package grammar

import (
	"regexp"
	"strings"
)

var (
	fromPgClass = regexp.MustCompile(`(?i)\bfrom\s+pg_catalog\.pg_class\b`)
	unionAll    = regexp.MustCompile(`(?i)\bunion\s+all\b`)
	relnameLike = regexp.MustCompile(`(?i)\(\s*c\.relname\s*\)\s+like\s+'((?:[^']|'')*)'`)
)

// TabCompletion recognises the query that psql sends to complete a table's name.
// The server can't read it as SQL; it knows it by its shape (a UNION ALL that
// reads pg_catalog.pg_class and compares (c.relname) with a pattern) and answers
// with the tables whose name begins with prefix, ordered by name, in the columns
// relname and text, the second of which is null.
func TabCompletion(sql string) (prefix string, ok bool) {
	if !fromPgClass.MatchString(sql) || !unionAll.MatchString(sql) {
		return "", false
	}
	m := relnameLike.FindStringSubmatch(sql)
	if m == nil {
		return "", false
	}
	// psql escapes twice: a backslash before each underscore, and that doubled.
	pattern := strings.ReplaceAll(strings.ReplaceAll(m[1], "''", "'"), `\\_`, "_")
	return strings.CutSuffix(pattern, "%")
}
