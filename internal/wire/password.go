package wire

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"

	"github.com/picodata/go-picodata/options"
)

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
