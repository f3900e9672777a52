package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/picodata/go-picodata/options"
)

// certificate is what a server showed when it was asked for TLS.
type certificate struct {
	Asked   bool
	Offered bool // the server does TLS
	Leaf    *x509.Certificate
	Chain   []*x509.Certificate
	Err     error
}

// sslRequest is PostgreSQL's question whether the server does TLS.
const sslRequest = 80877103

// readCertificate asks a server for its certificate and trusts nobody: what the driver would think of it is
// judged afterwards. The handshake may fail for want of a client certificate after the server's was seen.
func readCertificate(ctx context.Context, cfg *options.Config, host options.Host) certificate {
	dial := cfg.DialFunc
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c := certificate{Asked: true}
	conn, err := dial(ctx, "tcp", host.Address())
	if err != nil {
		return certificate{Asked: true, Err: err}
	}
	defer func() { _ = conn.Close() }() // nothing is awaited from it
	if end, ok := ctx.Deadline(); ok {
		if c.Err = conn.SetDeadline(end); c.Err != nil {
			return c
		}
	}
	if cfg.SSLNegotiation != options.SSLDirect {
		var ask [8]byte
		binary.BigEndian.PutUint32(ask[:], 8)
		binary.BigEndian.PutUint32(ask[4:], sslRequest)
		if _, c.Err = conn.Write(ask[:]); c.Err != nil {
			return c
		}
		if _, c.Err = io.ReadFull(conn, ask[:1]); c.Err != nil || ask[0] != 'S' {
			return c
		}
	}
	c.Offered = true
	client := tls.Client(conn, &tls.Config{
		ServerName:         serverName(cfg, host),
		InsecureSkipVerify: true, // nothing is said to this server but the greeting; certificates() judges what it shows
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 {
				c.Leaf, c.Chain = s.PeerCertificates[0], s.PeerCertificates
			}
			return nil
		},
	})
	c.Err = client.HandshakeContext(ctx)
	return c
}

// serverName is the name that the certificate of a host is checked against.
func serverName(cfg *options.Config, host options.Host) string {
	if cfg.TLSServerName != "" {
		return cfg.TLSServerName
	}
	return host.Name
}

// expiresSoon is how long before its end a certificate is worth a warning.
const expiresSoon = 30 * 24 * time.Hour

// certificates judges what the servers showed by what the DSN asks for.
func (d *doctor) certificates() {
	began, shown, silent := len(d.found), 0, 0
	roots, err := d.roots()
	if err != nil {
		d.say(sevFault, "tls", "", "sslrootcert can't be read: "+err.Error(), "check the path and the rights on the file")
	}
	for _, p := range d.probes {
		switch {
		case !p.TLS.Asked || !p.TLS.Offered && p.TLS.Err != nil:
			// Reachability has said it.
		case !p.TLS.Offered:
			silent++
			if d.cfg.SSLMode >= options.SSLRequire {
				d.sayf(sevFault, "tls", p.name(), "switch TLS on there (instance.pgproto.tls), or use sslmode=disable", "the server does no TLS, and sslmode=%s asks for it", d.cfg.SSLMode)
			}
		case p.TLS.Leaf == nil:
			d.sayf(sevWarning, "tls", p.name(), "compare the TLS versions: ssl_min_protocol_version, ssl_max_protocol_version", "the handshake failed: %v", p.TLS.Err)
		default:
			shown++
			d.judge(p, roots)
		}
	}
	if shown > 0 && silent > 0 {
		d.sayf(sevWarning, "tls", "", "configure all instances alike", "%d addresses do TLS and %d don't", shown, silent)
	}
	if shown > 0 && d.cfg.SSLMode < options.SSLVerifyCA && len(d.found) == began {
		d.sayf(sevNote, "tls", "", "sslmode=verify-full with sslrootcert=FILE", "the servers do TLS, and sslmode=%s believes whoever answers", d.cfg.SSLMode)
	}
	switch {
	case shown > 0:
		d.quiet(began, "tls", fmt.Sprintf("%s good for the names that are dialled, sslmode=%s", plural(shown, "certificate is", "certificates are"), d.cfg.SSLMode))
	case silent > 0:
		d.quiet(began, "tls", fmt.Sprintf("no server does TLS, and sslmode=%s is content with that", d.cfg.SSLMode))
	}
}

// roots are the authorities of sslrootcert; nil: none are given, and those of the machine count.
func (d *doctor) roots() (*x509.CertPool, error) {
	if d.cfg.SSLRootCert == "" || d.cfg.SSLRootCert == "system" {
		return nil, nil
	}
	text, err := os.ReadFile(d.cfg.SSLRootCert)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", d.cfg.SSLRootCert)
	}
	return pool, nil
}

// judge looks at one certificate. What sslmode would refuse is a fault, the rest a warning.
func (d *doctor) judge(p *probe, roots *x509.CertPool) {
	leaf, name := p.TLS.Leaf, serverName(d.cfg, p.Host)
	if d.cfg.SSLMode == options.SSLDisable {
		d.say(sevFault, "tls", p.name(), "the server does TLS and lets nobody in without, and sslmode=disable asks for none", "sslmode=prefer, or verify-full with sslrootcert=FILE")
		return
	}
	bad := func(refused bool, do, format string, args ...any) {
		s := sevWarning
		if refused {
			s = sevFault
		}
		d.sayf(s, "tls", p.name(), do, format, args...)
	}
	now := d.now()
	verifies := d.cfg.SSLMode >= options.SSLVerifyCA
	switch {
	case now.After(leaf.NotAfter):
		bad(verifies, "renew it", "the certificate ended on %s", leaf.NotAfter.Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		bad(verifies, "compare the clocks", "the certificate begins on %s only", leaf.NotBefore.Format(time.DateOnly))
	case now.Add(expiresSoon).After(leaf.NotAfter):
		bad(false, "renew it", "the certificate ends on %s", leaf.NotAfter.Format(time.DateOnly))
	}
	if err := leaf.VerifyHostname(strings.Trim(name, "[]")); err != nil {
		bad(d.cfg.SSLMode == options.SSLVerifyFull, "issue it for that name, connect by a name it has, or set tls_server_name",
			"the certificate isn't for %s, only for %s", name, strings.Join(names(leaf), ", "))
	}
	if roots == nil && !verifies {
		return // nobody said whom to trust
	}
	intermediates := x509.NewCertPool()
	for _, c := range p.TLS.Chain[1:] {
		intermediates.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: clampTo(now, leaf)})
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		bad(verifies || roots != nil, "sslrootcert must name the file of the authority that signed it", "the certificate is signed by %q, which isn't among the authorities of sslrootcert", leaf.Issuer.CommonName)
	} else if err != nil {
		bad(verifies, "", "the certificate can't be verified: %v", err)
	}
}

// clampTo is a time at which the certificate holds: its dates were judged already.
func clampTo(now time.Time, leaf *x509.Certificate) time.Time {
	switch {
	case now.After(leaf.NotAfter):
		return leaf.NotAfter
	case now.Before(leaf.NotBefore):
		return leaf.NotBefore
	}
	return now
}

func names(leaf *x509.Certificate) []string {
	list := append([]string(nil), leaf.DNSNames...)
	for _, ip := range leaf.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		list = append(list, "no name at all")
	}
	return list
}
