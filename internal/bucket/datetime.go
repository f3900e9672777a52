package bucket

import (
	"encoding/binary"
	"time"
)

// appendDatetime writes MessagePack extension 4: the short form for whole seconds in UTC.
// A datetime keeps the offset in minutes that it was written with, and the offset counts:
// one instant with two offsets lies in two buckets.
func appendDatetime(dst []byte, sec int64, nsec int32, offset int16) []byte {
	if nsec == 0 && offset == 0 {
		return binary.LittleEndian.AppendUint64(append(dst, 0xd7, 0x04), uint64(sec))
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, 0xd8, 0x04), uint64(sec))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(nsec))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(offset))
	return append(dst, 0, 0) // no named zone
}

// parseDatetime reads YYYY-MM-DD, or YYYY-MM-DD hh:mm:ss[.fraction] with a blank or a T between
// and Z, ±hh or ±hh:mm behind. A time without an offset is refused by the server.
func parseDatetime[T string | []byte](s T) (sec int64, nsec int32, offset int16, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return
	}
	year, ok1 := number(s[:4])
	month, ok2 := number(s[5:7])
	day, ok3 := number(s[8:10])
	if !ok1 || !ok2 || !ok3 || year == 0 || month < 1 || month > 12 || day < 1 {
		return
	}
	midnight := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if midnight.Day() != day {
		return
	}
	sec = midnight.Unix()
	if len(s) == 10 {
		return sec, 0, 0, true
	}
	if len(s) < 20 || s[10] != ' ' && s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return
	}
	hour, ok1 := number(s[11:13])
	minute, ok2 := number(s[14:16])
	second, ok3 := number(s[17:19])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return
	}
	i := 19
	if s[i] == '.' {
		i++
		unit := int32(100_000_000)
		for ; i < len(s) && s[i]-'0' <= 9; i++ {
			nsec += int32(s[i]-'0') * unit
			if unit == 0 {
				return // finer than a nanosecond
			}
			unit /= 10
		}
		if i == 20 || i == len(s) {
			return
		}
	}
	zone, ok := parseOffset(s[i:])
	if !ok {
		return
	}
	sec += int64(hour*3600 + minute*60 + second - zone*60)
	return sec, nsec, int16(zone), true
}

// parseOffset gives minutes east of UTC.
func parseOffset[T string | []byte](s T) (minutes int, ok bool) {
	if len(s) == 1 && s[0] == 'Z' {
		return 0, true
	}
	if len(s) != 3 && len(s) != 6 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, ok1 := number(s[1:3])
	ok2 := true
	if len(s) == 6 {
		minutes, ok2 = number(s[4:6])
		ok2 = ok2 && s[3] == ':'
	}
	if !ok1 || !ok2 || hours > 14 || minutes > 59 {
		return 0, false
	}
	minutes += hours * 60
	if s[0] == '-' {
		minutes = -minutes
	}
	return minutes, true
}

// number reads digits only.
func number[T string | []byte](s T) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int(d)
	}
	return n, true
}
