package engine

import (
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// object is what a privilege is about, as _pico_privilege names it. id is -1 for all objects of the kind.
type object struct {
	kind  string
	id    int64
	name  string
	owner uint64
}

// grantable are the privileges that exist for each kind of object.
var grantable = map[grammar.ObjectKind][]grammar.Privilege{
	grammar.ObjectUser:      {grammar.PrivCreate, grammar.PrivAlter, grammar.PrivDrop},
	grammar.ObjectRole:      {grammar.PrivCreate, grammar.PrivDrop},
	grammar.ObjectTable:     {grammar.PrivRead, grammar.PrivWrite, grammar.PrivCreate, grammar.PrivAlter, grammar.PrivDrop},
	grammar.ObjectProcedure: {grammar.PrivCreate, grammar.PrivDrop, grammar.PrivExecute},
}

// grant gives a privilege or a role, or with REVOKE takes it. What is there already, or isn't, is no error.
func (c *catalog) grant(n *grammar.Grant, by *user) *Error {
	if n.Privilege != grammar.RoleMembership && !grantFits(n) {
		return refuse("invalid privilege: Supported privileges are: [%s]", strings.Join(supported(n), ", "))
	}
	grantee := c.users[n.Grantee.Name]
	if grantee == nil && n.Kind != grammar.ObjectTable {
		return c.noGrantee(n)
	}
	what, err := c.granted(n)
	if err != nil {
		return err
	}
	if grantee == nil {
		return c.noGrantee(n)
	}
	word := n.Privilege.String()
	if n.Privilege == grammar.RoleMembership {
		word = "execute"
	}
	has := func(p privilege) bool {
		return p.grantee == grantee.id && p.priv == word && p.kind == what.kind && p.object == what.id
	}
	if slices.ContainsFunc(c.privs, has) != n.Revoke {
		return nil
	}
	if !c.mayGrant(by, what) {
		verb := "Grant"
		if n.Revoke {
			verb = "Revoke"
		}
		return bare("box error: AccessDenied: %s to %s '%s' is denied for user '%s'", verb, what.kind, what.name, by.name)
	}
	if n.Privilege == grammar.RoleMembership && grantee.role && !n.Revoke && c.reaches(uint64(what.id), grantee.id) {
		return bare("box error: RoleLoop: Granting role %s to role %s would create a loop", what.name, grantee.name)
	}
	version := c.bump()
	if n.Revoke {
		c.revoke(has)
		return nil
	}
	c.privs = append(c.privs, privilege{grantor: by.id, grantee: grantee.id, priv: word, kind: what.kind, object: what.id, version: version})
	return nil
}

func (c *catalog) noGrantee(n *grammar.Grant) *Error {
	return c.refuseACL("Nor user, neither role with name %s exists", n.Grantee.Name)
}

// supported lists the privileges that the kind of object knows.
func supported(n *grammar.Grant) []string {
	var out []string
	for _, p := range grantable[n.Kind] {
		if n.Object == nil || p != grammar.PrivCreate {
			word := p.String()
			out = append(out, strings.ToUpper(word[:1])+word[1:])
		}
	}
	slices.Sort(out)
	return out
}

// reaches tells whether a role is another or was granted it, through others too.
func (c *catalog) reaches(role, other uint64) bool {
	if role == other {
		return true
	}
	for _, p := range c.privs {
		if p.grantee == role && p.kind == "role" && p.priv == "execute" && c.reaches(uint64(p.object), other) {
			return true
		}
	}
	return false
}

// grantFits tells whether the privilege exists for the kind of object; nobody can be given the right to create one that is there.
func grantFits(n *grammar.Grant) bool {
	return slices.Contains(grantable[n.Kind], n.Privilege) && !(n.Object != nil && n.Privilege == grammar.PrivCreate)
}

// granted finds what GRANT is about.
func (c *catalog) granted(n *grammar.Grant) (object, *Error) {
	if n.Privilege == grammar.RoleMembership {
		return c.granteeObject(n.Role.Name, "role")
	}
	kind := map[grammar.ObjectKind]string{
		grammar.ObjectUser: "user", grammar.ObjectRole: "role", grammar.ObjectTable: "table", grammar.ObjectProcedure: "routine",
	}[n.Kind]
	if n.Object == nil {
		return object{kind: kind, id: -1, owner: idAdmin}, nil
	}
	name := n.Object.Name
	switch n.Kind {
	case grammar.ObjectTable:
		// System tables can be granted too, whatever version the session has.
		t, ok := c.lookup(name, Version{Major: 99})
		if !ok {
			return object{}, refuse("space %s not found", name)
		}
		return object{kind, int64(t.id), name, t.owner}, nil
	case grammar.ObjectProcedure:
		r := c.routine[name]
		if r == nil {
			return object{}, c.refuseACL("There is no routine with name %s", name)
		}
		return object{kind, int64(r.id), name, r.owner}, nil
	}
	return c.granteeObject(name, kind)
}

func (c *catalog) granteeObject(name, kind string) (object, *Error) {
	u := c.users[name]
	if u == nil || u.role != (kind == "role") {
		return object{}, c.refuseACL("There is no %s with name %s", kind, name)
	}
	return object{kind, int64(u.id), name, u.owner}, nil
}

// mayGrant tells whether somebody passes on privileges on an object: its owner does, and admin.
func (c *catalog) mayGrant(by *user, what object) bool {
	return by.id == idAdmin || by.id == idService || what.id >= 0 && what.owner == by.id
}
