package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// authority signs certificates for a test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t: t, cert: cert, key: key, n: 1}
}

// issue signs a certificate for these names and addresses.
func (a *authority) issue(change func(*x509.Certificate), names ...string) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.n++
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: "leaf"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, n)
		}
	}
	if change != nil {
		change(tmpl)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// pool is the authority as a root.
func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// rootFile writes the authority's certificate.
func (a *authority) rootFile() string {
	return writePEM(a.t, "CERTIFICATE", a.cert.Raw)
}

func writePEM(t testing.TB, typ string, der []byte) string {
	t.Helper()
	return writeFile(t, pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}))
}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// files writes a certificate and its key.
func files(t testing.TB, c tls.Certificate) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", c.Certificate[0]), writePEM(t, "PRIVATE KEY", der)
}

// loginTLS is Picodata with pg.ssl: it does TLS on request and turns plain clients away.
func loginTLS(config *tls.Config) func(*peer) bool {
	return func(p *peer) bool {
		m, err := p.be.ReceiveStartupMessage()
		if err != nil {
			return false
		}
		if _, ok := m.(*pgproto3.SSLRequest); !ok {
			p.be.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "28000", Message: "this server requires the client to use ssl"})
			p.be.Flush()
			return false
		}
		if _, err := p.conn.Write([]byte{'S'}); err != nil {
			return false
		}
		return p.overTLS(config) && p.trust()
	}
}

// overTLS does the server's part of a handshake.
func (p *peer) overTLS(config *tls.Config) bool {
	tc := tls.Server(p.conn, config)
	if err := tc.Handshake(); err != nil {
		return false
	}
	p.conn = tc
	p.be = pgproto3.NewBackend(tc, tc)
	return true
}
