package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/internal/servererr"
	"github.com/picodata/go-picodata/internal/wire"
	"github.com/picodata/go-picodata/options"
)

// showError says what went wrong, where the error knows it, and what to do. dsns are the arguments of the command line that may
// name a cluster: secrets in them are not repeated.
func showError(w io.Writer, command string, err error, dsns []string) {
	var v verdict
	if errors.As(err, &v) {
		return
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	text := strings.TrimPrefix(scrub(err.Error(), dsns), "picodata: ")
	if what, like, ok := strings.Cut(text, "\n\nDid you mean this?\n"); ok {
		text = what + "; did you mean " + strings.Join(strings.Fields(like), " or ") + "?"
	}
	if !strings.HasPrefix(text, "pico") {
		text = "pico: " + text
	}
	fmt.Fprintln(w, text)
	if do := advice(err); do != "" {
		fmt.Fprintln(w, "  what to do:", do)
	}
	if exitCode(err) == exitUsage {
		fmt.Fprintf(w, "  see: %s --help\n", command)
	}
}

// scrub takes the DSNs of the command line out of a text: what parses arguments quotes them in its errors.
func scrub(text string, dsns []string) string {
	for _, dsn := range dsns {
		if looksLikeDSN(dsn) {
			text = strings.ReplaceAll(text, dsn, options.RedactDSN(dsn))
		}
	}
	return text
}

// possibleDSNs are the arguments that may be a DSN: all but the values of other flags, of which some look like key=value words too.
func possibleDSNs(cmd *cobra.Command, args []string) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		name, flag := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		name, value, joined := strings.Cut(name, "=")
		f := cmd.Flags().Lookup(name)
		if f == nil && len(name) == 1 {
			f = cmd.Flags().ShorthandLookup(name)
		}
		switch {
		case !flag || f == nil:
			list = append(list, args[i])
		case f.Name == "dsn" && joined:
			list = append(list, value)
		case f.Name != "dsn" && f.NoOptDefVal == "" && !joined:
			i++ // its value
		}
	}
	return list
}

// advice says what to do about an error, "" if the error says it itself or nobody knows.
func advice(err error) string {
	var (
		usage   *usageError
		config  *picodata.ConfigError
		role    *picodata.RoleUnknownError
		auth    *picodata.AuthError
		acquire *picodata.AcquireTimeoutError
		none    *picodata.NoNodeError
		w       *wire.Error
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &role), errors.As(err, &acquire):
		return ""
	case errors.As(err, &config):
		return "docs/configuration.md has every key with its allowed values"
	case wantsTLS(err):
		return "the server lets nobody in without TLS: sslmode=prefer, or verify-full with sslrootcert=FILE"
	case errors.As(err, &auth), errors.As(err, &w) && w.LoginRefused():
		return `check user and password (in the DSN, PGPASSWORD or passfile). After four refusals in a row an instance locks the user; an administrator unlocks with ALTER USER "…" WITH LOGIN`
	case errors.As(err, &none):
		return "pico topology shows every instance with the reason why it is or isn't used"
	case errors.Is(err, wire.ErrCleartext):
		return ""
	case errors.As(err, &w) && w.Stage == wire.StageTLS:
		return "compare sslmode, sslrootcert and the host names with what the server has; pico check looks at every certificate"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "is the instance running, and is this its port for pgproto (4327 unless configured), not for iproto or http?"
	case errors.Is(err, os.ErrPermission):
		return "check the rights on the file"
	case errors.Is(err, context.DeadlineExceeded):
		return "give it longer with --timeout; an instance that is starting accepts connections and stays silent, and so does a firewall. pico check looks at each address"
	case errors.As(err, &w) && w.Stage <= wire.StageLogin:
		return "pico check looks at each address and says which ones answer"
	case picodata.IsPermission(err):
		return "an administrator can GRANT the right; pico check lists those that the driver has a use for"
	}
	return ""
}

// wantsTLS tells the refusal of a login without TLS from that of a wrong password.
func wantsTLS(err error) bool {
	r, _ := servererr.Of(err)
	return r.Cause == servererr.TLSRequired
}
