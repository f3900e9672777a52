package options

import (
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
)

// passFile is a password file in PostgreSQL's form. It never shows a password by itself.
type passFile struct{ entries []passEntry }

// passEntry is one line: four patterns, each a text or "*" for anything, and the password.
type passEntry struct {
	patterns [4]passPattern
	password string
}

// passPattern keeps apart a star that stands for anything and one that was written \*.
type passPattern struct {
	text string
	any  bool
}

// parsePassFile reads lines of host:port:database:user:password. A * matches anything, a backslash before
// a colon or a backslash makes it part of its field, and lines that are empty or begin with #
// are skipped. badLines are the numbers, from 1, of lines that have fewer than five fields; they are skipped too.
func parsePassFile(text string) (file passFile, badLines []int) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		e, ok := parsePassLine(line)
		if !ok {
			badLines = append(badLines, i+1)
			continue
		}
		file.entries = append(file.entries, e)
	}
	return file, badLines
}

// parsePassLine reads one line. The password is all that follows the fourth colon, so that one which holds
// unescaped colons is read as it was meant.
func parsePassLine(line string) (e passEntry, ok bool) {
	for i := range e.patterns {
		text, rest, found := cutPassField(line)
		if !found {
			return e, false
		}
		e.patterns[i] = passPattern{text: unescapePassField(text), any: text == "*"}
		line = rest
	}
	e.password = unescapePassField(line)
	return e, true
}

// cutPassField cuts at the first colon that no backslash protects.
func cutPassField(line string) (field, rest string, found bool) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case ':':
			return line[:i], line[i+1:], true
		}
	}
	return line, "", false
}

// unescapePassField takes the backslashes away that protect a byte.
func unescapePassField(field string) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+1 < len(field) {
			i++
		}
		b.WriteByte(field[i])
	}
	return b.String()
}

// password returns the password of the first line that is for a node of the DSN or the topology. ok is
// false if there is none.
func (f passFile) password(host string, port uint16, database, user string) (password string, ok bool) {
	for _, e := range f.entries {
		if (e.patterns[0].any || sameHost(e.patterns[0].text, host)) &&
			e.patterns[1].matches(strconv.Itoa(int(port))) &&
			e.patterns[2].matches(database) && e.patterns[3].matches(user) {
			return e.password, true
		}
	}
	return "", false
}

func (p passPattern) matches(text string) bool { return p.any || p.text == text }

// String tells how many lines the file has, and nothing of them.
func (f passFile) String() string { return fmt.Sprintf("passFile(%d lines)", len(f.entries)) }

// GoString is String.
func (f passFile) GoString() string { return f.String() }

// Format prints String whatever the verb.
func (f passFile) Format(s fmt.State, _ rune) {
	// A fmt.State that can't be written to has no other way to say so.
	_, _ = s.Write([]byte(f.String()))
}

// checkPassFileMode refuses a password file that others than its owner may read or write, as libpq does, or that
// isn't a regular file. Windows has no such permissions.
func checkPassFileMode(name string, mode fs.FileMode) error {
	switch {
	case !mode.IsRegular():
		return &ConfigError{Key: "passfile", Value: name, Msg: "not a regular file"}
	case mode.Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return &ConfigError{Key: "passfile", Value: name,
			Msg: fmt.Sprintf("others have access to it (%v): allow its owner alone, as chmod 0600 does", mode.Perm())}
	}
	return nil
}

// maxPassFile bounds what is read of a password file, in bytes.
const maxPassFile = 1 << 20

// ReadPassFile opens c.PassFile through open (os.Open, for instance), refuses it if others have access to it, and
// returns the password for a node; host and port are those that are dialled. ok is false if no passfile is set
// or no line is for the node: then this node must get no password at all.
func (c *Config) ReadPassFile(open func(name string) (fs.File, error), host string, port uint16) (password string, ok bool, err error) {
	if c.PassFile == "" {
		return "", false, nil
	}
	f, err := open(c.PassFile)
	if err != nil {
		return "", false, fmt.Errorf("picodata: config: passfile: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, fmt.Errorf("picodata: config: passfile: %w", err)
	}
	if err := checkPassFileMode(c.PassFile, info.Mode()); err != nil {
		return "", false, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxPassFile))
	if err != nil {
		return "", false, fmt.Errorf("picodata: config: passfile: %w", err)
	}
	file, _ := parsePassFile(string(text))
	password, ok = file.password(host, port, c.Database, c.User)
	return password, ok, nil
}
