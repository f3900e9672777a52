package engine

import (
	"slices"

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
		return refuse("invalid privilege: %s is not a privilege of this kind of object", n.Privilege)
	}
	grantee := c.users[n.Grantee.Name]
	if grantee == nil && n.Kind != grammar.ObjectTable {
		return noGrantee(n)
	}
	what, err := c.granted(n)
	if err != nil {
		return err
	}
	if grantee == nil {
		return noGrantee(n)
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
		return denied(verb, spoken(what.kind), what.name, by.name)
	}
	version := c.bump()
	if n.Revoke {
		c.revoke(has)
		return nil
	}
	c.privs = append(c.privs, privilege{grantor: by.id, grantee: grantee.id, priv: word, kind: what.kind, object: what.id, version: version})
	return nil
}

func noGrantee(n *grammar.Grant) *Error {
	return refuse("invalid acl: Nor user, neither role with name %s exists", n.Grantee.Name)
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
			return object{}, refuse("invalid acl: There is no routine with name %s", name)
		}
		return object{kind, int64(r.id), name, r.owner}, nil
	}
	return c.granteeObject(name, kind)
}

func (c *catalog) granteeObject(name, kind string) (object, *Error) {
	u := c.users[name]
	if u == nil || u.role != (kind == "role") {
		return object{}, refuse("invalid acl: There is no %s with name %s", kind, name)
	}
	return object{kind, int64(u.id), name, u.owner}, nil
}

// mayGrant tells whether somebody passes on privileges on an object: its owner does, and admin.
func (c *catalog) mayGrant(by *user, what object) bool {
	return by.id == idAdmin || by.id == idService || what.id >= 0 && what.owner == by.id
}

// spoken gives the storage's word for a kind of object.
func spoken(kind string) string {
	switch kind {
	case "table":
		return "space"
	case "routine":
		return "function"
	}
	return kind
}
