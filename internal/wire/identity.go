package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/picodata/go-picodata/internal/servererr"
)

// Who answers is asked after every login, before any statement. The question goes out behind the last message of the
// client's in the login, so it costs no round trip: a server reads it when the login is over, and answers behind it.

// The questions by version; neither needs a privilege. Servers before 25.3 know the second.
var whoAreYou = [...]string{"SELECT pico_instance_uuid()", "SELECT instance_uuid()"}

// errAnonymous is a server that doesn't say who it is.
var errAnonymous = errors.New("the server doesn't say which instance it is")

// identity asks the instance's uuid and has the target's owner judge it.
func (c *Conn) identify(judge func(uuid string) error) error {
	for i, sql := range whoAreYou {
		if i > 0 || !c.g.asked {
			if err := c.ask(sql); err != nil {
				return err
			}
		}
		uuid, err := c.told()
		if r, ok := servererr.Of(err); ok && r.Cause == servererr.NoFunction {
			continue
		}
		if err != nil {
			return fmt.Errorf("asking which instance it is: %w", err)
		}
		return judge(uuid)
	}
	return fmt.Errorf("asking which instance it is: %w", errAnonymous)
}

// ask writes a question beneath lib/pq, which is idle.
func (c *Conn) ask(sql string) error {
	_, err := c.g.Write(question(nil, sql))
	return err
}

// question appends a Query message.
func question(dst []byte, sql string) []byte {
	dst = append(dst, 'Q')
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+len(sql)+1))
	dst = append(dst, sql...)
	return append(dst, 0)
}

// told reads the answer: one row of one text.
func (c *Conn) told() (uuid string, err error) {
	c.g.hold, c.g.held = true, nil
	defer func() { c.g.hold = false }()
	for {
		var header [frameHeader]byte
		if _, rerr := io.ReadFull(c.g, header[:]); rerr != nil {
			return "", rerr
		}
		body := make([]byte, be32(header[1:])-4)
		if _, rerr := io.ReadFull(c.g, body); rerr != nil {
			return "", rerr
		}
		switch header[0] {
		case 'E':
			err = parseError(body)
		case 'D':
			if held := c.g.held; len(held) > 6 && be16(held) == 1 {
				uuid = string(held[6:])
			}
		case 'Z':
			if err == nil && uuid == "" {
				err = errAnonymous
			}
			return uuid, err
		}
	}
}

// withQuestion is what lib/pq writes during the login, with the question behind the last message of it.
func (g *guard) withQuestion(p []byte) []byte {
	if !g.curious || g.asked || p[0] != 'p' {
		return p
	}
	switch g.exchange.last {
	case authCleartext, authMD5, authSASLContinue:
		g.asked = true
		g.outstanding++
		return question(append(make([]byte, 0, len(p)+64), p...), whoAreYou[0])
	}
	return p
}
