package grammar

// Parse reads one statement as a server of version v does.
func Parse(v Version, sql string) (Statement, *SyntaxError) {
	panic("grammar: parser not here yet")
}
