package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// rewrite puts the waiting Close messages in front of a write and gives the statement that
// it parses a name. The result is one buffer, so it stays one write.
func (g *guard) rewrite(p []byte) ([]byte, error) {
	out := g.wbuf[:0]
	if g.closing > 0 {
		out = append(out, g.closes...)
		g.swallow += g.closing
		g.closes, g.closing = g.closes[:0], 0
	}
	if g.rename != "" {
		name := g.rename
		g.rename = ""
		var ok bool
		if out, p, ok = renameFrame(out, p, 'P', 0, name); !ok {
			return nil, errors.New("lib/pq wrote no unnamed Parse where one was expected")
		}
		// Bind names its portal first, which stays unnamed.
		if out, p, ok = renameFrame(out, p, 'B', 1, name); !ok {
			return nil, errors.New("lib/pq wrote no unnamed Bind where one was expected")
		}
	}
	out = append(out, p...)
	if cap(out) <= keepBuffer {
		g.wbuf = out[:0]
	}
	return out, nil
}

// renameFrame moves the first frame of src to dst, with name in place of the empty string
// at offset skip of its body.
func renameFrame(dst, src []byte, typ byte, skip int, name string) (_, rest []byte, ok bool) {
	if len(src) < frameHeader || src[0] != typ {
		return dst, src, false
	}
	size := int(be32(src[1:])) + 1
	at := frameHeader + skip
	if size <= at || len(src) < size || src[at] != 0 {
		return dst, src, false
	}
	dst = append(dst, typ)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size-1+len(name)))
	dst = append(dst, src[frameHeader:at]...)
	dst = append(dst, name...)
	dst = append(dst, src[at:size]...)
	return dst, src[size:], true
}

// answerPrepare takes the Parse, Describe, Sync of a lib/pq Prepare and answers it from
// what the naming execution brought. Nothing is written.
func (g *guard) answerPrepare(p []byte) (int, error) {
	s := g.prepared
	g.prepared = nil
	if len(p) < frameHeader || p[0] != 'P' || !bytes.HasPrefix(p[frameHeader:], append([]byte(s.name), 0)) {
		return 0, g.fail(errors.New("lib/pq named a statement otherwise than expected"))
	}
	params := make([]byte, 2+4*s.params)
	binary.BigEndian.PutUint16(params, uint16(s.params))
	in := appendFrame(nil, '1', nil)
	in = appendFrame(in, 't', params)
	in = append(in, s.desc...)
	g.inject = appendFrame(in, 'Z', []byte{'I'})
	return len(p), nil
}

// closeLater queues a Close for a named statement.
func (g *guard) closeLater(name string) {
	g.closes = appendClose(g.closes, name)
	g.closing++
}
