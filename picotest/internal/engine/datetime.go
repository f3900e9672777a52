package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Datetime is an instant with the offset it was written with: the offset shows in texts and counts in the bucket hash, not in
// comparisons.
type Datetime struct {
	Sec    int64 // Unix seconds
	Nsec   int32
	Offset int16 // minutes east of UTC
}

var errDatetime = errors.New("not a datetime")

// DatetimeOf takes an instant as UTC, to the microsecond, as binary parameters and the clock are.
func DatetimeOf(t time.Time) Datetime {
	return Datetime{Sec: t.Unix(), Nsec: int32(t.Nanosecond() / 1000 * 1000)}
}

func (d Datetime) time() time.Time {
	return time.Unix(d.Sec, int64(d.Nsec)).In(time.FixedZone("", int(d.Offset)*60))
}

// String writes 2024-01-02 03:04:05.123456+03:30, the fraction and the minutes of the offset only when there are any.
func (d Datetime) String() string {
	t := d.time()
	s := t.Format("2006-01-02 15:04:05")
	if us := d.Nsec / 1000; us != 0 {
		s += fmt.Sprintf(".%06d", us)
	}
	off, sign := int(d.Offset), "+"
	if off < 0 {
		off, sign = -off, "-"
	}
	s += fmt.Sprintf("%s%02d", sign, off/60)
	if off%60 != 0 {
		s += fmt.Sprintf(":%02d", off%60)
	}
	return s
}

// iso writes the storage's form, with the zone as +0300: 2024-01-02T03:04:05.123456Z.
func (d Datetime) iso() string { return d.time().Format("2006-01-02T15:04:05.999999999Z0700") }

// ParseDatetime reads a date alone (midnight UTC) or a date, a time and an offset, ISO 8601 or RFC 3339, with T or a blank between.
func ParseDatetime(s string) (Datetime, error) {
	if t, err := time.Parse("2006-01-02", s); err == nil {
		return Datetime{Sec: t.Unix()}, nil
	}
	if strings.HasPrefix(s, "-") {
		t, err := time.Parse("2006-01-02", s[1:])
		if err != nil {
			return Datetime{}, errDatetime
		}
		return Datetime{Sec: time.Date(-t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix()}, nil
	}
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 -0700", "02 Jan 2006 15:04:05 -0700"} { // RFC 2822
		if t, err := time.Parse(layout, s); err == nil {
			_, off := t.Zone()
			return Datetime{Sec: t.Unix(), Offset: int16(off / 60)}, nil
		}
	}
	if len(s) < 20 || s[10] != 'T' && s[10] != 't' && s[10] != ' ' {
		return Datetime{}, errDatetime
	}
	date, rest := s[:10], s[11:]
	cut := strings.IndexAny(rest, "Zz+-")
	if cut < 0 {
		return Datetime{}, errDatetime
	}
	clock, zone := strings.TrimSuffix(rest[:cut], " "), rest[cut:]
	t, err := time.Parse("2006-01-02 15:04:05", date+" "+clock)
	if err != nil {
		return Datetime{}, errDatetime
	}
	off, ok := parseOffset(zone)
	if !ok {
		return Datetime{}, errDatetime
	}
	return Datetime{Sec: t.Unix() - int64(off)*60, Nsec: int32(t.Nanosecond()), Offset: int16(off)}, nil
}

func parseOffset(z string) (minutes int, ok bool) {
	if z == "Z" || z == "z" {
		return 0, true
	}
	digits := strings.Replace(z[1:], ":", "", 1)
	if len(digits) != 2 && len(digits) != 4 || !allDigits(digits) {
		return 0, false
	}
	h, _ := strconv.Atoi(digits[:2])
	m := 0
	if len(digits) == 4 {
		m, _ = strconv.Atoi(digits[2:])
	}
	if h > 14 || m > 59 {
		return 0, false
	}
	minutes = h*60 + m
	if z[0] == '-' {
		minutes = -minutes
	}
	return minutes, true
}
