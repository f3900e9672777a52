package scenarios_test

import (
	"slices"
	"sync"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// mirrorRecorder keeps what it hears of the mirror.
type mirrorRecorder struct {
	mu    sync.Mutex
	heard []picodata.MirrorEnd
	more  chan struct{}
}

func (r *mirrorRecorder) MirrorEnd(m picodata.MirrorEnd) {
	r.mu.Lock()
	r.heard = append(r.heard, m)
	r.mu.Unlock()
	r.more <- struct{}{}
}

// It hears of each statement that the mirror was sent, with its error, and of no other.
func TestMirrorTracer(t *testing.T) {
	one := picotest.Config{Tiers: []picotest.Tier{{Replicasets: 1, ReplicationFactor: 1}}}
	shadow := picotest.Start(t, one)
	r := &mirrorRecorder{more: make(chan struct{}, 10)}
	_, db, _ := startDB(t, one, options.WithMirror(shadow.AdminDSN()), options.WithTracers(r))
	mustExec(t, db, "create table t (id int primary key, s text) distributed by (id)") // not mirrored: no read
	for _, q := range []string{"select 'secret'", "select count(*) from t"} {
		var x any
		if err := db.QueryRowContext(t.Context(), q).Scan(&x); err != nil {
			t.Fatal(err)
		}
		<-r.more
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for _, m := range r.heard {
		line := m.Fingerprint()
		if m.Err != nil {
			line += ": failed" // the mirror has no table t
		}
		if m.Waited < 0 || m.Took < 0 {
			t.Errorf("%s waited %v and took %v", line, m.Waited, m.Took)
		}
		got = append(got, line)
	}
	if want := []string{"select ?", "select count(*) from t: failed"}; !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
}
