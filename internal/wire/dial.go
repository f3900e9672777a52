package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq"

	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/options"
)

// Dial connects to a node, asks for TLS as sslmode says, and logs in. The context and
// connect_timeout bound all of it together. The context has no say over the connection
// once Dial returned.
func Dial(ctx context.Context, cfg *Config, target Target) (*Conn, error) {
	fail := func(stage Stage, config bool, cause error) error {
		return &Error{Stage: stage, Node: target.node(), Address: target.Address, Config: config, Cause: cause}
	}
	if err := cfg.checkStartup(); err != nil {
		return nil, fail(StageLogin, true, err)
	}
	tlsConfig, err := tlsFor(cfg.Options, target)
	if err != nil {
		return nil, fail(StageTLS, true, err)
	}
	d := dialer{cfg: cfg, target: target, tls: tlsConfig}
	caller := ctx
	ctx, cancel := connecting(ctx, cfg.Options)
	defer cancel()
	d.stage = StageLogin
	if err := d.askPassword(ctx); err != nil {
		if caller.Err() == nil && ctx.Err() != nil {
			err = connectTimeout(cfg.Options.ConnectTimeout)
		}
		return nil, fail(d.stage, d.config, err)
	}
	c, err := d.connect(ctx, cfg.Options.SSLMode != options.SSLAllow)
	if err != nil && cfg.Options.SSLMode == options.SSLAllow && wantsTLS(err) {
		c, err = d.connect(ctx, true)
	}
	if err == nil {
		return c, nil
	}
	var pe *pq.Error
	switch {
	case errors.As(err, &pe): // what the server said counts, whatever the clock says now
	case caller.Err() != nil:
		err = caller.Err()
	case ctx.Err() != nil:
		err = connectTimeout(cfg.Options.ConnectTimeout)
	}
	return nil, fail(d.stage, d.config, err)
}

// connecting bounds a dial by connect_timeout, which nobody else looks at.
func connecting(ctx context.Context, o *options.Config) (context.Context, context.CancelFunc) {
	if o.ConnectTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	if o.Clock == nil {
		return context.WithTimeout(ctx, o.ConnectTimeout)
	}
	ctx, cancel := context.WithCancel(ctx)
	t := o.Clock.AfterFunc(o.ConnectTimeout, cancel)
	return ctx, func() {
		t.Stop()
		cancel()
	}
}

// dialer is one dial of one node.
type dialer struct {
	cfg    *Config
	target Target
	tls    *tlsPlan
	stage  Stage
	config bool

	password string
}

// wantsTLS says that a server refused a plain connection before anybody logged in.
func wantsTLS(err error) bool {
	r, _ := servererr.Of(err)
	return r.Cause == servererr.TLSRequired || r.Cause == servererr.NotAdmitted
}

// connect makes one connection; encrypt says whether TLS is asked for where the mode
// leaves that open.
func (d *dialer) connect(ctx context.Context, encrypt bool) (_ *Conn, err error) {
	d.stage, d.config = StageDial, false
	nc, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	sock := newSocket(nc)
	w := newWatch(sock)
	w.arm(ctx)
	c, err := d.login(ctx, sock, encrypt)
	fired := w.disarm()
	if err != nil {
		_ = sock.Close()
		return nil, err
	}
	if fired {
		_ = sock.Close()
		return nil, ctx.Err()
	}
	return c, nil
}

func (d *dialer) open(ctx context.Context) (net.Conn, error) {
	if dial := d.cfg.Options.DialFunc; dial != nil {
		nc, err := dial(ctx, "tcp", d.target.Address)
		if err == nil {
			tuneSocket(nc)
		}
		return nc, err
	}
	nd := net.Dialer{KeepAlive: -1} // set by tuneSocket
	if d.cfg.Allowed != nil {
		nd.Control = d.control
	}
	nc, err := nd.DialContext(ctx, "tcp", d.target.Address)
	if err != nil {
		return nil, err
	}
	tuneSocket(nc)
	return nc, nil
}

// control is called for every address that a name has, before it is connected to.
func (d *dialer) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !d.cfg.Allowed(d.target.Address, ap.Addr()) {
		return fmt.Errorf("%v is outside allowed_networks", ap.Addr())
	}
	return nil
}

// login brings a fresh socket to the first ReadyForQuery.
func (d *dialer) login(ctx context.Context, sock *socket, encrypt bool) (*Conn, error) {
	d.stage = StageTLS
	nc, encrypted, err := d.tls.negotiate(ctx, sock, encrypt)
	if err != nil {
		return nil, err
	}
	d.stage = StageLogin
	o := d.cfg.Options
	c := &Conn{cfg: d.cfg, target: d.target, stmts: newStmtCache(o.StatementCacheSize, o.StatementCacheThreshold)}
	c.g = newGuard(nc, sock, encrypted)
	c.g.exchange.refuse = d.clearText(encrypted && d.tls.verifies)
	c.g.owner = c
	c.g.curious = d.target.Identify != nil
	c.watch = newWatch(sock)
	if err := c.login(d.pqConfig()); err != nil {
		switch {
		case errors.Is(c.g.err, ErrCleartext):
			d.config = true
		case encrypted && tlsAlert(c.g.err):
			d.stage = StageTLS // TLS 1.3 tells a client late that its certificate is refused
		}
		return nil, err
	}
	if judge := d.target.Identify; judge != nil {
		err := c.identify(judge)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// pqConfig is lib/pq's configuration, made from nothing: pq.NewConfig would read the
// environment, service files and the user's home.
func (d *dialer) pqConfig() pq.Config {
	o := d.cfg.Options
	host, portText, _ := net.SplitHostPort(d.target.Address)
	port, _ := strconv.ParseUint(portText, 10, 16)
	return pq.Config{
		Host: host, Port: uint16(port),
		User: o.User, Password: d.password,
		Passfile: "\x00", // no file has this name; an empty one would mean ~/.pgpass
		Database: o.Database, Options: d.cfg.StartupOptions, ApplicationName: o.ApplicationName,
		ClientEncoding: "UTF8", Datestyle: "ISO, MDY",
		SSLMode:            pq.SSLModeDisable, // the socket is ready
		BinaryParameters:   true,
		MinProtocolVersion: pq.ProtocolVersion30, MaxProtocolVersion: pq.ProtocolVersion30,
	}
}

// login lets lib/pq log in over the guard.
func (c *Conn) login(config pq.Config) (err error) {
	defer c.recovered(&err)
	connector, err := pq.NewConnectorConfig(config)
	if err != nil {
		return err
	}
	connector.Dialer(handOver{c.g})
	conn, err := connector.Connect(background)
	var pe *pq.Error
	switch {
	case err == nil:
	case errors.As(err, &pe):
		return err
	case errors.Is(c.g.err, io.EOF):
		return errEOF
	case c.g.err != nil:
		return c.g.err
	default:
		return err
	}
	pc, ok := conn.(pqConn)
	if !ok {
		return errors.New("lib/pq's connection lacks a method that the driver needs")
	}
	c.pq = pc
	return nil
}

// handOver is the dialer that gives lib/pq a connection that is already there.
type handOver struct{ g *guard }

func (h handOver) Dial(string, string) (net.Conn, error) { return h.g, nil }
func (h handOver) DialTimeout(string, string, time.Duration) (net.Conn, error) {
	return h.g, nil
}

// Config is what all connections of a connector share. It is read only once the first
// Dial began.
type Config struct {
	// Options is the connector's configuration: who logs in, TLS, timeouts, the size of
	// the statement cache. Required.
	Options *options.Config
	// StartupOptions is the value of the startup parameter "options" ("name=value,…").
	// Empty: the parameter isn't sent, and nothing of Picodata's own goes over the wire.
	StartupOptions string
	// Allowed tells whether the target at address may be reached at this IP address; it is asked once a name
	// has been resolved, before anything is sent. nil: everything may. Options.DialFunc resolves by itself and
	// isn't asked about.
	Allowed func(address string, ip netip.Addr) bool
	// OnNotice gets every NoticeResponse, in the goroutine that reads the answer: it must
	// not block and must not use the connection.
	OnNotice func(*Conn, options.Notice)
}

// Target is the node to dial.
type Target struct {
	Address    string // host:port
	ServerName string // name for TLS; "" = the host of Address
	NodeName   string // for errors and notices; "" = Address
	// Identify judges who answered the login; its error ends the dial. nil: nobody asks.
	Identify Identify
	// Admit is asked before anything is sent with a password that a function or a file gave; credential stands for it and
	// doesn't show it. Its error ends the dial. nil: every password is tried.
	Admit func(credential string) error
}

func (t Target) node() string {
	if t.NodeName != "" {
		return t.NodeName
	}
	return t.Address
}

// serverName is the name that TLS sends and verifies: the override, the target's own, or
// the host that is dialled. A zone is no part of a certificate's name.
func (t Target) serverName(override string) string {
	name := override
	if name == "" {
		name = t.ServerName
	}
	if name == "" {
		name, _, _ = net.SplitHostPort(t.Address)
	}
	if host, _, ok := strings.Cut(name, "%"); ok {
		name = host
	}
	return name
}

func (cfg *Config) logger() *slog.Logger {
	if cfg.Options.Logger != nil {
		return cfg.Options.Logger
	}
	return slog.New(slog.DiscardHandler)
}

// checkStartup refuses a login that can't succeed: no user, whom the server answers by closing the socket without
// a word, and values that would end a string of the startup packet early.
func (cfg *Config) checkStartup() error {
	if cfg.Options.User == "" {
		return errors.New("no user: name one in the DSN (picodata://user@host/ or user=…), with WithUser, or in PGUSER")
	}
	for _, f := range [...]struct{ name, value string }{
		{"user", cfg.Options.User},
		{"database", cfg.Options.Database},
		{"application_name", cfg.Options.ApplicationName},
		{"options", cfg.StartupOptions},
	} {
		if strings.IndexByte(f.value, 0) >= 0 {
			return fmt.Errorf("%s contains a NUL byte", f.name)
		}
	}
	return nil
}
