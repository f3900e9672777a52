package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// probe is what an address answered.
type probe struct {
	Address  string // host:port
	Host     options.Host
	FromDSN  bool
	Instance *metadata.Instance // that should be there; nil = only the DSN names it
	UUID     string             // who is there
	Version  string
	Err      error
	RTT      time.Duration
	Ahead    time.Duration // the server's clock minus ours
	HasClock bool
	TLS      certificate
}

// name says who or where it is.
func (p *probe) name() string {
	if p.Instance != nil {
		return p.Instance.Name + "@" + p.Address
	}
	return p.Address
}

// probeAll asks every address once: those that instances have, and those of the DSN.
func (d *doctor) probeAll(ctx context.Context) {
	add := func(address string, in *metadata.Instance, dsn bool) {
		for _, p := range d.probes {
			if options.SameAddress(p.Address, address) {
				p.FromDSN = p.FromDSN || dsn
				if p.Instance == nil {
					p.Instance = in
				}
				return
			}
		}
		host, err := options.ParseAddress(address)
		d.probes = append(d.probes, &probe{Address: address, Host: host, FromDSN: dsn, Instance: in, Err: err})
	}
	for i := range d.views {
		if v := &d.views[i]; v.Instance != nil && v.Address != "" {
			add(v.Address, v.Instance, false)
		}
	}
	for _, h := range d.cfg.Hosts {
		add(h.Address(), nil, true)
	}
	// Certificates first: the login that follows may fail for what they show.
	var wait sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, p := range d.probes {
		if p.Err != nil {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, d.limit)
			defer cancel()
			p.TLS = readCertificate(ctx, d.cfg, p.Host)
			d.ask(ctx, p)
		})
	}
	wait.Wait()
}

// ask logs in at one address and asks who is there.
func (d *doctor) ask(ctx context.Context, p *probe) {
	c, err := d.t.open(direct(d.cfg, p.Host))
	if err != nil {
		p.Err = err
		return
	}
	defer func() { _ = c.Close() }() // nothing was written
	conn, err := c.db.Conn(ctx)
	if err != nil {
		p.Err = err
		return
	}
	defer func() { _ = conn.Close() }() // as above
	if p.Err = conn.PingContext(ctx); p.Err != nil {
		return
	}
	began := d.now()
	if p.Err = conn.PingContext(ctx); p.Err != nil {
		return
	}
	p.RTT = d.now().Sub(began)
	p.UUID = askText(ctx, conn, "SELECT pico_instance_uuid()", "SELECT instance_uuid()")
	p.Version = askText(ctx, conn, "SELECT version()")
	before := d.now()
	var server time.Time
	if err := conn.QueryRowContext(ctx, "SELECT current_timestamp").Scan(&server); err == nil {
		after := d.now()
		p.Ahead, p.HasClock = server.Sub(before.Add(after.Sub(before)/2)), true
	}
}

// askText returns the first answer of several questions: older servers call the same thing otherwise.
func askText(ctx context.Context, conn *sql.Conn, questions ...string) string {
	for _, q := range questions {
		var text string
		if err := conn.QueryRowContext(ctx, q).Scan(&text); err == nil {
			return text
		}
	}
	return ""
}

// reachability reports on every address: does it answer, and is it who it should be?
func (d *doctor) reachability() {
	began, answered := len(d.found), 0
	for _, p := range d.probes {
		online := p.Instance == nil || p.Instance.State == metadata.Online
		switch {
		case p.Err != nil && !online:
			d.sayf(sevNote, "reachability", p.name(), "", "the instance is %s and doesn't answer", p.Instance.State)
		case p.Err != nil && p.Instance == nil:
			d.sayf(sevWarning, "reachability", p.name(), d.unreachable(p), "a host of the DSN doesn't answer: %s", cause(p.Err, d.limit))
		case p.Err != nil:
			d.sayf(sevFault, "reachability", p.name(), d.unreachable(p), "the advertised address doesn't answer: %s", cause(p.Err, d.limit))
		case p.Instance != nil && p.UUID != "" && p.UUID != p.Instance.UUID:
			d.sayf(sevFault, "identity", p.name(), "give every instance an address of its own (instance.pgproto.advertise), or map it with address_map", "%s answers there", d.nameOf(p.UUID))
		default:
			answered++
		}
	}
	if began != len(d.found) {
		if answered > 0 {
			d.sayf(sevNote, "reachability", "", "", "%d of %d addresses answer", answered, len(d.probes))
		}
		return
	}
	d.quiet(began, "reachability", fmt.Sprintf("all %d addresses answer and are who they should be%s", answered, d.slowest()))
}

func (d *doctor) nameOf(uuid string) string {
	if d.topo != nil {
		if in, ok := d.topo.Instance(uuid); ok {
			return "instance " + in.Name
		}
	}
	return "an instance of another cluster (uuid " + uuid + ")"
}

func (d *doctor) slowest() string {
	var worst *probe
	for _, p := range d.probes {
		if p.Err == nil && (worst == nil || p.RTT > worst.RTT) {
			worst = p
		}
	}
	if worst == nil {
		return ""
	}
	return fmt.Sprintf("; the slowest ping is %v, of %s", worst.RTT.Round(10*time.Microsecond), worst.name())
}

func cause(err error, limit time.Duration) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("nothing within %v", limit)
	}
	text := err.Error()
	for _, mark := range []string{": dial: ", ": TLS: ", ": login: "} {
		if _, rest, ok := strings.Cut(text, mark); ok {
			return strings.Trim(mark, ": ") + ": " + rest
		}
	}
	return strings.TrimPrefix(text, "picodata: ")
}

// unreachable says what to do about an address that doesn't answer.
func (d *doctor) unreachable(p *probe) string {
	var auth *picodata.AuthError
	name := strings.ToLower(p.Host.Name)
	local := name == "localhost" || strings.HasPrefix(name, "127.") || name == "::1"
	switch {
	case errors.As(p.Err, &auth):
		return advice(p.Err)
	case local && p.Instance != nil && !p.FromDSN:
		return "it advertises a loopback address, which means this machine to every client: set instance.pgproto.advertise, or map it with address_map=" + p.Instance.Advertised + ">HOST:PORT"
	case p.Instance != nil && !p.FromDSN:
		return "if clients reach it by another address, map it with address_map=" + p.Instance.Advertised + ">HOST:PORT, or keep to the DSN's hosts with mode=bootstrap"
	}
	return advice(p.Err)
}
