package options

import (
	"io"
	"log/slog"
	"net/netip"
	"testing"
)

func mustPrefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func testLogger(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

// first is a Balancer that takes the first candidate.
type first struct{}

func (first) Pick([]Candidate, uint64) int { return 0 }
