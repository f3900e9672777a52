package picotest

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/picotest/internal/engine"
)

// attempts counts failed logins in a row, by user. Each instance counts for itself.
type attempts struct {
	mu     sync.Mutex
	failed map[string]int
}

func (a *attempts) init() { a.failed = make(map[string]int) }

// reset is the end of the process.
func (a *attempts) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.failed)
}

// locked tells whether a user has failed max times in a row (auth_login_attempt_max).
func (a *attempts) locked(user string, max int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.failed[user]) >= max
}

func (a *attempts) note(user string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ok {
		delete(a.failed, user)
	} else {
		a.failed[user]++
	}
}

// Unlock forgets the failed logins of a user on this instance.
func (n *Node) Unlock(user string) { n.logins.note(user, true) }

// unlockAfter undoes a lock-out on all instances when the statement was ALTER USER … LOGIN.
func (c *Cluster) unlockAfter(sql string) {
	words := strings.Fields(strings.ToLower(strings.TrimRight(sql, "; \t\n")))
	if len(words) >= 4 && words[0] == "alter" && words[1] == "user" && words[len(words)-1] == "login" {
		name := strings.Trim(words[2], `"`)
		for _, n := range c.Nodes() {
			n.Unlock(name)
		}
	}
}

// authenticate asks for the password by the user's method; it has sent the error if it returns false.
func (s *session) authenticate() bool {
	c := s.c.node.c
	account, known := c.eng.Account(s.user)
	c.mu.Lock()
	configured := c.users[s.user]
	c.mu.Unlock()
	if configured.Method == "none" && known {
		return true
	}
	ok, detail := false, ""
	switch {
	case !known && knowsScram(s.version):
		ok = s.scram(account, false) // an exchange that can't succeed hides who exists
	case !known:
	case account.Method == "md5":
		ok = s.md5(account)
	case account.Method == "scram-sha-256" || account.Method == "scram-sha256":
		ok = s.scram(account, true)
	case account.Method == "ldap":
		ok, detail = s.ldap(configured)
	}
	if s.c.isDone() || s.hungUp {
		return false // nobody has failed: a client gave up
	}
	if known {
		locked := s.c.node.logins.locked(s.user, c.number("auth_login_attempt_max", 4))
		s.c.node.logins.note(s.user, ok && !locked)
		ok = ok && !locked && account.Login
	}
	if !ok {
		s.c.node.counters.failures.Add(1)
		s.c.counters.failures.Add(1)
		s.error("28P01", "authentication failed for user '"+s.user+"'"+detail)
	}
	return ok
}

// password reads the client's answer.
func (s *session) password() ([]byte, bool) {
	s.c.flush()
	var head [5]byte
	if s.c.readStartup(head[:]) != nil {
		s.hungUp = true
		return nil, false
	}
	if head[0] != 'p' {
		return nil, false
	}
	size := int(binary.BigEndian.Uint32(head[1:]))
	if size < 4 || size > maxStartup {
		return nil, false
	}
	body := make([]byte, size-4)
	if s.c.readStartup(body) != nil {
		s.hungUp = true
		return nil, false
	}
	s.c.frame(true, "p", body)
	if !s.c.node.frozen.pass(s.c.done) || !s.delay() {
		return nil, false
	}
	return body, true
}

func (s *session) md5(a engine.Account) bool {
	var salt [4]byte
	_, _ = rand.Read(salt[:])
	s.send(&pgproto3.AuthenticationMD5Password{Salt: salt})
	got, ok := s.password()
	if !ok {
		return false
	}
	want := "md5" + md5hex(md5hex(a.Password+s.user)+string(salt[:]))
	// guest's password is the empty one, others without a password have no way in.
	return (a.Password != "" || s.user == "guest") && subtle.ConstantTimeCompare(trimZero(got), []byte(want)) == 1
}

func md5hex(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ldap asks for the password in clear text, as the server does to hand it to a directory.
func (s *session) ldap(u User) (bool, string) {
	s.send(&pgproto3.AuthenticationCleartextPassword{})
	got, ok := s.password()
	switch {
	case !ok:
		return false, ""
	case u.Password == "":
		return false, ": LDAP: LDAP server not configured"
	case string(trimZero(got)) != u.Password:
		return false, ": LDAP: ldap_simple_bind_s failed: Invalid credentials"
	}
	return true, ""
}
