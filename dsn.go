package picodata

import (
	"os"

	"github.com/picodata/go-picodata/options"
)

// Config is everything that can be set; package options describes its fields and the types of their values.
// Start from NewConfig or ParseDSN: its zero value isn't usable.
type Config = options.Config

// Option changes a Config. Package options has one for every field: options.WithMaxConns, for instance.
type Option = options.Option

// NewConfig returns a Config with every default filled in. It has no host, user or password yet.
func NewConfig() *Config { return options.New() }

// ParseDSN reads a data source name: a URL such as
//
//	picodata://user:password@h1:4327,h2,[::1]:4329/?instance_role=leader
//
// with one of the schemes picodata, postgres and postgresql, or key=value words as libpq reads them. Every
// value is checked; the error is an *options.ConfigError, which never holds a secret.
// docs/configuration.md describes all keys.
//
// What the DSN leaves out is taken from the environment as options.ParseDSNWithEnv says: PGHOST with
// PGPORT, PGUSER, PGPASSWORD or PGPASSFILE. No other variable is read, and none of these changes
// anything that the DSN gives.
func ParseDSN(dsn string) (*Config, error) {
	return options.ParseDSNWithEnv(dsn, os.LookupEnv)
}

// FormatDSN returns the canonical DSN of a Config, with its password. Use RedactDSN on the result, or
// print the Config itself, for anything that people see.
func FormatDSN(cfg *Config) string { return cfg.FormatDSN() }

// RedactDSN returns a form of dsn that can be logged: the canonical DSN with stars for secrets, or, if
// dsn can't be read beyond doubt, stars alone.
func RedactDSN(dsn string) string { return options.RedactDSN(dsn) }
