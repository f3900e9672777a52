package metadata

import (
	"fmt"
	"strings"
)

// NodeError is what became of one node.
type NodeError struct {
	Node string // address
	Err  error
}

// Error names the node.
func (e *NodeError) Error() string { return fmt.Sprintf("picodata: node %s: %v", e.Node, bare{e.Err}) }

// Unwrap is the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// attempts are the errors of several tries, one after another on one line: errors.Join would
// break the log's lines.
type attempts []error

func (a attempts) Error() string {
	texts := make([]string, len(a))
	for i, err := range a {
		texts[i] = bare{err}.Error()
	}
	return "picodata: " + strings.Join(texts, "; ")
}

func (a attempts) Unwrap() []error { return a }

// bare is an error inside a text that says already whose it is.
type bare struct{ err error }

func (b bare) Error() string { return strings.TrimPrefix(b.err.Error(), "picodata: ") }
func (b bare) Unwrap() error { return b.err }
