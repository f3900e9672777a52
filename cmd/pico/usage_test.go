package main

import "testing"

// A mistake in a flag is told also if no cluster is named: whoever mends the one mustn't then find the other.
func TestWrongFlagsAreToldWithoutADSN(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"bench", "--mix", "nope=1"}, "--mix: there is no kind"},
		{[]string{"bench", "--workers", "0"}, "--workers"},
		{[]string{"shell", "--format", "html"}, "--format"},
	} {
		_, diag, code := newSession(nil).run(t, c.args...)
		if code != 2 {
			t.Errorf("%v: exit code %d", c.args, code)
		}
		wants(t, diag, c.want)
	}
}
