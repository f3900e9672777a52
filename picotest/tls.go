package picotest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a throw-away certificate authority with a server's and a client's certificate, in files too, for
// clients take paths.
type authority struct {
	dir    string
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
	a.pool.AddCert(root)
	if err := a.write("ca.crt", "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if a.server, err = a.issue(root, key, 2, "server", x509.ExtKeyUsageServerAuth); err != nil {
		return nil, err
	}
	if a.client, err = a.issue(root, key, 3, "client", x509.ExtKeyUsageClientAuth); err != nil {
		return nil, err
	}
	return a, nil
}

// issue makes a certificate for every name a node is dialled by.
func (a *authority) issue(root *x509.Certificate, signer *ecdsa.PrivateKey, serial int64, name string, use x509.ExtKeyUsage) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
		DNSNames: []string{"localhost", "*.picotest"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), signer)
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

// handshake makes the connection a TLS connection.
func (c *conn) handshake() bool {
	ca := c.node.c.ca
	config := &tls.Config{Certificates: []tls.Certificate{ca.server}, MinVersion: tls.VersionTLS12}
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
