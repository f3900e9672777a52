package account

import "testing"

// What a row's answer promises, for every number of rows that may be there.
func TestRow(t *testing.T) {
	for s, want := range map[Said][3]Finding{
		Acknowledged: {Lost, Kept, Doubled}, InDoubt: {Kept, Kept, Doubled}, Refused: {Kept, Lied, Lied}, 0: {Kept, Lied, Lied},
	} {
		for there, f := range want {
			if got := s.Row(there); got != f {
				t.Errorf("said %d, there %d times: %d, want %d", s, there, got, f)
			}
		}
	}
}

// A number may be anything between what was acknowledged and that with what is in doubt.
func TestTally(t *testing.T) {
	var tally Tally
	for _, s := range []Said{Acknowledged, Refused, InDoubt, Acknowledged, Acknowledged, InDoubt} {
		tally.Add(s)
	}
	for n, want := range map[int]Finding{2: Lost, 3: Kept, 4: Kept, 5: Kept, 6: Doubled} {
		if f, _ := tally.Judge(n); f != want {
			t.Errorf("%d: %d, want %d", n, f, want)
		}
	}
	if _, by := tally.Judge(9); by != 4 {
		t.Errorf("wrong by %d, want 4", by)
	}
}
