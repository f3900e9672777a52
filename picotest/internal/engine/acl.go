package engine

import (
	"fmt"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// aclPlan runs a statement on users, roles or privileges.
type aclPlan struct{ node grammar.Statement }

func (p *aclPlan) buckets(*Stmt, *runState, []Value) (BucketSet, *Error) { return BucketSet{}, nil }

func (p *aclPlan) run(s *Stmt, _ *runState, _ []Value, _ View) (*Result, *Error) {
	by := s.eng.cat.users[s.sess.User]
	if by == nil {
		return nil, bare("user %s does not exist", s.sess.User)
	}
	return &Result{}, s.eng.cat.acl(p.node, by)
}

// buildACL prepares the statement if it is an ACL one.
func (s *Stmt) buildACL(n grammar.Statement) bool {
	tag, ok := aclTag(n)
	if ok {
		s.kind, s.tag, s.plan = ACL, tag, &aclPlan{n}
	}
	return ok
}

// aclTag gives the command tag of an ACL statement, and whether it is one. To the wire users are roles.
func aclTag(n grammar.Statement) (string, bool) {
	switch n := n.(type) {
	case *grammar.CreateUser, *grammar.CreateRole:
		return "CREATE ROLE", true
	case *grammar.AlterUser:
		return "ALTER ROLE", true
	case *grammar.DropUser, *grammar.DropRole:
		return "DROP ROLE", true
	case *grammar.AuditPolicy:
		return "ALTER ROLE", true
	case *grammar.Grant:
		tag := "GRANT"
		if n.Revoke {
			tag = "REVOKE"
		}
		if n.Privilege == grammar.RoleMembership {
			tag += " ROLE"
		}
		return tag, true
	}
	return "", false
}

// acl changes the catalog. What is already as the statement wants it is no error.
func (c *catalog) acl(n grammar.Statement, by *user) *Error {
	switch n := n.(type) {
	case *grammar.CreateUser:
		return c.createUser(n, by)
	case *grammar.AlterUser:
		return c.alterUser(n, by)
	case *grammar.DropUser:
		return c.dropGrantee(n.Name.Name, "user", n.IfExists, by)
	case *grammar.CreateRole:
		return c.createRole(n, by)
	case *grammar.DropRole:
		return c.dropGrantee(n.Name.Name, "role", n.IfExists, by)
	case *grammar.Grant:
		return c.grant(n, by)
	case *grammar.AuditPolicy:
		return c.auditPolicy(n)
	}
	return broken(fmt.Errorf("%T is no ACL statement", n))
}

// authMethod gives a login method's name.
func authMethod(m grammar.AuthMethod) string {
	switch m {
	case grammar.AuthChapSHA1:
		return "chap-sha1"
	case grammar.AuthScramSHA256:
		return "scram-sha-256"
	case grammar.AuthLDAP:
		return "ldap"
	}
	return "md5"
}

func (c *catalog) createUser(n *grammar.CreateUser, by *user) *Error {
	name := n.Name.Name
	if name == "" {
		return bare("expected non empty name")
	}
	method := authMethod(n.Auth)
	if method != "ldap" {
		if err := c.checkPassword(n.Password); err != nil {
			return err
		}
	}
	if u := c.users[name]; u != nil {
		switch {
		case u.role:
			return bare("role %s already exists", name)
		case n.IfNotExists:
			return nil
		}
		return bare("user %s already exists", name)
	}
	if !c.may(by, "create", "user", -1, by.id) {
		return denied("Create", "user", name, by.name)
	}
	version := c.bump()
	u := &user{id: c.nextUserID(), name: name, method: method, password: n.Password, hasAuth: true, owner: by.id, version: version}
	c.users[name] = u
	// Everybody is in the role public, may log in and may change himself.
	for _, p := range []privilege{
		{priv: "execute", kind: "role", object: idPublic},
		{priv: "login", kind: "universe"},
		{priv: "alter", kind: "user", object: int64(u.id)},
	} {
		p.grantor, p.grantee, p.version = by.id, u.id, version
		c.privs = append(c.privs, p)
	}
	return nil
}

func (c *catalog) createRole(n *grammar.CreateRole, by *user) *Error {
	name := n.Name.Name
	if name == "" {
		return bare("expected non empty name")
	}
	if u := c.users[name]; u != nil {
		switch {
		case !u.role:
			return bare("user %s already exists", name)
		case n.IfNotExists:
			return nil
		}
		return bare("role %s already exists", name)
	}
	if !c.may(by, "create", "role", -1, by.id) {
		return denied("Create", "role", name, by.name)
	}
	c.users[name] = &user{id: c.nextUserID(), name: name, role: true, owner: by.id, version: c.bump()}
	return nil
}

func (c *catalog) alterUser(n *grammar.AlterUser, by *user) *Error {
	name := n.Name.Name
	u := c.users[name]
	switch {
	case u == nil:
		return bare("user %s does not exist", name)
	case u.role:
		return bare("Role %s exists. Unable to alter role.", name)
	}
	if n.Change == grammar.UserPassword {
		if method := authMethod(n.Auth); method != "ldap" {
			if err := c.checkPassword(n.Password); err != nil {
				return err
			}
		}
	}
	if n.Change == grammar.UserRename {
		switch to := n.To.Name; {
		case to == "":
			return bare("expected non empty name")
		case to == name:
			return bare("user %s does not exist", name)
		case c.users[to] != nil:
			return bare("user %s already exists", to)
		}
	}
	// Users change their own passwords; the rest takes the owner or a privilege.
	self := n.Change == grammar.UserPassword && by.id == u.id
	if !self && !c.may(by, "alter", "user", int64(u.id), u.owner) {
		return denied("Alter", "user", name, by.name)
	}
	changed := *u
	changed.version = c.bump()
	switch n.Change {
	case grammar.UserPassword:
		changed.method, changed.password = authMethod(n.Auth), n.Password
	case grammar.UserRename:
		delete(c.users, name)
		changed.name = n.To.Name
	case grammar.UserLogin:
		if !c.hasLogin(u) {
			c.privs = append(c.privs, privilege{grantor: by.id, grantee: u.id, priv: "login", kind: "universe", version: changed.version})
		}
	case grammar.UserNoLogin:
		c.revoke(func(p privilege) bool { return p.grantee == u.id && p.priv == "login" })
	}
	c.users[changed.name] = &changed
	return nil
}

// dropGrantee drops a user or a role with all privileges it has and all on it.
func (c *catalog) dropGrantee(name, kind string, ifExists bool, by *user) *Error {
	u := c.users[name]
	switch {
	case u == nil && ifExists:
		return nil
	case u == nil:
		return bare("%s %s does not exist", kind, name)
	case kind == "user" && u.role:
		return c.refuseACL("Role %s exists. Unable to drop role.", name)
	case kind == "role" && !u.role:
		return c.refuseACL("User %s exists. Unable to drop user.", name)
	}
	if u.id <= idService {
		return bare("box error: DropUser: Failed to drop user or role '%s': the user or the role is a system", name)
	}
	if !c.may(by, "drop", kind, int64(u.id), u.owner) {
		return denied("Drop", kind, name, by.name)
	}
	for _, t := range c.tables {
		if t.owner == u.id {
			return bare("box error: DropUser: Failed to drop user or role '%s': the user has objects", name)
		}
	}
	delete(c.users, name)
	c.revoke(func(p privilege) bool {
		return p.grantee == u.id || (p.kind == "user" || p.kind == "role") && p.object == int64(u.id)
	})
	c.bump()
	return nil
}

// auditPolicies are the names AUDIT POLICY knows.
var auditPolicies = map[string]bool{"dml_default": true}

// auditPolicy checks the names; nothing is audited here.
func (c *catalog) auditPolicy(n *grammar.AuditPolicy) *Error {
	if !auditPolicies[n.Name.Name] {
		return bare("audit policy %s does not exist", n.Name.Name)
	}
	switch u := c.users[n.User.Name]; {
	case u == nil:
		return bare("user %s does not exist", n.User.Name)
	case u.role:
		return bare("the statement works for users only, not for roles")
	}
	return nil
}
