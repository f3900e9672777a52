package scenarios_test

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	picodata "github.com/picodata/go-picodata"
)

// What a server may send: whole answers of real ones, changed in every way that a faulty or hostile one might.

// answer is what a real server answered to one flight, frame by frame.
type answer [][]byte

// recordedAnswers are those to a Query and those to Parse, Bind, Describe, Execute, Sync, and to Bind, Execute, Sync.
func recordedAnswers(t testing.TB) map[string][]answer {
	t.Helper()
	all := map[string][]answer{}
	for _, version := range []string{"25.6", "26.2"} {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", "live", "dialogues-"+version+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Dialogues []struct {
				Steps []struct{ Send, Recv []struct{ Type, Body string } }
			}
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Dialogues {
			for _, s := range d.Steps {
				var sent strings.Builder
				for _, f := range s.Send {
					sent.WriteString(f.Type)
				}
				var a answer
				for _, f := range s.Recv {
					body, err := base64.StdEncoding.DecodeString(f.Body)
					if err != nil {
						t.Fatal(err)
					}
					a = append(a, wireFrame(f.Type[0], body))
				}
				if len(a) > 0 {
					all[sent.String()] = append(all[sent.String()], a)
				}
			}
		}
	}
	if len(all["Q"]) < 100 || len(all["PBDES"]) < 50 || len(all["BES"]) < 10 {
		t.Fatalf("%d, %d, %d answers found: the reader is broken", len(all["Q"]), len(all["PBDES"]), len(all["BES"]))
	}
	return all
}

// change is one change of an answer. It is made of four bytes of the fuzzer's input.
type change struct{ flight, what, where, by byte }

// hostile is a server that answers with recorded answers, changed as its input says.
type hostile struct {
	recorded map[string][]answer
	changes  []change

	mu      sync.Mutex
	flights int
	last    []byte // what was sent in answer to the last flight
	group   sync.WaitGroup
	open    []net.Conn
}

// dial is a connector's dial function.
func (h *hostile) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	h.mu.Lock()
	h.open = append(h.open, server)
	h.mu.Unlock()
	h.group.Go(func() { h.serve(server) })
	return client, nil
}

func (h *hostile) close() {
	h.mu.Lock()
	for _, c := range h.open {
		c.Close()
	}
	h.mu.Unlock()
	h.group.Wait()
}

func (h *hostile) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(length[:]))-4); err != nil {
		return
	}
	login := answer{wireFrame('R', make([]byte, 4)), wireFrame('S', []byte("server_version\x0015.0\x00")), wireFrame('Z', []byte("I"))}
	if !h.say(c, login) {
		return
	}
	for {
		var sent strings.Builder
		var size uint32
		for {
			var head [5]byte
			if _, err := io.ReadFull(r, head[:]); err != nil || head[0] == 'X' {
				return
			}
			sent.WriteByte(head[0])
			n := binary.BigEndian.Uint32(head[1:]) - 4
			size += n
			if _, err := io.CopyN(io.Discard, r, int64(n)); err != nil {
				return
			}
			if head[0] == 'Q' || head[0] == 'S' {
				break
			}
		}
		flight := strings.TrimLeft(sent.String(), "C")
		all := h.recorded[flight]
		if len(all) == 0 {
			all = h.recorded["PDS"] // what else the driver asks is a Prepare
		}
		if !h.say(c, all[int(size)%len(all)]) {
			return
		}
	}
}

// say sends an answer as the changes have made it. false: the connection is over.
func (h *hostile) say(c net.Conn, a answer) bool {
	h.mu.Lock()
	n := h.flights
	h.flights++
	h.mu.Unlock()
	a = append(answer(nil), a...)
	closes, stalls := false, false
	var tail []byte
	for _, m := range h.changes {
		if int(m.flight)%16 != n%16 || len(a) == 0 {
			continue
		}
		at := int(m.where) % len(a)
		f := append([]byte(nil), a[at]...)
		if len(f) < 5 {
			continue // a change before has left no frame there
		}
		switch m.what % 14 {
		case 0: // a byte becomes another
			f[int(m.by)%len(f)] ^= 1 << (m.by % 8)
		case 1: // a frame is missing
			a = append(a[:at], a[at+1:]...)
			continue
		case 2: // a frame comes twice
			a = append(a[:at+1], append(answer{f}, a[at+1:]...)...)
			continue
		case 3: // the length lies
			binary.BigEndian.PutUint32(f[1:], binary.BigEndian.Uint32(f[1:])+uint32(int8(m.by)))
		case 4: // the length is enormous
			binary.BigEndian.PutUint32(f[1:], uint32(m.by)<<24|0xffff)
		case 5: // another type
			f[0] = "RSKZTDCEN123ItnsAvGHWd"[int(m.by)%22]
		case 6: // the body is cut, the length is right
			f = wireFrame(f[0], f[5:5+int(m.by)%(len(f)-4)])
		case 7: // the connection ends inside the frame
			f, closes = f[:int(m.by)%len(f)], true
			a = a[:at+1]
		case 8: // nothing comes after it
			stalls = true
			a = a[:at+1]
		case 9: // a frame of another answer
			other := h.recorded["Q"][int(m.by)%len(h.recorded["Q"])]
			f = other[int(m.where)%len(other)]
		case 10: // two frames change places
			b := int(m.by) % len(a)
			a[at], a[b] = a[b], a[at]
			continue
		case 11: // an error in between
			a = append(a[:at], append(answer{wireFrame('E', []byte("SERROR\x00CXX000\x00Mno\x00\x00"))}, a[at:]...)...)
			continue
		case 12: // more after the end
			tail = append(tail, a[int(m.by)%len(a)]...)
			continue
		case 13: // bytes that are no frame
			f = append(f, m.by, m.where, m.what)
		}
		a[at] = f
	}
	var out []byte
	for _, f := range a {
		out = append(out, f...)
	}
	out = append(out, tail...)
	h.mu.Lock()
	h.last = out
	h.mu.Unlock()
	if _, err := c.Write(out); err != nil || closes {
		return false
	}
	if stalls {
		_, _ = io.Copy(io.Discard, c) // until the client gives up
		return false
	}
	return true
}

// wholeResult reads an answer as strictly as a client may: the number of rows of its first result, and whether it is
// one result, framed and complete, without an error.
func wholeResult(b []byte) (rows int, ok bool) {
	counting := true
	for len(b) >= 5 {
		n := int(binary.BigEndian.Uint32(b[1:])) + 1
		if n < 5 || n > len(b) {
			return 0, false
		}
		switch b[0] {
		case 'D':
			if counting {
				rows++
			}
		case 'C', 'I':
			counting = false
		case 'T':
			if rows > 0 {
				counting = false
			}
		case 'E':
			return 0, false
		case 'Z':
			return rows, true
		}
		b = b[n:]
	}
	return 0, false
}

// face runs statements against a server of that input.
func face(t *testing.T, recorded map[string][]answer, input []byte) {
	h := &hostile{recorded: recorded}
	for ; len(input) >= 4; input = input[4:] {
		h.changes = append(h.changes, change{input[0], input[1], input[2], input[3]})
	}
	synctest.Test(t, func(t *testing.T) {
		defer h.close()
		cfg, err := picodata.ParseDSN("picodata://u:secret@h:1/?mode=bootstrap&topology=off&routing=off&sslmode=disable&connect_timeout=500ms&acquire_timeout=2s&statement_cache_threshold=1&instance_ejection_failure_threshold=0&login_cool_down=10ms")
		if err != nil {
			cfg, err = picodata.ParseDSN("picodata://u:secret@h:1/?mode=bootstrap&topology=off&routing=off&sslmode=disable&connect_timeout=500ms&acquire_timeout=2s&statement_cache_threshold=1&instance_ejection_failure_threshold=0")
		}
		if err != nil {
			t.Fatal(err)
		}
		cfg.DialFunc = h.dial
		conn, err := picodata.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(conn)
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if s := conn.Stats().Total; s.InUse != 0 {
				t.Errorf("%d leases are left", s.InUse)
			}
		}()
		for i := range 8 {
			const limit = time.Second
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			begun := time.Now()
			var err error
			switch i % 4 {
			case 0, 1, 2:
				var args []any
				text := "select * from t"
				if i%4 > 0 {
					text, args = fmt.Sprintf("select * from t where id = $1 and v > %d", i/4), []any{i}
				}
				var n int
				if n, err = readAll(ctx, db, text, args...); err == nil {
					h.mu.Lock()
					want, whole := wholeResult(h.last)
					h.mu.Unlock()
					if !whole || n != want {
						t.Errorf("statement %d: %d rows without an error, of an answer with %d rows (whole: %v): %q", i, n, want, whole, h.last)
					}
				}
			case 3:
				_, err = db.ExecContext(ctx, "insert into t values ($1)", i)
			}
			cancel()
			if took := time.Since(begun); took > limit+600*time.Millisecond { // the rest of a result is waited for 500 ms
				t.Errorf("statement %d took %v of %v", i, took, limit)
			}
			if errors.Is(err, driver.ErrBadConn) {
				t.Errorf("statement %d: %v", i, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("statement %d: the error shows the password: %v", i, err)
			}
		}
	})
}

// Recorded answers, changed at random: no panic, nothing outlasts its context. FuzzHostileServer for as long as a test may take.
func TestHostileServer(t *testing.T) {
	recorded := recordedAnswers(t)
	rounds := 800
	if testing.Short() {
		rounds = 200
	}
	const seed = 20261130
	rnd := rand.New(rand.NewPCG(seed, 0))
	face(t, recorded, nil)
	for i := range rounds {
		input := make([]byte, 4*(1+rnd.IntN(4)))
		for j := range input {
			input[j] = byte(rnd.Uint32())
		}
		for j := 0; j < len(input); j += 4 {
			input[j] %= 12 // the flights that there are
		}
		face(t, recorded, input)
		if t.Failed() {
			t.Fatalf("round %d of seed %d: %#v", i, seed, input)
		}
	}
}

// Whatever a server sends, the driver doesn't panic, doesn't outlast its context, and doesn't make rows of a
// broken stream.
func FuzzHostileServer(f *testing.F) {
	recorded := recordedAnswers(f)
	f.Add([]byte{})
	for what := range byte(14) {
		f.Add([]byte{0, what, 0, 3, 1, what, 1, 7, 2, what, 2, 200, 4, what, 3, 31})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 256 {
			return
		}
		face(t, recorded, input)
	})
}
