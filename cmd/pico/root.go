package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// tool is what the commands take from outside, so that tests can give it.
type tool struct {
	env         func(string) string
	options     []options.Option // of every connector, after the DSN's
	terminal    func(io.Writer) (width int, yes bool)
	height      func(io.Writer) int              // of a terminal in lines; 0 = not known
	interactive func(io.Reader) bool             // somebody types there
	raw         func(io.Reader) (restore func()) // has a terminal give single keys
	simClock    picotest.Clock                   // of simulated clusters and their scenarios; nil = the system's
	logger      *slog.Logger                     // beside the tool's own eyes on the driver's log; nil = none
}

// newTool is the tool of a process.
func newTool() *tool {
	return &tool{
		env: os.Getenv,
		terminal: func(w io.Writer) (int, bool) {
			f, isFile := w.(*os.File)
			if !isFile || !term.IsTerminal(int(f.Fd())) {
				return 0, false
			}
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil || width < 20 {
				width = 80
			}
			return width, true
		},
		height: func(w io.Writer) int {
			if f, isFile := w.(*os.File); isFile {
				if _, height, err := term.GetSize(int(f.Fd())); err == nil {
					return height
				}
			}
			return 0
		},
		raw: func(r io.Reader) func() {
			if f, isFile := r.(*os.File); isFile && term.IsTerminal(int(f.Fd())) {
				if state, err := term.MakeRaw(int(f.Fd())); err == nil {
					return func() { _ = term.Restore(int(f.Fd()), state) }
				}
			}
			return func() {} // keys then wait for Enter
		},
		interactive: func(r io.Reader) bool {
			f, isFile := r.(*os.File)
			return isFile && term.IsTerminal(int(f.Fd()))
		},
	}
}

// version is what the build knows of itself: the module's version or the commit it was built from, the Go that built it, and the
// servers that the driver is tested with.
func version(info *debug.BuildInfo, ok bool) string {
	text, commit := "unknown", ""
	if ok {
		text = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = ", commit " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " with changes"
			}
		}
		if text == "" {
			text = "(devel)"
		}
	}
	return fmt.Sprintf("%s%s (%s, %s/%s), for Picodata %d.%d to %d.%d", text, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		oldest.Major, oldest.Minor, newest.Major, newest.Minor)
}

// root is the command tree.
func (t *tool) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pico",
		Short: "The tool around the Picodata driver for Go",
		Long: `The tool around the Picodata driver for Go.

A cluster is named by a DSN, as the first argument, with --dsn, or in the environment
variable PICODATA_DSN. A password in an argument shows in the list of processes: leave it
out and set PGPASSWORD, or name a file with passfile=.

Exit codes: 0 all is well; 1 the command failed; 2 wrong usage or a wrong DSN;
3 pico check found warnings; 4 pico check found faults, statements of pico bench failed,
or rows of pico load or pico dump are left.`,
		Example: `  export PICODATA_DSN='picodata://app@node-a,node-b/' PGPASSWORD=…
  pico check
  pico topology --watch
  pico route 'INSERT INTO orders VALUES ($1, $2)' 1 tea`,
		Version:       version(debug.ReadBuildInfo()),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("pico {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(t.newTopology(), t.newCheck(), t.newRoute(), t.newBench(), t.newLoad(), t.newDump(), t.newDrain(), t.newShell(), t.newSim())
	return root
}

// run is main without the process: it returns the exit code.
func (t *tool) run(ctx context.Context, args []string, in io.Reader, out, diag io.Writer) int {
	root := t.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(diag)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	showError(diag, cmd.CommandPath(), err, possibleDSNs(cmd, args))
	return code
}
