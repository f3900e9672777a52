package picotest

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// scramRounds is the iteration count the server uses.
const scramRounds = 4096

// scram is the server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding. With real
// false the exchange is carried out to its end and fails there.
func (s *session) scram(a engine.Account, real bool) bool {
	s.send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}})
	first, ok := s.password()
	if !ok {
		return false
	}
	mechanism, rest, ok := strings.Cut(string(first), "\x00")
	if !ok || mechanism != "SCRAM-SHA-256" || len(rest) < 4 {
		return false
	}
	if n := int(int32(binary.BigEndian.Uint32([]byte(rest)))); n != len(rest)-4 {
		return false
	}
	header, bare, ok := cutScramHeader(rest[4:])
	if !ok {
		return false
	}
	nonce := scramField(bare, "r=")
	if nonce == "" {
		return false
	}
	salt := make([]byte, 16)
	own := make([]byte, 18)
	_, _ = rand.Read(salt)
	_, _ = rand.Read(own)
	nonce += base64.StdEncoding.EncodeToString(own)
	challenge := "r=" + nonce + ",s=" + base64.StdEncoding.EncodeToString(salt) + ",i=4096"
	s.send(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)})
	last, ok := s.password()
	if !ok {
		return false
	}
	bound, proofText, ok := strings.Cut(string(last), ",p=")
	proof, err := base64.StdEncoding.DecodeString(proofText)
	if !ok || err != nil || len(proof) != sha256.Size || scramField(bound, "r=") != nonce ||
		scramField(bound, "c=") != base64.StdEncoding.EncodeToString([]byte(header)) {
		return false
	}
	if !real || a.Password == "" {
		return false
	}
	salted, err := pbkdf2.Key(sha256.New, a.Password, salt, scramRounds, sha256.Size)
	if err != nil {
		return false
	}
	message := bare + "," + challenge + "," + bound
	clientKey := hmacOf(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	signature := hmacOf(stored[:], message)
	for i := range clientKey {
		clientKey[i] ^= signature[i]
	}
	if !hmac.Equal(clientKey, proof) {
		return false
	}
	final := hmacOf(hmacOf(salted, "Server Key"), message)
	s.send(&pgproto3.AuthenticationSASLFinal{Data: []byte("v=" + base64.StdEncoding.EncodeToString(final))})
	return true
}

// cutScramHeader splits client-first-message into the GS2 header and the rest. A client that demands
// channel binding ("p=…") can't be served.
func cutScramHeader(first string) (header, bare string, ok bool) {
	if !strings.HasPrefix(first, "n,") && !strings.HasPrefix(first, "y,") {
		return "", "", false
	}
	end := strings.Index(first[2:], ",")
	if end < 0 {
		return "", "", false
	}
	return first[:2+end+1], first[2+end+1:], true
}

func scramField(message, name string) string {
	for _, f := range strings.Split(message, ",") {
		if v, ok := strings.CutPrefix(f, name); ok {
			return v
		}
	}
	return ""
}

func hmacOf(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
