package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// verb is a command of pico sim.
type verb struct {
	name string
	args string // as the help shows them, separated by blanks; … takes the rest of the line
	help string
	do   func(c *picotest.Cluster, args []string, diag io.Writer) error
}

// errEnd is what the command end gives.
var errEnd = errors.New("the simulation is over")

// onNode is a command about one node.
func onNode(name, help string, do func(*picotest.Node)) verb {
	return verb{name, "NODE", help, func(c *picotest.Cluster, args []string, _ io.Writer) error {
		n, err := find(c, args[0])
		if err == nil {
			do(n)
		}
		return err
	}}
}

// verbs are the commands in the order of the help.
func verbs() []verb {
	return []verb{
		{"nodes", "", "who there is, and what they did", func(c *picotest.Cluster, _ []string, diag io.Writer) error {
			showNodes(diag, c)
			return nil
		}},
		onNode("stop", "stop it as an operator does", func(n *picotest.Node) { n.Stop() }),
		onNode("kill", "kill it as kill -9 does", func(n *picotest.Node) { n.Kill() }),
		onNode("start", "start it again", func(n *picotest.Node) { n.Start() }),
		onNode("freeze", "as SIGSTOP: connections stay, nothing is answered", (*picotest.Node).Freeze),
		onNode("thaw", "as SIGCONT", (*picotest.Node).Thaw),
		onNode("refuse", "refuse new connections", (*picotest.Node).Refuse),
		onNode("blackhole", "accept connections, and let nothing through", (*picotest.Node).BlackHole),
		onNode("accept", "end refuse and blackhole", (*picotest.Node).Accept),
		onNode("drop", "close all its connections", (*picotest.Node).DropConnections),
		onNode("lag", "let its copy stop following its leader", func(n *picotest.Node) { n.Lag(true) }),
		onNode("catchup", "let it follow again", func(n *picotest.Node) { n.Lag(false) }),
		{"delay", "NODE DURATION", "wait before each answer; 0 ends it", func(c *picotest.Cluster, args []string, _ io.Writer) error {
			n, err := find(c, args[0])
			if err != nil {
				return err
			}
			d, err := time.ParseDuration(args[1])
			if err != nil {
				return err
			}
			n.Delay(d)
			return nil
		}},
		{"version", "NODE VERSION", "make it one of another version", func(c *picotest.Cluster, args []string, _ io.Writer) error {
			n, err := find(c, args[0])
			if err != nil {
				return err
			}
			return n.SetVersion(args[1])
		}},
		{"switch", "REPLICASET NODE", "make a node the leader", func(c *picotest.Cluster, args []string, _ io.Writer) error {
			return switchLeader(c, args[0], args[1])
		}},
		{"add", "REPLICASET", "add an instance", func(c *picotest.Cluster, args []string, diag io.Writer) error {
			if !slices.Contains(c.Replicasets(), args[0]) {
				return fmt.Errorf("no replicaset %s", args[0])
			}
			fmt.Fprintln(diag, "added", c.AddInstance(args[0]))
			return nil
		}},
		{"expel", "NODE", "remove it for good", func(c *picotest.Cluster, args []string, _ io.Writer) error {
			if _, err := find(c, args[0]); err != nil {
				return err
			}
			return c.Expel(args[0])
		}},
		{"sql", "STATEMENT…", "run a statement as admin", func(c *picotest.Cluster, args []string, _ io.Writer) error { return c.Exec(args[0]) }},
		{"help", "", "this list", func(_ *picotest.Cluster, _ []string, diag io.Writer) error {
			_, err := io.WriteString(diag, verbHelp())
			return err
		}},
		{"end", "", "end the simulation", func(*picotest.Cluster, []string, io.Writer) error { return errEnd }},
	}
}

func verbHelp() string {
	var b strings.Builder
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-24s %s\n", strings.TrimSpace(v.name+" "+v.args), v.help)
	}
	return b.String()
}

// parseCommand finds a command and its arguments. An empty line has none.
func parseCommand(line string) (*verb, []string, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if name == "" {
		return nil, nil, nil
	}
	for _, v := range verbs() {
		if v.name != name {
			continue
		}
		if strings.HasSuffix(v.args, "…") {
			if rest = strings.TrimSpace(rest); rest == "" {
				return nil, nil, fmt.Errorf("%s: want %s", name, v.args)
			}
			return &v, []string{rest}, nil
		}
		args := strings.Fields(rest)
		if want := len(strings.Fields(v.args)); len(args) != want {
			return nil, nil, fmt.Errorf("%s: want %d arguments, got %d", name, want, len(args))
		}
		return &v, args, nil
	}
	return nil, nil, fmt.Errorf("%s: no such command; help lists them", name)
}

// command does what a line of standard input or a step of a scenario says.
func command(c *picotest.Cluster, line string, diag io.Writer) error {
	v, args, err := parseCommand(line)
	if v == nil || err != nil {
		return err
	}
	if err := v.do(c, args, diag); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	if v.args != "" { // the others print what they were asked for
		fmt.Fprintln(diag, "ok:", outcome(c, v, args))
	}
	return nil
}

// outcome repeats a command and says how the node now stands that it was about.
func outcome(c *picotest.Cluster, v *verb, args []string) string {
	text := v.name + " " + strings.Join(args, " ")
	for _, arg := range args {
		n, err := find(c, arg)
		if err != nil || v.name == "sql" {
			continue
		}
		role, process := "a replica", "runs"
		if n.IsLeader() {
			role = "the leader"
		}
		if !n.Running() {
			process = "doesn't run"
		}
		text += fmt.Sprintf("; %s is %s of %s, %s, and the cluster counts it as %s", n.Name(), role, n.Replicaset(), process, n.State())
	}
	return text
}

func find(c *picotest.Cluster, name string) (*picotest.Node, error) {
	for _, n := range c.Nodes() {
		if n.Name() == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %s", name)
}

func switchLeader(c *picotest.Cluster, replicaset, name string) error {
	node, err := find(c, name)
	if err != nil || node.Replicaset() != replicaset || node.State() != "Online" {
		return fmt.Errorf("replicaset %s has no node %s that is Online", replicaset, name)
	}
	c.SwitchLeader(replicaset, name)
	return nil
}
