package picotest_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/picodata/go-picodata/picotest"
)

// recording is a file of dialogues with a real cluster; testdata/live/README.md explains it.
type recording struct {
	ServerVersion string `json:"server_version"`
	Setup         struct {
		As, On     string
		Statements []string
	}
	Dialogues []dialogue
}

type dialogue struct {
	Name, User, Password, Instance string
	Params                         map[string]string
	Steps                          []step
	Side                           map[string]struct{ As, On, Statement string }
}

type step struct {
	Send, Recv []message
	End        string
}

type message struct {
	Type string
	Body []byte
}

func readRecording(t *testing.T, version string) recording {
	t.Helper()
	text, err := os.ReadFile("../testdata/live/dialogues-" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// recordedCluster is a cluster like the recorded ones.
func recordedCluster(t *testing.T, version string) *picotest.Cluster {
	c := picotest.Start(t, picotest.Config{
		Version: version,
		Tiers: []picotest.Tier{
			{Name: "default", Replicasets: 2, ReplicationFactor: 2},
			{Name: "cold"},
		},
		Users: []picotest.User{},
	})
	if version == "25.6" {
		c.SwitchLeader("default_2", "i4").Finish() // who led when that recording was made
	}
	return c
}

// TestReplay holds every recorded dialogue with a cluster of the recorded version and compares message by
// message: once as recorded, once with tables, columns and values renamed, so that no answer can be a lookup.
func TestReplay(t *testing.T) {
	for _, version := range []string{"25.6", "26.2"} {
		for _, renamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/renamed=%v", version, renamed), func(t *testing.T) {
				r := readRecording(t, version)
				rename := func(b []byte) []byte { return b }
				if renamed {
					rename = renameAll
				}
				c := recordedCluster(t, version)
				for _, sql := range r.Setup.Statements {
					if err := sideStatement(c, r.Setup.As, "", r.Setup.On, string(rename([]byte(sql)))); err != nil {
						t.Fatalf("setup %q: %v", sql, err)
					}
				}
				for _, d := range r.Dialogues {
					t.Run(d.Name, func(t *testing.T) { replay(t, c, d, rename) })
				}
			})
		}
	}
}

// renameFrame keeps the byte that says what a Describe or Close is about.
func renameFrame(m message, rename func([]byte) []byte) []byte {
	if m.Type == "B" {
		return renameBind(m.Body, rename)
	}
	if m.Type == "D" || m.Type == "C" {
		return append([]byte{m.Body[0]}, rename(m.Body[1:])...)
	}
	return rename(m.Body)
}

// renameAnswer keeps logins and binary values as they are.
func renameAnswer(m message, rename func([]byte) []byte) message {
	switch m.Type {
	case "R":
		return m
	case "D":
		body := append([]byte(nil), m.Body[:2]...)
		for rest := m.Body[2:]; len(rest) > 0; {
			size := max(0, int(int32(binary.BigEndian.Uint32(rest))))
			body = append(body, rest[:4]...)
			body = append(body, renameValue(rest[4:4+size], rename)...)
			rest = rest[4+size:]
		}
		return message{m.Type, body}
	}
	return message{m.Type, rename(m.Body)}
}

func renameValue(v []byte, rename func([]byte) []byte) []byte {
	for _, b := range v {
		if b < ' ' {
			return v
		}
	}
	if !utf8.Valid(v) {
		return v
	}
	return rename(v)
}

// renameBind renames what a Bind carries.
func renameBind(body []byte, rename func([]byte) []byte) []byte {
	names := 0
	for range 2 {
		names += bytes.IndexByte(body[names:], 0) + 1
	}
	out := append([]byte(nil), rename(body[:names])...)
	rest := body[names:]
	take := func(n int) []byte {
		b := rest[:n]
		rest = rest[n:]
		out = append(out, b...)
		return b
	}
	take(2 * int(binary.BigEndian.Uint16(take(2))))
	for range int(binary.BigEndian.Uint16(take(2))) {
		size := max(0, int(int32(binary.BigEndian.Uint32(take(4)))))
		out = append(out, renameValue(rest[:size], rename)...)
		rest = rest[size:]
	}
	return append(out, rest...)
}

func sideStatement(c *picotest.Cluster, user, password, node, sql string) error {
	if user == "admin" {
		password = "T0psecret"
	}
	w, err := dialWire(c, node, user, password, nil)
	if err != nil {
		return err
	}
	defer w.close()
	got, _, err := w.exchange([]message{{"Q", append([]byte(sql), 0)}})
	if err != nil {
		return err
	}
	for _, m := range got {
		if m.Type == "E" {
			return fmt.Errorf("%s", showBody(m))
		}
	}
	return nil
}

func replay(t *testing.T, c *picotest.Cluster, d dialogue, rename func([]byte) []byte) {
	var w *wire
	for i, s := range d.Steps {
		if side, ok := d.Side[strconv.Itoa(i)]; ok {
			if err := sideStatement(c, side.As, d.Password, side.On, string(rename([]byte(side.Statement)))); err != nil {
				t.Errorf("step %d, side statement %q: %v", i, side.Statement, err)
			}
		}
		var got []message
		var end string
		var err error
		if i == 0 {
			w, err = openWire(c, d.Instance, d.User, d.Password)
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			got, end, err = w.login(s.Send[0].Body)
		} else {
			var frames []message
			for _, m := range s.Send {
				frames = append(frames, message{m.Type, renameFrame(m, rename)})
			}
			got, end, err = w.exchange(frames)
		}
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		var want []message
		for _, m := range s.Recv {
			want = append(want, renameAnswer(m, rename))
		}
		wantText, gotText := comparable(s, want), comparable(s, got)
		wantText, gotText = append(wantText, "end: "+s.End), append(gotText, "end: "+end)
		if diff := cmp.Diff(wantText, gotText); diff != "" {
			var sent []string
			for _, m := range s.Send {
				sent = append(sent, m.Type+" "+strconv.QuoteToASCII(string(rename(m.Body))))
			}
			t.Errorf("step %d\n  %s\n(-recorded +simulated)\n%s", i, strings.Join(sent, "\n  "), diff)
		}
		if end == "closed" {
			break
		}
	}
}

// wire is a client that sends frames as they were recorded.
type wire struct {
	conn           net.Conn
	user, password string
}

func openWire(c *picotest.Cluster, node, user, password string) (*wire, error) {
	conn, err := net.Dial("tcp", c.Node(node).Addr())
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, user: user, password: password}, nil
}

func dialWire(c *picotest.Cluster, node, user, password string, params map[string]string) (*wire, error) {
	w, err := openWire(c, node, user, password)
	if err != nil {
		return nil, err
	}
	got, end, err := w.login(startupBody(user, params))
	if err == nil && end != "ready" {
		err = fmt.Errorf("login: %v", got)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func startupBody(user string, params map[string]string) []byte {
	b := []byte{0, 3, 0, 0}
	b = append(b, "user\x00"+user+"\x00"...)
	for k, v := range params {
		b = append(b, k+"\x00"+v+"\x00"...)
	}
	return append(b, 0)
}

func (w *wire) close() { _ = w.conn.Close() }

func (w *wire) write(kind string, body []byte) error {
	var b []byte
	if kind != "startup" {
		b = append(b, kind...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+4))
	_, err := w.conn.Write(append(b, body...))
	return err
}

// read returns the next message; io.EOF when the server closed.
func (w *wire) read() (message, error) {
	// Only a broken simulation is that slow.
	_ = w.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	var head [5]byte
	if _, err := io.ReadFull(w.conn, head[:]); err != nil {
		return message{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	if _, err := io.ReadFull(w.conn, body); err != nil {
		return message{}, err
	}
	return message{string(head[:1]), body}, nil
}

// login sends a startup packet and answers what the server asks.
func (w *wire) login(startup []byte) ([]message, string, error) {
	if err := w.write("startup", startup); err != nil {
		return nil, "", err
	}
	var got []message
	var scram scramClient
	for {
		m, err := w.read()
		if isClosed(err) {
			return got, "closed", nil
		}
		if err != nil {
			return got, "", err
		}
		got = append(got, m)
		if m.Type == "Z" {
			return got, "ready", nil
		}
		if m.Type != "R" {
			continue
		}
		switch binary.BigEndian.Uint32(m.Body) {
		case 3:
			err = w.write("p", append([]byte(w.password), 0))
		case 5:
			inner := md5Hex(w.password + w.user)
			err = w.write("p", append([]byte("md5"+md5Hex(inner+string(m.Body[4:8]))), 0))
		case 10:
			err = w.write("p", scram.first())
		case 11:
			err = w.write("p", scram.final(string(m.Body[4:]), w.password))
		}
		if err != nil {
			return got, "", err
		}
	}
}

func isClosed(err error) bool {
	return err != nil && (err == io.EOF || strings.Contains(err.Error(), "reset by peer"))
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// exchange sends frames in one write and reads up to ReadyForQuery or the end.
func (w *wire) exchange(frames []message) ([]message, string, error) {
	var b bytes.Buffer
	for _, m := range frames {
		b.WriteString(m.Type)
		_ = binary.Write(&b, binary.BigEndian, uint32(len(m.Body)+4))
		b.Write(m.Body)
	}
	if _, err := w.conn.Write(b.Bytes()); err != nil {
		return nil, "", err
	}
	var got []message
	for {
		m, err := w.read()
		if isClosed(err) {
			return got, "closed", nil
		}
		if err != nil {
			return got, "", fmt.Errorf("after %d messages: %w", len(got), err)
		}
		got = append(got, m)
		if m.Type == "Z" {
			return got, "ready", nil
		}
	}
}

// scramClient is the client's side of SCRAM-SHA-256.
type scramClient struct{ bare string }

func (s *scramClient) first() []byte {
	s.bare = "n=,r=rOprNGfwEbeRWgbNEkqO"
	text := "n,," + s.bare
	b := append([]byte("SCRAM-SHA-256"), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}

func (s *scramClient) final(challenge, password string) []byte {
	fields := map[string]string{}
	for _, f := range strings.Split(challenge, ",") {
		k, v, _ := strings.Cut(f, "=")
		fields[k] = v
	}
	salt, _ := base64.StdEncoding.DecodeString(fields["s"])
	rounds, _ := strconv.Atoi(fields["i"])
	salted, _ := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	key := mac(salted, "Client Key")
	stored := sha256.Sum256(key)
	bound := "c=biws,r=" + fields["r"]
	signature := mac(stored[:], s.bare+","+challenge+","+bound)
	for i := range key {
		key[i] ^= signature[i]
	}
	return []byte(bound + ",p=" + base64.StdEncoding.EncodeToString(key))
}
