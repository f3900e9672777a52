package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"strings"
)

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
