package picodata

import (
	"testing"

	"github.com/picodata/go-picodata/internal/bulk"
)

// An answer that can't be read is one to rows that are in the table.
func TestFateOfAnUnreadableAnswer(t *testing.T) {
	if f := (insertTarget{}).Fate(&DecodeError{Type: "command tag"}, true); f != bulk.Unknown {
		t.Errorf("fate %d", f)
	}
}
