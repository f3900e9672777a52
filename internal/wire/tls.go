package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/picodata/go-picodata/options"
)

// tlsPlan is what one node's TLS needs. Nil config: the connection is never encrypted.
type tlsPlan struct {
	mode     options.SSLMode
	direct   bool
	config   *tls.Config
	name     string
	verifies bool // a handshake that succeeds proves whose server it is
}

// required says that the connection must be encrypted.
func (p *tlsPlan) required() bool { return p.mode >= options.SSLRequire }

// sslRequest asks a server whether it does TLS.
var sslRequest = [8]byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}

// negotiate brings the socket to the state that the mode wants. encrypt says whether TLS
// is asked for at all in mode allow. A handshake that failed is an error in every mode.
func (p *tlsPlan) negotiate(ctx context.Context, sock *socket, encrypt bool) (net.Conn, bool, error) {
	if p.config == nil || !encrypt {
		return sock, false, nil
	}
	if !p.direct {
		if _, err := sock.Write(sslRequest[:]); err != nil {
			return nil, false, err
		}
		// One byte and no more: what follows it in the clear is nobody's answer.
		var answer [1]byte
		if _, err := io.ReadFull(sock, answer[:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = errEOF
			}
			return nil, false, fmt.Errorf("asking for TLS: %w", err)
		}
		switch answer[0] {
		case 'S':
		case 'N':
			if p.required() {
				return nil, false, fmt.Errorf("the server has no TLS, and sslmode=%v needs it", p.mode)
			}
			return sock, false, nil
		default:
			return nil, false, fmt.Errorf("asking for TLS: unexpected answer %q", answer[0])
		}
	}
	tc := tls.Client(sock, p.config)
	if err := tc.HandshakeContext(ctx); err != nil {
		var op *net.OpError
		if p.direct && (errors.Is(err, io.EOF) || errors.As(err, &op) && op.Op == "read") {
			err = fmt.Errorf("%w: a server without direct TLS hangs up like this, Picodata among them; use sslnegotiation=postgres", err)
		}
		return nil, false, fmt.Errorf("handshake with %q: %w", p.name, err)
	}
	return tc, true, nil
}

// tlsFor makes the plan for one node. Files are read for each connection, so renewed
// certificates are taken up. Its errors are the configuration's.
func tlsFor(o *options.Config, target Target) (*tlsPlan, error) {
	p := &tlsPlan{mode: o.SSLMode, direct: o.SSLNegotiation == options.SSLDirect, name: target.serverName(o.TLSServerName)}
	if o.SSLMode == options.SSLDisable {
		return p, nil
	}
	if o.TLSConfig != nil {
		return p.own(o.TLSConfig), nil
	}
	config := &tls.Config{}
	var err error
	if config.MinVersion, err = tlsVersion(o.SSLMinProtocolVersion); err != nil {
		return nil, fmt.Errorf("ssl_min_protocol_version: %w", err)
	}
	if config.MaxVersion, err = tlsVersion(o.SSLMaxProtocolVersion); err != nil {
		return nil, fmt.Errorf("ssl_max_protocol_version: %w", err)
	}
	if config.Certificates, err = clientCertificate(o); err != nil {
		return nil, err
	}
	verify, roots := o.SSLMode >= options.SSLVerifyCA, (*x509.CertPool)(nil)
	switch o.SSLRootCert {
	case "", "system":
		if o.SSLRootCert == "system" && o.SSLMode != options.SSLVerifyFull {
			return nil, errors.New("sslrootcert=system needs sslmode=verify-full: anybody can get a certificate of a public authority")
		}
	default:
		// As libpq does: who names a root wants it checked, whatever the mode.
		verify = true
		pem, err := os.ReadFile(o.SSLRootCert)
		if err != nil {
			return nil, fmt.Errorf("sslrootcert: %w", err)
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("sslrootcert: no certificate in %s", o.SSLRootCert)
		}
	}
	p.config = config
	if o.SSLSNI && net.ParseIP(p.name) == nil {
		config.ServerName = p.name
	}
	// crypto/tls ties SNI to verification, libpq's modes don't: verify here.
	config.InsecureSkipVerify = true
	if p.verifies = verify; verify {
		host := ""
		if o.SSLMode == options.SSLVerifyFull {
			host = p.name
		}
		config.VerifyConnection = func(cs tls.ConnectionState) error {
			return verifyChain(cs, roots, host)
		}
	}
	if p.direct {
		config.NextProtos = []string{"postgresql"}
	}
	return p, nil
}

// own makes the plan for a tls.Config of the user's. Who gives one wants it used: there is
// no mode in which the connection stays plain.
func (p *tlsPlan) own(config *tls.Config) *tlsPlan {
	p.config = config.Clone()
	p.mode = max(p.mode, options.SSLRequire)
	p.verifies = !config.InsecureSkipVerify || config.VerifyConnection != nil || config.VerifyPeerCertificate != nil
	if p.config.ServerName == "" {
		p.config.ServerName = p.name
	}
	if p.direct && len(p.config.NextProtos) == 0 {
		p.config.NextProtos = []string{"postgresql"}
	}
	return p
}

// verifyChain checks a server's certificate. host "" leaves its name out.
func verifyChain(cs tls.ConnectionState, roots *x509.CertPool, host string) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, cert := range cs.PeerCertificates[1:] {
		intermediates.AddCert(cert)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, DNSName: host,
	})
	return err
}

// tlsVersion reads libpq's name of a version; "" leaves it to crypto/tls.
func tlsVersion(name string) (uint16, error) {
	switch name {
	case "":
		return 0, nil
	case "TLSv1":
		return tls.VersionTLS10, nil
	case "TLSv1.1":
		return tls.VersionTLS11, nil
	case "TLSv1.2":
		return tls.VersionTLS12, nil
	case "TLSv1.3":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q isn't one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3", name)
}

// tlsAlert says that the peer ended the connection with an alert.
func tlsAlert(err error) bool {
	var alert tls.AlertError
	var op *net.OpError
	return errors.As(err, &alert) || errors.As(err, &op) && op.Op == "remote error"
}

// clientCertificate loads sslcert and sslkey.
func clientCertificate(o *options.Config) ([]tls.Certificate, error) {
	if o.SSLCert == "" && o.SSLKey == "" {
		return nil, nil
	}
	if o.SSLCert == "" || o.SSLKey == "" {
		return nil, errors.New("sslcert and sslkey need each other")
	}
	certPEM, err := os.ReadFile(o.SSLCert)
	if err != nil {
		return nil, fmt.Errorf("sslcert: %w", err)
	}
	keyPEM, err := os.ReadFile(o.SSLKey)
	if err != nil {
		return nil, fmt.Errorf("sslkey: %w", err)
	}
	if keyPEM, err = decryptKey(keyPEM, o.SSLPassword); err != nil {
		return nil, fmt.Errorf("sslkey: %w", err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("sslcert and sslkey: %w", err)
	}
	return []tls.Certificate{cert}, nil
}
