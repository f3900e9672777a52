package grammar

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is the version of a server as far as its SQL goes: year and minor.
// The zero Version stands for 26.2, the newest release.
type Version struct{ Major, Minor int }

// The versions whose grammar is known. V256 is the development state between
// 25.5 and 26.1 that the recordings of 25.6.0 come from, V263 the one after 26.2.
var (
	V252 = Version{25, 2}
	V255 = Version{25, 5}
	V256 = Version{25, 6}
	V261 = Version{26, 1}
	V262 = Version{26, 2}
	V263 = Version{26, 3}
)

// ParseVersion reads "26.2", "25.6.0-a54cfb72b" and the like.
func ParseVersion(s string) (Version, error) {
	parts := strings.SplitN(strings.TrimPrefix(s, "picodata "), ".", 3)
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && major >= 0 && minor >= 0 {
			return Version{major, minor}, nil
		}
	}
	return Version{}, fmt.Errorf("grammar: %q is no version; want one such as 26.2", s)
}

// AtLeast reports whether v is w or newer.
func (v Version) AtLeast(w Version) bool {
	v = v.known()
	return v.Major > w.Major || v.Major == w.Major && v.Minor >= w.Minor
}

// String gives "26.2".
func (v Version) String() string {
	v = v.known()
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor)
}

func (v Version) known() Version {
	if v == (Version{}) {
		return V262
	}
	return v
}
