package engine

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
)

// user is a user or a role.
type user struct {
	id       uint64
	name     string
	role     bool
	method   string
	password string
	owner    uint64
	version  uint64
	hasAuth  bool
}

// Users and roles every cluster has.
const (
	idGuest       = 0
	idAdmin       = 1
	idPublic      = 2
	idReplication = 3
	idSuper       = 31
	idService     = 32
)

// privilege is a row of _pico_privilege; object -1 means all objects of the kind.
type privilege struct {
	grantor, grantee uint64
	priv, kind       string
	object           int64
	version          uint64
}

type routine struct {
	id     uint64
	name   string
	params []sqlType
	body   string
	owner  uint64
	ver    uint64
}

func (c *catalog) bootstrapUsers() {
	for _, u := range []user{
		{id: idGuest, name: "guest", method: "md5", hasAuth: true},
		{id: idAdmin, name: "admin", method: "md5", hasAuth: true},
		{id: idPublic, name: "public", role: true},
		{id: idReplication, name: "replication", role: true},
		{id: idSuper, name: "super", role: true},
		{id: idService, name: "pico_service", method: "chap-sha1", hasAuth: true},
	} {
		u.owner = idAdmin
		c.users[u.name] = &u
	}
	add := func(grantee uint64, priv, kind string, object int64) {
		c.privs = append(c.privs, privilege{grantor: idAdmin, grantee: grantee, priv: priv, kind: kind, object: object})
	}
	add(idGuest, "execute", "role", idPublic)
	add(idGuest, "login", "universe", 0)
	for _, p := range []string{"alter", "create", "drop", "execute", "login", "read", "write"} {
		add(idAdmin, p, "universe", 0)
	}
	add(idService, "execute", "role", idReplication)
	for _, p := range []string{"alter", "create", "drop", "execute", "login", "read", "write"} {
		add(idService, p, "universe", 0)
	}
	c.version = 2
}

// grantBootstrap gives everybody the tables of the topology, as clusters of 25.2 and newer do.
func (c *catalog) grantBootstrap(v Version) {
	if !v.AtLeast(25, 2) {
		return
	}
	for _, id := range []int64{idInstanceTable, idPeerAddressTable} {
		c.privs = append(c.privs, privilege{grantor: idAdmin, grantee: idPublic, priv: "read", kind: "table", object: id, version: c.bump()})
	}
}

func (c *catalog) userByID(id uint64) *user {
	for _, u := range c.users {
		if u.id == id {
			return u
		}
	}
	return nil
}

// nextUserID is the lowest free id above the system's.
func (c *catalog) nextUserID() uint64 {
	for id := uint64(idService + 1); ; id++ {
		if c.userByID(id) == nil {
			return id
		}
	}
}

// grantees gives a user and all roles it has, directly or through another.
func (c *catalog) grantees(id uint64) map[uint64]bool {
	seen := map[uint64]bool{}
	var walk func(uint64)
	walk = func(g uint64) {
		if seen[g] {
			return
		}
		seen[g] = true
		for _, p := range c.privs {
			if p.grantee == g && p.priv == "execute" && p.kind == "role" {
				walk(uint64(p.object))
			}
		}
	}
	walk(id)
	return seen
}

// may tells whether a user has a privilege on an object of a kind, on all of the kind, or on everything.
func (c *catalog) may(u *user, priv, kind string, object int64, owner uint64) bool {
	if u == nil {
		return false
	}
	if u.id == idAdmin || u.id == idService || owner == u.id && priv != "create" {
		return true
	}
	who := c.grantees(u.id)
	if who[idSuper] {
		return true
	}
	for _, p := range c.privs {
		if p.priv == priv && who[p.grantee] && (p.kind == "universe" || p.kind == kind && (p.object == object || p.object == -1)) {
			return true
		}
	}
	return false
}

func (c *catalog) hasLogin(u *user) bool {
	for _, p := range c.privs {
		if p.grantee == u.id && p.priv == "login" {
			return true
		}
	}
	return false
}

// revoke drops the privileges that match.
func (c *catalog) revoke(match func(p privilege) bool) bool {
	kept := c.privs[:0:0]
	for _, p := range c.privs {
		if !match(p) {
			kept = append(kept, p)
		}
	}
	changed := len(kept) != len(c.privs)
	c.privs = kept
	return changed
}

// authJSON is _pico_user.auth.
func (u *user) authJSON() cell {
	if !u.hasAuth {
		return nil
	}
	secret := ""
	switch u.method {
	case "md5":
		sum := md5.Sum([]byte(u.password + u.name))
		secret = "md5" + hex.EncodeToString(sum[:])
	case "chap-sha1":
		first := sha1.Sum([]byte(u.password))
		second := sha1.Sum(first[:])
		secret = base64.StdEncoding.EncodeToString(second[:])
	case "scram-sha256", "scram-sha-256":
		secret = scramVerifier(u.password, u.name)
	}
	// The catalog writes the name of SCRAM with one dash less than the protocol.
	return fmt.Sprintf("[%s,%s]", quoteJSON(strings.Replace(u.method, "sha-256", "sha256", 1)), quoteJSON(secret))
}

// scramVerifier writes what PostgreSQL keeps of a password; the salt is made of the name, so that a run can be repeated.
func scramVerifier(password, name string) string {
	salt := sha256.Sum256([]byte("salt of " + name))
	salted, err := pbkdf2.Key(sha256.New, password, salt[:16], 4096, sha256.Size)
	if err != nil {
		return ""
	}
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return "SCRAM-SHA-256$4096:" + b64(salt[:16]) + "$" + b64(stored[:]) + ":" + b64(mac("Server Key"))
}

// usersByID gives all users and roles by id.
func (c *catalog) usersByID() []*user {
	out := make([]*user, 0, len(c.users))
	for _, u := range c.users {
		out = append(out, u)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// checkPassword applies the cluster's rules for new passwords.
func (c *catalog) checkPassword(p string) *Error {
	all := c.cluster.AtLeast(26, 2) // lists everything that is missing; older ones stop at the first
	var missing []string
	if least := c.intSetting("auth_password_length_min"); int64(len([]rune(p))) < least {
		if !all {
			return bare("password is too short: expected at least %d, got %d", least, len([]rune(p)))
		}
		missing = append(missing, fmt.Sprintf("too short (expected at least %d characters, got %d)", least, len([]rune(p))))
	}
	for _, rule := range []struct{ key, chars, what string }{
		{"auth_password_enforce_uppercase", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "uppercase letter"},
		{"auth_password_enforce_lowercase", "abcdefghijklmnopqrstuvwxyz", "lowercase letter"},
		{"auth_password_enforce_digits", "0123456789", "digit"},
		{"auth_password_enforce_specialchars", "&|?!$@", "special character"},
	} {
		if on, _ := c.setting(rule.key, "").(bool); on && !strings.ContainsAny(p, rule.chars) {
			if !all {
				return bare("invalid password: password should contains at least one %s", rule.what)
			}
			missing = append(missing, "missing "+rule.what)
		}
	}
	if missing != nil {
		return bare("invalid password: %s", strings.Join(missing, "; "))
	}
	return nil
}
