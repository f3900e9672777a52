package engine

import (
	"encoding/binary"
	"strings"
)

// decodeArrayText reads {a,"b c",NULL}. As on the server, "" and "NULL" in quotes read as NULL too.
func decodeArrayText(elem uint32, s string) (Value, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return nil, false
	}
	a := Array{Elem: storedElem(elem)}
	body := s[1 : len(s)-1]
	if strings.TrimSpace(body) == "" {
		return a, true
	}
	for {
		item, rest, more, ok := arrayItem(body)
		if !ok {
			return nil, false
		}
		if item == "" || strings.EqualFold(item, "null") {
			a.Items = append(a.Items, nil)
		} else {
			v, ok := decodeText(elem, item)
			if !ok {
				return nil, false
			}
			a.Items = append(a.Items, v)
		}
		if !more {
			return a, true
		}
		body = rest
	}
}

func arrayItem(s string) (item, rest string, more, ok bool) {
	s = strings.TrimLeft(s, " \t\n")
	var b strings.Builder
	i := 0
	if strings.HasPrefix(s, `"`) {
		for i = 1; i < len(s) && s[i] != '"'; i++ {
			if s[i] == '\\' && i+1 < len(s) {
				i++
			}
			b.WriteByte(s[i])
		}
		if i >= len(s) {
			return "", "", false, false
		}
		i++
	} else {
		for ; i < len(s) && s[i] != ','; i++ {
			if s[i] == '{' || s[i] == '}' || s[i] == '"' {
				return "", "", false, false
			}
			b.WriteByte(s[i])
		}
	}
	item = b.String()
	if !strings.HasPrefix(s, `"`) {
		item = strings.TrimSpace(item)
	}
	s = strings.TrimLeft(s[i:], " \t\n")
	if s == "" {
		return item, "", false, true
	}
	if s[0] != ',' {
		return "", "", false, false
	}
	return item, s[1:], true, true
}

// storedElem is the type that elements have once stored: there is one integer and one text type.
func storedElem(oid uint32) uint32 {
	switch oid {
	case OIDInt2, OIDInt4:
		return OIDInt8
	case OIDVarchar:
		return OIDText
	case 700:
		return OIDFloat8
	}
	return oid
}

func decodeArrayBinary(elem uint32, b []byte) (Value, bool) {
	if len(b) < 12 {
		return nil, false
	}
	dims := binary.BigEndian.Uint32(b)
	typ := binary.BigEndian.Uint32(b[8:])
	a := Array{Elem: storedElem(elem)}
	if dims == 0 {
		return a, len(b) == 12
	}
	if dims != 1 || typ != elem || len(b) < 20 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(b[12:])
	b = b[20:]
	for range n {
		if len(b) < 4 {
			return nil, false
		}
		size := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if size < 0 {
			a.Items = append(a.Items, nil)
			continue
		}
		if int(size) > len(b) {
			return nil, false
		}
		v, ok := decodeBinary(elem, b[:size])
		if !ok {
			return nil, false
		}
		a.Items = append(a.Items, v)
		b = b[size:]
	}
	return a, len(b) == 0
}

func encodeArrayText(a Array) []byte {
	b := []byte{'{'}
	for i, v := range a.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if v == nil {
			b = append(b, "NULL"...)
			continue
		}
		s := string(encodeText(v))
		if s == "" || strings.EqualFold(s, "null") || strings.ContainsAny(s, "{},\"\\ \t\n\r\v\f") {
			s = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
		}
		b = append(b, s...)
	}
	return append(b, '}')
}

func encodeArrayBinary(a Array) ([]byte, error) {
	if len(a.Items) == 0 {
		b := binary.BigEndian.AppendUint32(nil, 0)
		b = binary.BigEndian.AppendUint32(b, 0)
		return binary.BigEndian.AppendUint32(b, a.Elem), nil
	}
	nulls := uint32(0)
	for _, v := range a.Items {
		if v == nil {
			nulls = 1
		}
	}
	b := binary.BigEndian.AppendUint32(nil, 1)
	b = binary.BigEndian.AppendUint32(b, nulls)
	b = binary.BigEndian.AppendUint32(b, a.Elem)
	b = binary.BigEndian.AppendUint32(b, uint32(len(a.Items)))
	b = binary.BigEndian.AppendUint32(b, 1)
	for _, v := range a.Items {
		if v == nil {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff)
			continue
		}
		enc, err := encodeBinary(v, a.Elem)
		if err != nil {
			return nil, err
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(enc)))
		b = append(b, enc...)
	}
	return b, nil
}
