package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// script runs ACL statements as users and compares the errors; it starts from the users every cluster has, a table t of
// admin's and a table of u's once there is a u.
type script struct {
	t   *testing.T
	cat *catalog
}

func newScript(t *testing.T) *script {
	s := &script{t, newCatalog()}
	s.cat.tables["t"] = &table{id: 1025, name: "t", owner: idAdmin}
	return s
}

func (s *script) do(as, sql, want string) {
	s.t.Helper()
	n, syntax := grammar.Parse(grammar.V262, sql)
	if syntax != nil {
		s.t.Fatalf("%s\n%s", sql, syntax)
	}
	if _, ok := aclTag(n); !ok {
		s.t.Fatalf("%s is no ACL statement", sql)
	}
	got := ""
	if err := s.cat.acl(n, s.cat.users[as]); err != nil {
		got = err.Message
	}
	if got != want {
		s.t.Errorf("%s as %s: %q; want %q", sql, as, got, want)
	}
}

func (s *script) may(who, priv, kind string, object int64, want bool) {
	s.t.Helper()
	if got := s.cat.may(s.cat.users[who], priv, kind, object, idAdmin); got != want {
		s.t.Errorf("%s may %s %s %d: %v; want %v", who, priv, kind, object, got, want)
	}
}

// The texts of this test are those of wire-auth.txt and wire-simple2.txt.
func TestUsersAsRecorded(t *testing.T) {
	s := newScript(t)
	s.do("admin", "create user u_md5 with password 'T0psecret' using md5", "")
	s.do("admin", "create user u_ldap using ldap", "")
	s.do("admin", "create user u_def with password 'T0psecret'", "")
	s.do("admin", "create user u_weak with password 'abc'", "password is too short: expected at least 8, got 3")
	s.do("admin", "create user u_def with password 'T0psecret'", "user u_def already exists")
	s.do("admin", "create user if not exists u_def with password 'T0psecret'", "")
	s.do("admin", `create user "admin" with password 'T0psecret'`, "user admin already exists")
	s.do("u_md5", `alter user "u_def" with password 'T0psecret2'`, "box error: AccessDenied: Alter access to user 'u_def' is denied for user 'u_md5'")
	s.do("u_def", `alter user "u_def" with password 'T0psecret2'`, "")
	s.do("admin", "grant read on table nosuch to admin", "sbroad: space nosuch not found")
	s.do("admin", "grant read on table _pico_instance to u_def", "")
	if u := s.cat.users["u_def"]; u.password != "T0psecret2" || u.method != "md5" || u.id != idService+3 {
		t.Errorf("u_def is %+v", u)
	}
	s.do("admin", "create user u_scram with password 'T0psecret' using scram-sha256", "")
	for name, want := range map[string]string{
		"u_md5":   `["md5","md53a40ad8f6fe4bceaba523b20edf95f03"]`,
		"u_scram": `["scram-sha256","SCRAM-SHA-256$4096:`,
		"u_ldap":  `["ldap",""]`,
	} {
		if got, _ := s.cat.users[name].authJSON().(string); !strings.HasPrefix(got, want) {
			t.Errorf("_pico_user shows %s for %s; want %s", got, name, want)
		}
	}
	if u := s.cat.users["u_ldap"]; u.method != "ldap" {
		t.Errorf("u_ldap logs in by %s", u.method)
	}
}

func TestPrivileges(t *testing.T) {
	s := newScript(t)
	s.do("admin", "create user u with password 'T0psecret'", "")
	s.do("admin", "create role r", "")
	s.do("admin", "create role r", "role r already exists")
	s.do("admin", "create role if not exists r", "")
	s.may("u", "read", "table", 1025, false)
	s.do("admin", "grant read on table t to r", "")
	s.do("admin", "grant r to u", "")
	s.may("u", "read", "table", 1025, true)
	s.may("u", "write", "table", 1025, false)
	before := len(s.cat.privs)
	s.do("admin", "grant read on table t to r", "") // there already
	if len(s.cat.privs) != before {
		t.Error("a privilege is there twice")
	}
	s.do("admin", "revoke r from u", "")
	s.may("u", "read", "table", 1025, false)
	s.do("admin", "grant read table to u", "")
	s.may("u", "read", "table", 4711, true)
	s.do("admin", "revoke read table from u", "")
	s.may("u", "read", "table", 4711, false)

	s.do("u", "grant read on table t to u", "box error: AccessDenied: Grant to table 't' is denied for user 'u'")
	s.do("u", "create user v with password 'T0psecret'", "box error: AccessDenied: Create access to user 'v' is denied for user 'u'")
	s.do("admin", "grant create user to u", "")
	s.do("u", "create user v with password 'T0psecret'", "")
	s.do("u", "drop user v", "") // its owner
	s.do("u", "drop user admin", "box error: DropUser: Failed to drop user or role 'admin': the user or the role is a system")
	s.do("admin", "grant execute on table t to u", "sbroad: invalid privilege: Supported privileges are: [Alter, Drop, Read, Write]")
	s.do("admin", "grant read on table t to nobody", "sbroad: invalid acl: Nor user, neither role with name nobody exists")
	s.do("admin", "grant u to r", "sbroad: invalid acl: There is no role with name u")
}

func TestDropAndRename(t *testing.T) {
	s := newScript(t)
	s.do("admin", "create user u with password 'T0psecret'", "")
	s.do("admin", "create role r", "")
	s.do("admin", "grant r to u", "")
	u := s.cat.users["u"]
	s.do("admin", "drop role u", "sbroad: invalid acl: User u exists. Unable to drop user.")
	s.do("admin", "drop user r", "sbroad: invalid acl: Role r exists. Unable to drop role.")
	s.do("admin", "drop user nobody", "user nobody does not exist")
	s.do("admin", "drop user if exists nobody", "")
	s.do("admin", "alter user u rename to r", "user r already exists")
	s.do("admin", "alter user u rename to w", "")
	if s.cat.users["u"] != nil || s.cat.users["w"] == nil || s.cat.users["w"].id != u.id {
		t.Error("the user didn't keep its id under the new name")
	}
	s.do("admin", "alter user w nologin", "")
	if s.cat.hasLogin(u) {
		t.Error("nologin leaves the login")
	}
	s.do("admin", "alter user w with login", "")
	if !s.cat.hasLogin(u) {
		t.Error("login gives none")
	}
	s.cat.tables["own"] = &table{id: 1026, name: "own", owner: u.id}
	s.do("admin", "drop user w", "box error: DropUser: Failed to drop user or role 'w': the user has objects")
	delete(s.cat.tables, "own")
	s.do("admin", "drop user w", "")
	if slices.ContainsFunc(s.cat.privs, func(p privilege) bool { return p.grantee == u.id }) {
		t.Error("privileges of the dropped user are left")
	}
	s.do("admin", "drop role r", "")
	s.do("admin", "audit policy dml_default by admin", "")
	s.do("admin", "audit policy nope by admin", "audit policy nope does not exist")
}

func TestACLTags(t *testing.T) {
	for sql, want := range map[string]string{
		"create user u using ldap": "CREATE ROLE", "create role r": "CREATE ROLE", "alter user u login": "ALTER ROLE",
		"drop user u": "DROP ROLE", "drop role r": "DROP ROLE", "grant read table to u": "GRANT", "grant r to u": "GRANT ROLE",
		"revoke read table from u": "REVOKE", "revoke r from u": "REVOKE ROLE", "select 1": "",
	} {
		n, err := grammar.Parse(grammar.V262, sql)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := aclTag(n); got != want {
			t.Errorf("%s: %q; want %q", sql, got, want)
		}
	}
}
