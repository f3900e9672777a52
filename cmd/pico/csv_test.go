package main

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func readCSV(text string, fields int) (all [][]string, quoted [][]bool, err error) {
	r := newCSVReader(strings.NewReader(text), ',')
	r.fields = fields
	for {
		values, in, err := r.read()
		if errors.Is(err, io.EOF) {
			return all, quoted, nil
		}
		if err != nil {
			return all, quoted, err
		}
		all, quoted = append(all, values), append(quoted, append([]bool(nil), in...))
	}
}

// TestCSV: quotes, line breaks and empty values are told apart, and what doesn't hang together is named with its line.
func TestCSV(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		text   string
		want   [][]string
		quoted [][]bool
	}{
		{"a,b\n", [][]string{{"a", "b"}}, [][]bool{{false, false}}},
		{"a,b\r\n\r\n\nc,\"\"", [][]string{{"a", "b"}, {"c", ""}}, [][]bool{{false, false}, {false, true}}},
		{",\n", [][]string{{"", ""}}, [][]bool{{false, false}}},
		{"\"a\r\nb\n\n\"\"c\"\"\",\"x,y\"\n", [][]string{{"a\r\nb\n\n\"c\"", "x,y"}}, [][]bool{{true, true}}},
		{long + ",\"" + long + "\n\"\n", [][]string{{long, long + "\n"}}, [][]bool{{false, true}}},
		{"a,\"b\nc\"\r\n", [][]string{{"a", "b\nc"}}, [][]bool{{false, true}}},
		{"", nil, nil},
	} {
		got, quoted, err := readCSV(c.text, 2)
		if err != nil || !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(quoted, c.quoted) {
			t.Errorf("%.40q: %.40q, %v, %v", c.text, got, quoted, err)
		}
	}
	for text, want := range map[string]string{
		"a,b\na\n":      "line 2: 1 value, want 2",
		"\n\"a\nb,c":    "line 2: a quote that isn't closed",
		"a,\"b\"c\n":    "line 1: text behind a closing quote",
		"a,b\nc,d\"e\"": "line 2: a quote in a value that doesn't begin with one",
	} {
		if _, _, err := readCSV(text, 2); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzCSV: what was written is read as it was.
func FuzzCSV(f *testing.F) {
	f.Add("a", "", true)
	f.Add("a\"\r\n,", "\r", false)
	f.Add("", "", false)
	f.Fuzz(func(t *testing.T, a, b string, in bool) {
		for _, record := range [][]string{{a}, {a, b}} {
			var text strings.Builder
			w := newCSVWriter(&text, ',')
			quoted := []bool{in, false}[:len(record)]
			if err := errors.Join(w.write(record, quoted), w.flush()); err != nil {
				t.Fatal(err)
			}
			got, back, err := readCSV(text.String(), len(record))
			if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], record) || in && !back[0][0] {
				t.Fatalf("%q: %q, %v, %v", text.String(), got, back, err)
			}
		}
	})
}
