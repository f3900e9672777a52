package picotest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// What may differ between a recorded answer and a simulated one, all of it, each with its reason. These are the
// differences in texts; three more are in the code below: salts, nonces and signatures of a login are random
// (showAuth), the order of rows is nobody's promise without ORDER BY (comparable), and the numbers of vshard's
// configurations in _pico_tier tell how often the recorded cluster had been reconfigured (comparable).
var differences = []struct {
	reason string
	find   *regexp.Regexp
	by     string
}{
	{"uuids are random", regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UUID"},
	{"ports are chosen at start", regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{"the clock goes on", regexp.MustCompile(`\b20(2[6-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?[+-]\d\d`), "NOW"},
	{"ids of tables depend on how many were made before", regexp.MustCompile(`\b\d+_pkey\b`), "N_pkey"},
	{"clients are numbered by the server", regexp.MustCompile(`for client \d+ already`), "for client N already"},
	{"traces name places in the server's source", regexp.MustCompile(`\\?"trace\\?":\[.*?\]`), `"trace":[]`},
	{"of a parse error, which lists grammar rules, the text up to the position is compared", regexp.MustCompile(`(rule parsing error:[\s\S]*?\^-*-?)[\s\S]*`), "$1 …"},
}

// comparable turns an answer into lines without what may differ.
func comparable(s step, list []message) []string {
	var lines, rows []string
	var at []int
	for _, m := range list {
		line := showBody(m)
		for _, d := range differences {
			line = d.find.ReplaceAllString(line, d.by)
		}
		if m.Type == "D" {
			if configVersions(s) {
				// How often the cluster was reconfigured before the recording.
				line = regexp.MustCompile(`^(D "\w+" "\d+" "t") "\d+" "\d+"`).ReplaceAllString(line, `$1 "V" "V"`)
			}
			rows, at = append(rows, line), append(at, len(lines))
		}
		lines = append(lines, line)
	}
	if !ordered(s) {
		// Without ORDER BY the order of rows is nobody's promise.
		sort.Strings(rows)
		for i, k := range at {
			lines[k] = rows[i]
		}
	}
	return lines
}

func (s step) text() string {
	var b bytes.Buffer
	for _, m := range s.Send {
		b.Write(m.Body)
		b.WriteByte('\n')
	}
	return strings.ToLower(b.String())
}

func ordered(s step) bool {
	return strings.Contains(s.text(), "order by") || strings.Contains(s.text(), "explain")
}

func configVersions(s step) bool { return strings.Contains(s.text(), "from _pico_tier") }

// showBody is a message as a line.
func showBody(m message) string {
	b := m.Body
	switch m.Type {
	case "R":
		return "R " + showAuth(b)
	case "E", "N":
		var fields []string
		for len(b) > 1 {
			end := bytes.IndexByte(b, 0)
			fields = append(fields, fmt.Sprintf("%c=%s", b[0], b[1:end]))
			b = b[end+1:]
		}
		return m.Type + " " + strings.Join(fields, " ")
	case "D":
		var fields []string
		n := int(binary.BigEndian.Uint16(b))
		b = b[2:]
		for range n {
			size := int32(binary.BigEndian.Uint32(b))
			b = b[4:]
			if size < 0 {
				fields = append(fields, "NULL")
				continue
			}
			fields = append(fields, `"`+string(b[:size])+`"`)
			b = b[size:]
		}
		return "D " + strings.Join(fields, " ")
	case "T":
		var fields []string
		n := int(binary.BigEndian.Uint16(b))
		b = b[2:]
		for range n {
			end := bytes.IndexByte(b, 0)
			name := string(b[:end])
			b = b[end+1:]
			fields = append(fields, fmt.Sprintf("%s(table %d.%d, oid %d, size %d, mod %d, format %d)", name, binary.BigEndian.Uint32(b),
				binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint32(b[6:]), int16(binary.BigEndian.Uint16(b[10:])),
				int32(binary.BigEndian.Uint32(b[12:])), binary.BigEndian.Uint16(b[16:])))
			b = b[18:]
		}
		return "T " + strings.Join(fields, ", ")
	}
	return m.Type + " " + strconv.QuoteToASCII(string(b))
}

// showAuth leaves salts, nonces and signatures out.
func showAuth(b []byte) string {
	switch code := binary.BigEndian.Uint32(b); code {
	case 5:
		return fmt.Sprintf("MD5, salt of %d bytes", len(b)-4)
	case 11:
		text := regexp.MustCompile(`r=[^,]*,s=[^,]*`).ReplaceAllString(string(b[4:]), "r=NONCE,s=SALT")
		return "SASL continue " + text
	case 12:
		return fmt.Sprintf("SASL final, %d bytes", len(b)-4)
	default:
		return fmt.Sprintf("%d %q", code, b[4:])
	}
}

// renames have the length of what they replace, so that positions in texts and lengths of frames stay.
var renames = map[string]string{
	"dlg_t": "qx7_m", "dlg_g": "zed_a", "dlg_types": "wombat_ty", "dlg_k2": "kelp_9", "dlg_inv": "inv_xyz", "dlg_un": "ephem1",
	"id": "xy", "n": "m", "s": "q", "v": "j",
	"two": "due", "rep": "zip", "dup": "duo", "fifty": "ftfty", "lol": "kek",
}

var renamePattern = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// renameAll renames tables, columns and values in frames that speak of them; identifiers and words are replaced whole.
func renameAll(b []byte) []byte {
	return renamePattern.ReplaceAllFunc(b, func(word []byte) []byte {
		if to, ok := renames[string(word)]; ok {
			return []byte(to)
		}
		return word
	})
}
