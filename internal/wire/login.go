package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/options"
)

// The codes of an Authentication message that the driver answers. Picodata asks for MD5 by default, for SCRAM since
// 25.4, and for the password itself of LDAP users.
const (
	authOK           = 0
	authCleartext    = 3
	authMD5          = 5
	authSASL         = 10
	authSASLContinue = 11
	authSASLFinal    = 12
)

// scramIterations bounds what a server may have the client compute for SCRAM: a fraction of a second, which nothing
// interrupts. PostgreSQL's default is 4,096; 600,000 is what OWASP recommends at most for PBKDF2 with SHA-256.
const scramIterations = 600_000

// exchange is how far a login's exchange of secrets has come. A server asks once: more would be questions of somebody
// who collects answers.
type exchange struct {
	refuse error  // why no password may go out in clear text; nil: it may
	last   uint32 // code of the request before
	begun  bool
}

// authentication looks at a request of the login before lib/pq sees it.
func (x *exchange) authentication(body []byte) error {
	malformed := func(format string, args ...any) error {
		return &FrameError{Type: 'R', Length: uint32(len(body) + 4), Reason: fmt.Sprintf(format, args...)}
	}
	if len(body) < 4 {
		return malformed("too short")
	}
	code, rest := be32(body), body[4:]
	last, begun := x.last, x.begun
	x.last, x.begun = code, true
	switch code {
	case authOK:
		if len(rest) != 0 {
			return malformed("more than an OK")
		}
		if last == authSASL || last == authSASLContinue {
			return malformed("the server ends SCRAM without a proof of its own")
		}
	case authCleartext, authMD5, authSASL:
		if begun {
			return malformed("a second request of a secret")
		}
		return x.request(code, rest, malformed)
	case authSASLContinue:
		if last != authSASL {
			return malformed("SCRAM that nobody began")
		}
		return checkServerFirst(rest, malformed)
	case authSASLFinal:
		if last != authSASLContinue {
			return malformed("the end of SCRAM that nobody began")
		}
		if len(rest) < 2 || rest[1] != '=' || rest[0] != 'v' && rest[0] != 'e' {
			return malformed("not the end of SCRAM")
		}
	default:
		return malformed("the driver knows no login of kind %d", code)
	}
	return nil
}

// request checks the server's first request.
func (x *exchange) request(code uint32, rest []byte, malformed func(string, ...any) error) error {
	switch code {
	case authCleartext:
		if len(rest) != 0 {
			return malformed("more than a request of the password")
		}
		return x.refuse
	case authMD5:
		if len(rest) != 4 {
			return malformed("no salt")
		}
	case authSASL:
		if n := len(rest); n < 2 || rest[n-1] != 0 || rest[n-2] != 0 {
			return malformed("not a list of mechanisms")
		}
		for m := range bytes.SplitSeq(rest[:len(rest)-2], []byte{0}) {
			if string(m) == "SCRAM-SHA-256" {
				return nil
			}
		}
		return malformed("none of the server's mechanisms is SCRAM-SHA-256")
	}
	return nil
}

// checkServerFirst checks a server-first-message of RFC 5802 without extensions.
func checkServerFirst(b []byte, malformed func(string, ...any) error) error {
	fields := bytes.Split(b, []byte{','})
	if len(fields) != 3 || !bytes.HasPrefix(fields[0], []byte("r=")) || !bytes.HasPrefix(fields[1], []byte("s=")) || !bytes.HasPrefix(fields[2], []byte("i=")) {
		return malformed("not the first message of SCRAM")
	}
	if _, err := base64.StdEncoding.DecodeString(string(fields[1][2:])); err != nil {
		return malformed("the salt of SCRAM isn't base64")
	}
	n, err := strconv.ParseUint(string(fields[2][2:]), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n == 0 {
		return malformed("the iterations of SCRAM aren't a number")
	}
	if n > scramIterations {
		return fmt.Errorf("%w: the server asks for %s", ErrIterations, fields[2][2:])
	}
	return nil
}

// clearText says why the password may not go out in clear text over a connection; nil: it may.
func (d *dialer) clearText(verified bool) error {
	o := d.cfg.Options
	switch {
	case verified:
		return nil
	case !o.AllowCleartextPassword:
		return ErrCleartext
	case len(o.AllowedNetworks) > 0 || d.named():
		return nil
	}
	return ErrCleartextDiscovered
}

// named reports whether the user named the target, in the DSN's hosts or as where an address is mapped to. Of all
// others only a server says that they belong to the cluster.
func (d *dialer) named() bool {
	for _, h := range d.cfg.Options.Hosts {
		if h.Address() == d.target.Address {
			return true
		}
	}
	host, _, err := net.SplitHostPort(d.target.Address)
	for _, m := range d.cfg.Options.AddressMap {
		if m.To == d.target.Address || err == nil && m.To == host {
			return true
		}
	}
	return false
}

// PasswordChanges reports whether the next dial may log in with another password than the last one: a function or a
// file gives it.
func PasswordChanges(o *options.Config) bool {
	return o.PasswordFunc != nil || o.Password == "" && o.PassFile != ""
}

// askPassword finds out what a dial logs in with, once, before it connects. The error is typed: of the configuration
// where no other node would do better.
func (d *dialer) askPassword(ctx context.Context) error {
	o := d.cfg.Options
	switch {
	case o.PasswordFunc != nil:
		password, err := o.PasswordFunc(ctx)
		if err != nil {
			return fmt.Errorf("asking for the password: %w", err)
		}
		d.password = password
	case o.Password != "" || o.PassFile == "":
		d.password = o.Password
		return nil
	default:
		host, portText, _ := net.SplitHostPort(d.target.Address)
		port, _ := strconv.ParseUint(portText, 10, 16)
		password, ok, err := o.ReadPassFile(openFile, host, uint16(port))
		switch {
		case err != nil:
			d.config = true
			return err
		case !ok:
			return &options.ConfigError{Key: "passfile", Value: o.PassFile,
				Msg: fmt.Sprintf("no line is for %s, database %q and user %q, so this node gets no password; * in the host's place is for all nodes", d.target.Address, o.Database, o.User)}
		}
		d.password = password
	}
	if d.target.Admit == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(d.password))
	return d.target.Admit(string(sum[:]))
}

func openFile(name string) (fs.File, error) { return os.Open(name) }

// Who answers is asked after every login, before any statement. The question goes out behind the last message of the
// client's in the login, so it costs no round trip: a server reads it when the login is over, and answers behind it.

// The questions by version; neither needs a privilege. Servers before 25.3 know the second.
var whoAreYou = [...]string{"SELECT pico_instance_uuid()", "SELECT instance_uuid()"}

// Identify is told the uuid of the instance that answered a login, "" if the server doesn't know the question, and may
// ask more.
type Identify func(uuid string, ask Ask) error

// Ask runs a query that has one row of one text for an answer.
type Ask func(sql string) (string, error)

// errAnonymous is a server that doesn't say who it is.
var errAnonymous = errors.New("the server doesn't say which instance it is")

// identify asks the instance's uuid and has the target's owner judge it.
func (c *Conn) identify(judge Identify) error {
	ask := func(sql string) (string, error) {
		if err := c.ask(sql); err != nil {
			return "", err
		}
		return c.told()
	}
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
		return judge(uuid, ask)
	}
	return judge("", ask)
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

// Probe asks whether somebody answers at a node: it connects, sends an SSLRequest (PostgreSQL's protocol, "SSL Session
// Encryption"), which every server answers with a byte before anybody logs in, and hangs up. Nothing counts as a login,
// and a server that hangs up is there too. The context bounds it.
func Probe(ctx context.Context, cfg *Config, target Target) error {
	d := dialer{cfg: cfg, target: target}
	fail := func(err error) error {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &Error{Stage: StageDial, Node: target.node(), Address: target.Address, Cause: err}
	}
	nc, err := d.open(ctx)
	if err != nil {
		return fail(err)
	}
	defer nc.Close()
	w := newWatch(nc)
	w.arm(ctx)
	defer w.disarm()
	if _, err := nc.Write(sslRequest[:]); err != nil {
		return fail(err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(nc, answer[:]); err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	return nil
}
