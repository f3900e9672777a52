package wire

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"os"
	"strings"

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

var errKeyPassword = errors.New("the private key is encrypted, and sslpassword is missing or wrong")

// decryptKey takes the encryption off a private key in PEM, of both forms that OpenSSL
// writes: PKCS #8 (PBES2 with PBKDF2) and the older one with a DEK-Info header. A plain key
// comes back as it is.
func decryptKey(data []byte, password string) ([]byte, error) {
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return data, nil
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY":
			der, err := decryptPKCS8(block.Bytes, []byte(password))
			if err != nil {
				return nil, err
			}
			return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
		case strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			//lint:ignore SA1019 the form is weak, but people have such files
			der, err := x509.DecryptPEMBlock(block, []byte(password))
			if err != nil {
				return nil, errKeyPassword
			}
			return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
		}
	}
}

// The structures of RFC 8018, appendix A, as far as PBES2 with PBKDF2 needs them.
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2Params struct {
		KDF    pkix.AlgorithmIdentifier
		Scheme pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

var (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"

	keyHashes = map[string]func() hash.Hash{
		"":                    sha1.New, // the standard's default
		"1.2.840.113549.2.7":  sha1.New,
		"1.2.840.113549.2.8":  sha256.New224,
		"1.2.840.113549.2.9":  sha256.New,
		"1.2.840.113549.2.10": sha512.New384,
		"1.2.840.113549.2.11": sha512.New,
	}
	keyCiphers = map[string]struct {
		size int
		make func([]byte) (cipher.Block, error)
	}{
		"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
		"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
		"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
		"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
	}
)

// maxIterations bounds what a file can make a dial compute: some ten seconds.
const maxIterations = 10_000_000

func decryptPKCS8(der, password []byte) ([]byte, error) {
	if len(password) == 0 {
		return nil, errKeyPassword
	}
	var (
		key    encryptedKey
		params pbes2Params
		kdf    pbkdf2Params
		iv     []byte
	)
	unsupported := func(what string, oid asn1.ObjectIdentifier) error {
		return fmt.Errorf("the private key is encrypted by an unknown %s %v: use PBES2 with PBKDF2 and AES-CBC, as OpenSSL does", what, oid)
	}
	if _, err := asn1.Unmarshal(der, &key); err != nil {
		return nil, err
	}
	if key.Algorithm.Algorithm.String() != oidPBES2 {
		return nil, unsupported("scheme", key.Algorithm.Algorithm)
	}
	if _, err := asn1.Unmarshal(key.Algorithm.Parameters.FullBytes, &params); err != nil {
		return nil, err
	}
	if params.KDF.Algorithm.String() != oidPBKDF2 {
		return nil, unsupported("key derivation", params.KDF.Algorithm)
	}
	if _, err := asn1.Unmarshal(params.KDF.Parameters.FullBytes, &kdf); err != nil {
		return nil, err
	}
	newHash, ok := keyHashes[kdf.PRF.Algorithm.String()]
	if !ok {
		return nil, unsupported("hash", kdf.PRF.Algorithm)
	}
	scheme, ok := keyCiphers[params.Scheme.Algorithm.String()]
	if !ok {
		return nil, unsupported("cipher", params.Scheme.Algorithm)
	}
	if _, err := asn1.Unmarshal(params.Scheme.Parameters.FullBytes, &iv); err != nil {
		return nil, err
	}
	if kdf.Iterations < 1 || kdf.Iterations > maxIterations {
		return nil, fmt.Errorf("the private key's encryption takes %d iterations", kdf.Iterations)
	}
	secret, err := pbkdf2.Key(newHash, string(password), kdf.Salt, kdf.Iterations, scheme.size)
	if err != nil {
		return nil, err
	}
	block, err := scheme.make(secret)
	if err != nil {
		return nil, err
	}
	size := block.BlockSize()
	if len(iv) != size || len(key.Data) == 0 || len(key.Data)%size != 0 {
		return nil, errors.New("the private key's encryption is malformed")
	}
	plain := make([]byte, len(key.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, key.Data)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size {
		return nil, errKeyPassword
	}
	for _, b := range plain[len(plain)-pad:] {
		if int(b) != pad {
			return nil, errKeyPassword
		}
	}
	plain = plain[:len(plain)-pad]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, errKeyPassword // one wrong password in 256 gives a valid padding
	}
	return plain, nil
}
