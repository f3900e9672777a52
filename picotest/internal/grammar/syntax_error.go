package grammar

// SyntaxError is the server's refusal of a text it cannot read.
type SyntaxError struct {
	// Line and Col are 1-based; Col counts characters, not bytes.
	Line, Col int
	// Offset is the byte offset of that place, at most len(sql).
	Offset int
	// Expected are the grammar rules that would have gone on from there, in the
	// server's order; an approximation, as the list changes with every version.
	Expected []string
	// Message is the whole text that the server puts in ErrorResponse's M.
	Message string
}

// Error gives the message.
func (e *SyntaxError) Error() string { return e.Message }
