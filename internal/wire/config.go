package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/picodata/go-picodata/options"
)

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
	// Identify is told the uuid of the instance that answered the login; its error ends the dial. nil: nobody asks.
	Identify func(uuid string) error
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
