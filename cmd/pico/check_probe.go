package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/picodata/go-picodata/internal/wire"
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

// enter asks the nodes of the DSN in turn until one lets us in. It is false, and the reason reported, if none does.
func (d *doctor) enter(ctx context.Context) (bool, error) {
	for _, h := range d.cfg.Hosts {
		p := d.probeOf(h.Address(), nil, true)
		d.ask(ctx, p)
		if p.Err == nil {
			return true, nil
		}
		var w *wire.Error
		if errors.As(p.Err, &w) && w.LoginRefused() && !wantsTLS(p.Err) {
			d.say(sevFault, "login", p.Address, cause(p.Err, d.limit), advice(p.Err))
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
	}
	for _, p := range d.probes {
		d.say(sevFault, "reachability", p.name(), "a host of the DSN doesn't let us in: "+cause(p.Err, d.limit), advice(p.Err))
	}
	return false, nil
}

// probeOf returns the probe of an address, a new one if nobody has asked for it yet.
func (d *doctor) probeOf(address string, in *metadata.Instance, dsn bool) *probe {
	for _, p := range d.probes {
		if options.SameAddress(p.Address, address) {
			p.FromDSN = p.FromDSN || dsn
			if p.Instance == nil {
				p.Instance = in
			}
			return p
		}
	}
	host, err := options.ParseAddress(address)
	p := &probe{Address: address, Host: host, FromDSN: dsn, Instance: in, Err: err}
	d.probes = append(d.probes, p)
	return p
}

// probeAll asks every address that wasn't asked yet: those that instances have, and those of the DSN.
func (d *doctor) probeAll(ctx context.Context) {
	for i := range d.views {
		// What allowed_networks shuts out is not dialled for curiosity either: a login would follow.
		if v := &d.views[i]; v.Instance != nil && v.Address != "" && v.Excluded != metadata.NetworkRefused {
			d.probeOf(v.Address, v.Instance, false)
		}
	}
	for _, h := range d.cfg.Hosts {
		d.probeOf(h.Address(), nil, true)
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, p := range d.probes {
		if p.Err != nil || p.TLS.Asked {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			d.ask(ctx, p)
		})
	}
	wait.Wait()
}

// ask reads the certificate at one address, logs in there and asks who it is. It goes past the driver's pool, which
// would try again until its time is up and then tell of that.
func (d *doctor) ask(ctx context.Context, p *probe) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	p.TLS = readCertificate(ctx, d.cfg, p.Host)
	own := d.cfg.Clone()
	own.ServerOptions, own.ReadPreference, own.Forward = nil, options.ReadPreferenceUnset, options.ForwardUnset
	own.VdbeOpcodeMax, own.MotionRowMax = options.LimitUnset, options.LimitUnset
	config := &wire.Config{Options: own}
	conn, err := wire.Dial(ctx, config, wire.Target{Address: p.Address, NodeName: p.Address})
	if err != nil {
		p.Err = err
		return
	}
	defer func() { _ = conn.Close() }() // nothing was written
	began := d.now()
	if p.Err = conn.Ping(ctx); p.Err != nil {
		return
	}
	p.RTT = d.now().Sub(began)
	p.UUID = askText(ctx, conn, "SELECT pico_instance_uuid()", "SELECT instance_uuid()")
	before := d.now()
	if server, err := askOne(ctx, conn, "SELECT current_timestamp"); err == nil {
		after := d.now()
		if at, ok := server.(time.Time); ok {
			p.Ahead, p.HasClock = at.Sub(before.Add(after.Sub(before)/2)), true
		}
	}
}

// askText returns the first answer of several questions: older servers call the same thing otherwise.
func askText(ctx context.Context, conn *wire.Conn, questions ...string) string {
	for _, q := range questions {
		switch v, _ := askOne(ctx, conn, q); v := v.(type) {
		case string:
			return v
		case []byte:
			return string(v)
		}
	}
	return ""
}

// askOne returns the one value of the one row of a query.
func askOne(ctx context.Context, conn *wire.Conn, query string) (driver.Value, error) {
	rows, err := conn.Query(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	var row [1]driver.Value
	if len(rows.Columns()) != len(row) {
		return nil, errors.Join(fmt.Errorf("%s: %d columns", query, len(rows.Columns())), rows.Close())
	}
	if err := rows.Next(row[:]); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	if b, ok := row[0].([]byte); ok {
		row[0] = string(b) // the bytes are the connection's
	}
	return row[0], rows.Close()
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
			d.sayf(sevNote, "reachability", "", "", "%d of %s answered", answered, plural(len(d.probes), "address", "addresses"))
		}
		return
	}
	d.quiet(began, "reachability", fmt.Sprintf("%s answered, and are who they should be%s", plural(answered, "address", "addresses"), d.slowest()))
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
	name := strings.ToLower(p.Host.Name)
	local := name == "localhost" || strings.HasPrefix(name, "127.") || name == "::1"
	switch {
	case local && p.Instance != nil && !p.FromDSN:
		return "it advertises a loopback address, which means this machine to every client: set instance.pgproto.advertise, or map it with address_map=" + p.Instance.Advertised + ">HOST:PORT"
	case p.Instance != nil && !p.FromDSN:
		return "if clients reach it by another address, map it with address_map=" + p.Instance.Advertised + ">HOST:PORT, or keep to the DSN's hosts with mode=bootstrap"
	}
	return advice(p.Err)
}
