package wire

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// toBinary makes the binary format of a text value, for the types that lib/pq asks for in it.
func toBinary(oid uint32, text []byte) []byte {
	switch oid {
	case 20, 21, 23:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			panic(err)
		}
		b := binary.BigEndian.AppendUint64(nil, uint64(n))
		return b[map[uint32]int{20: 0, 23: 4, 21: 6}[oid]:]
	case 2950:
		b, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
		if err != nil {
			panic(err)
		}
		return b
	}
	return text
}
