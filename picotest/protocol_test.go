package picotest_test

import (
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest"
)

// kinds are the types of messages, in order.
func kinds(list []message) string {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.Type)
	}
	return b.String()
}

func lastError(list []message) string {
	for _, m := range list {
		if m.Type == "E" {
			return showBody(m)
		}
	}
	return ""
}

// TestProtocol holds conversations that testdata/live/wire-extended.txt shows and the dialogues don't.
func TestProtocol(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	for _, sql := range []string{"create table t (id int primary key)", "insert into t values (1),(2),(3),(11),(12)"} {
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	const (
		parse   = "\x00select id from t order by id\x00\x00\x00"
		bind    = "\x00\x00\x00\x00\x00\x00\x00\x00"
		two     = "\x00\x00\x00\x00\x02"
		all     = "\x00\x00\x00\x00\x00"
		noFault = ""
	)
	for _, tc := range []struct {
		name   string
		frames []message
		kinds  string
		fault  string
		end    string
	}{
		{"three executes of two rows", []message{{"P", []byte(parse)}, {"B", []byte(bind)}, {"E", []byte(two)}, {"E", []byte(two)}, {"E", []byte(two)}, {"S", nil}},
			"12DDsDDsDCZ", noFault, "ready"},
		{"Flush and Sync", []message{{"P", []byte(parse)}, {"D", []byte("S\x00")}, {"B", []byte(bind)}, {"E", []byte(all)}, {"H", nil}, {"S", nil}},
			"1tT2DDDDDCZ", noFault, "ready"},
		{"a named portal twice", []message{{"P", []byte(parse)}, {"B", []byte("p" + bind)}, {"B", []byte("p" + bind)}, {"S", nil}},
			"12EZ", "E S=ERROR C=42P03", "ready"},
		{"a portal after Sync", []message{{"D", []byte("Pp\x00")}, {"S", nil}}, "EZ", "E S=ERROR C=XX000 M=Couldn't find portal 'p'.", "ready"},
		{"the unnamed statement again", []message{{"P", []byte(parse)}, {"P", []byte(parse)}, {"S", nil}}, "11Z", noFault, "ready"},
		{"two formats for one column", []message{{"P", []byte(parse)}, {"B", []byte("\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01")}, {"S", nil}},
			"1EZ", "E S=ERROR C=08P01 M=protocol violation: got 2 format codes for 1 items", "ready"},
		{"everything up to Sync is dropped", []message{{"P", []byte("\x00selec\x00\x00\x00")}, {"Q", []byte("select 1\x00")}, {"S", nil}},
			"EZ", "E S=ERROR C=XX000 M=sbroad: rule parsing error:", "ready"},
		{"CopyData", []message{{"d", []byte("x")}, {"S", nil}}, "EZ",
			`E S=ERROR C=0A000 M=feature is not supported: CopyData(CopyData { data: b"x" })`, "ready"},
		{"FunctionCall", []message{{"F", []byte("\x00\x00\x00\x00")}}, "E",
			"E S=ERROR C=58030 M=IO error: Invalid message recevied, received 70", "closed"},
		{"a type nobody has", []message{{"!", nil}}, "E", "E S=ERROR C=58030 M=IO error: Invalid message recevied, received 33", "closed"},
		{"Terminate", []message{{"X", nil}}, "", noFault, "closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, err := dialWire(c, "i1", "admin", "T0psecret", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			got, end, err := w.exchange(tc.frames)
			if err != nil {
				t.Fatal(err)
			}
			if kinds(got) != tc.kinds || end != tc.end {
				t.Errorf("got %q, %s; want %q, %s", kinds(got), end, tc.kinds, tc.end)
			}
			if fault := lastError(got); !strings.HasPrefix(fault, tc.fault) || tc.fault == "" && fault != "" {
				t.Errorf("error %q, want %q", fault, tc.fault)
			}
		})
	}
}

// TestFlush answers what was asked so far without a Sync.
func TestFlush(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	w, err := dialWire(c, "i1", "admin", "T0psecret", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, frames := range [][]message{
		{{"P", []byte("\x00select 1\x00\x00\x00")}, {"H", nil}},
		{{"B", []byte("\x00\x00\x00\x00\x00\x00\x00\x00")}, {"H", nil}},
	} {
		for _, m := range frames {
			if err := w.write(m.Type, m.Body); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := w.read(); err != nil || m.Type != "1" && m.Type != "2" {
			t.Fatalf("got %v, %v", m, err)
		}
	}
}

// TestGlobalTables: from any instance, whatever forward says.
func TestGlobalTables(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	if err := c.Exec("create table g (id int primary key, v int) distributed globally"); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"i1", "i2", "i3", "i4"} {
		conn := session(t, c, name, "forward=off")
		if _, err := conn.Exec(t.Context(), "insert into g values ($1, 0)", i); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var n int
		if err := conn.QueryRow(t.Context(), "select count(*) from g").Scan(&n); err != nil || n != i+1 {
			t.Errorf("%s sees %d rows, %v; want %d", name, n, err, i+1)
		}
	}
}
