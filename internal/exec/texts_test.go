package exec

import (
	"fmt"
	"testing"
)

// Comments stay at home, and texts that differ in nothing else are one. With strip_comments=off a text is sent as it is.
func TestCommentsStayHome(t *testing.T) {
	const text = "insert into t values ('--')"
	c := newTextCache(0, true)
	first := c.get("/* trace=1 */ " + text + " -- end")
	if first.SQL != text {
		t.Errorf("sent %q", first.SQL)
	}
	if c.get("/* trace=2 */ "+text) != first || c.len() != 1 {
		t.Error("a text with another comment isn't the same text")
	}
	const whole = "insert into t values (1) -- end"
	if got := newTextCache(0, false).get(whole); got.SQL != whole {
		t.Errorf("sent %q", got.SQL)
	}
}

// The cache keeps as many texts as it is meant to, and those that are in use.
func TestTextCacheKeepsWhatIsUsed(t *testing.T) {
	c := newTextCache(100, true)
	used := c.get("select 0")
	for i := range 1000 {
		c.get(fmt.Sprintf("select %d", i+1))
		if c.get("select 0") != used {
			t.Fatalf("a text in use is forgotten after %d others", i+1)
		}
	}
	if c.len() != 100 {
		t.Errorf("%d texts are kept, want 100", c.len())
	}
}
