package main

import (
	"fmt"
	"io"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// command does what a line of standard input says.
func command(c *picotest.Cluster, words []string, diag io.Writer) error {
	if len(words) == 0 {
		return nil
	}
	verb, args := words[0], words[1:]
	want := map[string]int{"nodes": 0, "switch": 2, "delay": 2, "stop": 1, "kill": 1, "start": 1, "freeze": 1, "thaw": 1, "refuse": 1, "accept": 1}
	n, known := want[verb]
	if !known {
		return fmt.Errorf("%s: no such command", verb)
	}
	if len(args) != n {
		return fmt.Errorf("%s: want %d arguments, got %d", verb, n, len(args))
	}
	switch verb {
	case "nodes":
		showNodes(diag, c)
		return nil
	case "switch":
		return switchLeader(c, args[0], args[1])
	}
	node := find(c, args[0])
	if node == nil {
		return fmt.Errorf("%s: no node %s", verb, args[0])
	}
	switch verb {
	case "stop":
		node.Stop()
	case "kill":
		node.Kill()
	case "start":
		node.Start()
	case "freeze":
		node.Freeze()
	case "thaw":
		node.Thaw()
	case "refuse":
		node.Refuse()
	case "accept":
		node.Accept()
	case "delay":
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return fmt.Errorf("delay: %w", err)
		}
		node.Delay(d)
	}
	return nil
}

func find(c *picotest.Cluster, name string) *picotest.Node {
	for _, n := range c.Nodes() {
		if n.Name() == name {
			return n
		}
	}
	return nil
}

func switchLeader(c *picotest.Cluster, replicaset, name string) error {
	node := find(c, name)
	if node == nil || node.Replicaset() != replicaset || node.State() != "Online" {
		return fmt.Errorf("switch: replicaset %s has no node %s that is Online", replicaset, name)
	}
	c.SwitchLeader(replicaset, name)
	return nil
}
