package options

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
)

// Option changes a Config. NewConnector applies options in order to a copy.
type Option func(*Config) error

// Apply applies options in order and then normalizes c. It stops at the first error.
func (c *Config) Apply(opts ...Option) error {
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(c); err != nil {
			return err
		}
	}
	return c.Normalize()
}

// WithInstanceRole sets the nodes that users' statements may use. It wins over a DSN and over what
// read_preference and forward would make of the role, and contradicts them as the key does.
func WithInstanceRole(v InstanceRole) Option {
	return func(c *Config) error {
		c.InstanceRole, c.RoleDerived = v, false
		c.origin.roleGiven, c.origin.roleAt = true, "WithInstanceRole"
		return nil
	}
}

// WithReadPreference sets the server's read_preference for all connections. Another value in the DSN, by its
// key or inside options=, is an error: neither is meant to win. ReadPreferenceUnset takes back
// what was given.
func WithReadPreference(v ReadPreference) Option {
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		if v == ReadPreferenceUnset {
			c.ReadPreference, c.origin.readPreference = v, place[ReadPreference]{}
			return nil
		}
		return c.giveReadPreference(v, "WithReadPreference")
	}
}

// WithForward sets the server's forward for all connections. Another value in the DSN, by its key or inside
// options=, is an error: neither is meant to win. ForwardUnset takes back what was given.
func WithForward(v Forward) Option {
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		if v == ForwardUnset {
			c.Forward, c.origin.forward = v, place[Forward]{}
			return nil
		}
		return c.giveForward(v, "WithForward")
	}
}

// WithServerOptions sets the settings of the startup parameter "options", in place of all before but
// read_preference and forward, which count as if given by their own options.
func WithServerOptions(v ...Setting) Option {
	v = slices.Clone(v)
	return func(c *Config) error {
		if err := c.liftServerOptions(); err != nil {
			return err
		}
		c.ServerOptions, c.origin.optionsAt = slices.Clone(v), "WithServerOptions"
		return c.liftServerOptions()
	}
}

// WithStaticPassword sets the password. WithPassword goes before it.
func WithStaticPassword(v string) Option {
	return func(c *Config) error { c.Password = v; return nil }
}

// WithPassword sets a function that gives the password, instead of the DSN's or the password file's. It is
// asked for every dial, with the dial's context, from any goroutine and several at a time. An error of
// it is one of that dial. After a refused login it is asked again, and the driver tries again only
// with another password or after a cool-down: four failures lock a user on an instance.
func WithPassword(v func(ctx context.Context) (string, error)) Option {
	return func(c *Config) error { c.PasswordFunc = v; return nil }
}

// WithTLSConfig sets the certificates and everything else that the TLS handshake uses. The driver clones it per
// dial and sets ServerName where it is empty. sslmode still says when TLS is asked for and
// whether the server is verified; sslrootcert, sslcert and sslkey can't be given besides.
func WithTLSConfig(v *tls.Config) Option {
	return func(c *Config) error { c.TLSConfig = v.Clone(); return nil }
}

// WithDialer sets the function that opens connections, instead of net.Dialer's DialContext. network is "tcp";
// address is host:port after address_map.
func WithDialer(v func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(c *Config) error { c.DialFunc = v; return nil }
}

// WithDialFunc is WithDialer under the name of its field.
func WithDialFunc(v func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return WithDialer(v)
}

// WithPasswordFunc is WithPassword under the name of its field.
func WithPasswordFunc(v func(ctx context.Context) (string, error)) Option { return WithPassword(v) }
