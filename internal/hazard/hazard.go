// Package hazard knows what a Picodata server takes and spoils: values and texts that it stores as something else, that
// stop its replication, or that keep it busy for minutes. It says which are refused, and how a text is sent so that
// the server gets it right. It is pure; each finding names the setting that switches it off.
//
// What it knows was seen on servers of 26.2; docs/failure.md lists it for users.
package hazard

// Kind is what would go wrong.
type Kind string

// Kinds.
const (
	Float Kind = "float" // a number that the server's storage would change
	UUID  Kind = "uuid"  // a UUID that the server stores and can't read again
	Text  Kind = "text"  // a statement that takes the server exponential time, or crashes it
)

// Error refuses what the server would take and spoil. Nothing of it was sent.
type Error struct {
	Kind    Kind
	Ordinal int    // of the argument, from 1; 0: the text
	Why     string // what would happen; it shows no value
	Setting string // what to set to send it all the same
}

// Error says what would happen.
func (e *Error) Error() string { return e.Why }
