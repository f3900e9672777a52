package engine

import (
	"encoding/hex"
	"errors"
	"strings"
)

// Value is a value of SQL: nil (NULL), bool, int64, uint64 (UNSIGNED above the int64 range), float64, string, Decimal, UUID,
// Datetime, JSON or Array.
type Value any

// UUID is a uuid in the order of its text.
type UUID [16]byte

// JSON is a JSON text, as map, array and any columns show themselves.
type JSON string

// Array is a typed array (26.1 and newer); Elem is the OID of its elements.
type Array struct {
	Elem  uint32
	Items []Value
}

// OIDs of PostgreSQL's types, as Picodata shows them.
const (
	OIDBool        uint32 = 16
	OIDInt8        uint32 = 20
	OIDInt2        uint32 = 21
	OIDInt4        uint32 = 23
	OIDText        uint32 = 25
	OIDJSON        uint32 = 114
	OIDFloat8      uint32 = 701
	OIDUnknown     uint32 = 705
	OIDVarchar     uint32 = 1043
	OIDTimestamptz uint32 = 1184
	OIDNumeric     uint32 = 1700
	OIDUUID        uint32 = 2950
)

var errUUID = errors.New("not a uuid")

// ParseUUID reads 32 hexadecimal digits, with or without the usual hyphens.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	plain := s
	if len(s) == 36 {
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return u, errUUID
		}
		plain = strings.ReplaceAll(s, "-", "")
	}
	if len(plain) != 32 {
		return u, errUUID
	}
	if _, err := hex.Decode(u[:], []byte(plain)); err != nil {
		return u, errUUID
	}
	return u, nil
}

// String writes the usual form with hyphens, in lower case.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
