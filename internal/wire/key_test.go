package wire

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/options"
)

// Keys as OpenSSL encrypts them, all of one key, password "secret".
func TestEncryptedKeys(t *testing.T) {
	for _, name := range []string{"client.key", "client-aes256.key", "client-aes128-sha1.key", "client-aes192-sha512.key", "client-des3.key", "client-dek-info.key"} {
		o := options.New()
		o.SSLCert, o.SSLKey, o.SSLPassword = "testdata/client.crt", "testdata/"+name, "secret"
		if certs, err := clientCertificate(o); err != nil || len(certs) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		for _, password := range []string{"", "wrong", "also wrong", "secre"} {
			o.SSLPassword = password
			_, err := clientCertificate(o)
			if plain := name == "client.key"; plain != (err == nil) || !plain && !errors.Is(err, errKeyPassword) {
				t.Errorf("%s with password %q: %v", name, password, err)
			}
			if err != nil && password != "" && strings.Contains(err.Error(), `"`+password+`"`) {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	}
	o := options.New()
	o.SSLCert, o.SSLKey, o.SSLPassword = "testdata/client.crt", "testdata/client-scrypt.key", "secret"
	if _, err := clientCertificate(o); err == nil || !strings.Contains(err.Error(), "PBKDF2") {
		t.Errorf("scrypt isn't supported, and the error should say what is: %v", err)
	}
}

func FuzzDecryptKey(f *testing.F) {
	for _, name := range []string{"client.key", "client-des3.key", "client-dek-info.key"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 2000 { // what counts is the structure
			_, _ = decryptKey(data, "secret")
		}
	})
}
