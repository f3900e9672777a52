package wire

import "strings"

const (
	// A row's text keeps its block alive, and with it what its neighbours were: blocks are
	// small, and a longer text has memory of its own.
	arenaFirst = 128
	arenaBlock = 1024
	arenaText  = 128
)

// arena makes strings of a result's texts, many to an allocation.
type arena struct{ block strings.Builder }

func (a *arena) string(b []byte) string {
	if len(b) > arenaText {
		return string(b)
	}
	if a.block.Cap()-a.block.Len() < len(b) {
		size := arenaBlock
		if a.block.Cap() == 0 {
			size = arenaFirst
		}
		a.block = strings.Builder{}
		a.block.Grow(size)
	}
	from := a.block.Len()
	a.block.Write(b)
	return a.block.String()[from:]
}
