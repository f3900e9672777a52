package metadata

import (
	"cmp"
	"strconv"
	"strings"
)

// Version is a server's version. The zero Version is "unknown": it is older than every
// other and has no feature.
type Version struct {
	Major, Minor, Patch int
}

// ParseVersion reads what version() and picodata_version say: "25.6.0-a54cfb72b",
// "26.1.6-0-gabc1234", "picodata 26.2.1-rc2-dcd72bc91". Anything else gives the unknown
// Version and false.
func ParseVersion(s string) (Version, bool) {
	s = strings.TrimSpace(s)
	if word, rest, ok := strings.Cut(s, " "); ok && strings.EqualFold(word, "picodata") {
		s = strings.TrimSpace(rest)
	}
	s, _, _ = strings.Cut(s, " ")
	s, _, _ = strings.Cut(s, "-")
	s, _, _ = strings.Cut(s, "+")
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return Version{}, false
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return Version{}, false
		}
		if i < len(n) {
			n[i] = int(v)
		}
	}
	return Version{Major: n[0], Minor: n[1], Patch: n[2]}, true
}

// String is "25.6.0", or "unknown".
func (v Version) String() string {
	if v == (Version{}) {
		return "unknown"
	}
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) + "." + strconv.Itoa(v.Patch)
}

// Compare is negative when v is older than w, zero when they are the same release.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// Less tells whether v is older than w.
func (v Version) Less(w Version) bool { return v.Compare(w) < 0 }

// AtLeast tells whether v is of the release line major.minor or a newer one.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Known is false for the version that nobody could read.
func (v Version) Known() bool { return v != Version{} }

// HasBucketFunction: SELECT _pico_bucket('tier') exists since 25.5.1.
func (v Version) HasBucketFunction() bool { return !v.Less(Version{25, 5, 1}) }

// HasQueryMetadata: the startup keys pico_query_metadata, pico_stmt_invalidation and
// read_preference exist since 26.1.1; 25.6 is the name that its development builds bear.
func (v Version) HasQueryMetadata() bool { return v.AtLeast(25, 6) }

// HasForward: the startup key forward exists since 26.2.1.
func (v Version) HasForward() bool { return v.AtLeast(26, 2) }

// HasBlocks: DO $$ … $$ blocks exist since 26.1.1; its development build 25.6.0 refused them.
func (v Version) HasBlocks() bool { return v.AtLeast(26, 1) }

// MinVersion is the oldest version among the instances that are Online, for while a cluster
// is upgraded two versions live in it. It is unknown when an Online instance's version is.
func (t *Topology) MinVersion() Version {
	if t == nil {
		return Version{}
	}
	var low Version
	for i := range t.Instances {
		in := &t.Instances[i]
		if in.State != Online {
			continue
		}
		v, ok := ParseVersion(in.Version)
		if !ok {
			return Version{}
		}
		if !low.Known() || v.Less(low) {
			low = v
		}
	}
	return low
}
