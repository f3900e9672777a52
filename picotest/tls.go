package picotest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// authority is a throw-away certificate authority with a server's and a client's certificate, in files too, for
// clients take paths.
type authority struct {
	dir    string
	root   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial atomic.Int64
	pool   *x509.CertPool
	server tls.Certificate
	client tls.Certificate
}

func newAuthority() (*authority, error) {
	dir, err := os.MkdirTemp("", "picotest-tls-")
	if err != nil {
		return nil, fmt.Errorf("picotest: a directory for certificates: %w", err)
	}
	a := &authority{dir: dir, pool: x509.NewCertPool()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "picotest CA"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.root, a.key = root, key
	a.pool.AddCert(root)
	if err := a.write("ca.crt", "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if a.server, err = a.issue("server", x509.ExtKeyUsageServerAuth, "localhost", "*.picotest", "127.0.0.1", "::1"); err != nil {
		return nil, err
	}
	if a.client, err = a.issue("client", x509.ExtKeyUsageClientAuth, "client.picotest"); err != nil {
		return nil, err
	}
	return a, nil
}

// issue makes a certificate for host names and IP addresses.
func (a *authority) issue(name string, use x509.ExtKeyUsage, hosts ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial.Add(1) + 1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: a.root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.root, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := a.write(name+".crt", "CERTIFICATE", der); err != nil {
		return tls.Certificate{}, err
	}
	if err := a.write(name+".key", "PRIVATE KEY", private); err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (a *authority) write(name, kind string, der []byte) error {
	return os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) remove() {
	if a != nil {
		_ = os.RemoveAll(a.dir)
	}
}

// CAFile is the path of the certificate authority's certificate, "" without TLS. Close removes it.
func (c *Cluster) CAFile() string {
	if c.ca == nil {
		return ""
	}
	return c.ca.file("ca.crt")
}

// ClientCertFiles are the paths of a client certificate that TLSMutual accepts and of its key.
func (c *Cluster) ClientCertFiles() (cert, key string) {
	if c.ca == nil {
		return "", ""
	}
	return c.ca.file("client.crt"), c.ca.file("client.key")
}

// ClientTLS is a client's configuration that trusts the nodes and carries the client certificate; nil without TLS.
func (c *Cluster) ClientTLS() *tls.Config {
	if c.ca == nil {
		return nil
	}
	return &tls.Config{RootCAs: c.ca.pool, Certificates: []tls.Certificate{c.ca.client}, MinVersion: tls.VersionTLS12}
}

// SetCertificate gives the node a certificate of its own for these host names and IP addresses; before, all nodes share one
// for localhost, 127.0.0.1, ::1 and *.picotest.
func (n *Node) SetCertificate(hosts ...string) error {
	if n.c.ca == nil {
		return errors.New("picotest: a certificate for a node of a cluster without TLS")
	}
	cert, err := n.c.ca.issue("node-"+n.uuid, x509.ExtKeyUsageServerAuth, hosts...)
	if err != nil {
		return err
	}
	n.cert.Store(&cert)
	return nil
}

// handshake makes the connection a TLS connection.
func (c *conn) handshake() bool {
	ca := c.node.c.ca
	cert := ca.server
	if own := c.node.cert.Load(); own != nil {
		cert = *own
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if c.node.c.cfg.TLS == TLSMutual {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
	}
	t := tls.Server(c.socket, config)
	if t.Handshake() != nil {
		return false
	}
	c.secure.Store(t)
	return true
}
