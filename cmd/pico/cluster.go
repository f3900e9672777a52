package main

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// dsnVariable is the environment variable that names the cluster.
const dsnVariable = "PICODATA_DSN"

// target are the flags that every command has that talks to a cluster.
type target struct {
	dsn  string
	wait time.Duration
}

func (g *target) flags(cmd *cobra.Command, wait time.Duration, of string) {
	f := cmd.Flags()
	f.StringVar(&g.dsn, "dsn", "", "the cluster, if no argument names it; default $"+dsnVariable)
	f.DurationVar(&g.wait, "timeout", wait, of)
}

// keyword is how a DSN of key=value words begins. No statement does.
var keyword = regexp.MustCompile(`^\s*[a-z_]+\s*=`)

// looksLikeDSN tells a DSN from a statement.
func looksLikeDSN(text string) bool {
	for _, scheme := range []string{"picodata://", "postgres://", "postgresql://"} {
		if len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme) {
			return true
		}
	}
	return keyword.MatchString(text)
}

// choose finds the cluster and returns the arguments that are left. Exactly one of the argument, the flag and
// the environment names it, in this order.
func (t *tool) choose(g *target, args []string) (*options.Config, []string, error) {
	dsn := t.env(dsnVariable)
	switch {
	case len(args) > 0 && looksLikeDSN(args[0]):
		if g.dsn != "" {
			return nil, nil, &usageError{errors.New("the cluster is given twice, by an argument and by --dsn")}
		}
		dsn, args = args[0], args[1:]
	case g.dsn != "":
		dsn = g.dsn
	}
	if dsn == "" {
		return nil, nil, &usageError{errors.New("no cluster: give a DSN such as picodata://app@host:4327/, or --dsn, or set " + dsnVariable)}
	}
	cfg, err := options.ParseDSNWithEnv(dsn, t.lookup)
	if err != nil {
		return nil, nil, err
	}
	if err := cfg.Apply(t.options...); err != nil {
		return nil, nil, err
	}
	return cfg, args, nil
}

// chooseOnly is choose for commands without other arguments.
func (t *tool) chooseOnly(g *target, args []string) (*options.Config, error) {
	if len(args) > 1 || len(args) == 1 && !looksLikeDSN(args[0]) {
		// The text isn't repeated: it may be a DSN with a password and a fault in it.
		return nil, &usageError{errors.New("an argument that is no DSN: a DSN begins with picodata:// or is made of key=value words")}
	}
	cfg, _, err := t.choose(g, args)
	return cfg, err
}

func (t *tool) lookup(name string) (string, bool) {
	v := t.env(name)
	return v, v != ""
}

// client is a cluster that is connected to.
type client struct {
	*picodata.Connector
	db  *sql.DB
	log *eventLog
}

// open makes a client. It does no I/O: the first statement does.
func (t *tool) open(cfg *options.Config, opts ...options.Option) (*client, error) {
	log := newEventLog(t.logger)
	opts = append([]options.Option{options.WithLogger(log.logger())}, opts...)
	c, err := picodata.NewConnector(cfg, opts...)
	if err != nil {
		return nil, err
	}
	return &client{Connector: c, db: sql.OpenDB(c), log: log}, nil
}

// reach runs f on a cluster that has answered, and closes it. start ends when the time to wait for it is over.
func (t *tool) reach(ctx context.Context, cfg *options.Config, wait time.Duration, f func(start context.Context, c *client) error) error {
	c, err := t.open(cfg)
	if err != nil {
		return err
	}
	start, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err = c.db.PingContext(start); err == nil {
		err = f(start, c)
	}
	return errors.Join(err, c.Close())
}

// Close closes the pool and with it the connector.
func (c *client) Close() error { return c.db.Close() }
