package engine

import (
	"fmt"
	"strings"
)

// codeInternal is the SQLSTATE of everything that SQL and the cluster complain about.
const codeInternal = "XX000"

// refuse makes an error of the SQL layer, which signs with its name.
func refuse(format string, args ...any) *Error {
	return &Error{codeInternal, "sbroad: " + fmt.Sprintf(format, args...)}
}

// bare makes an error that carries no layer's name.
func bare(format string, args ...any) *Error {
	return &Error{codeInternal, fmt.Sprintf(format, args...)}
}

// broken is a failure of the simulation itself, told apart from the server's by its first word.
func broken(err error) *Error { return &Error{codeInternal, "picotest: " + err.Error()} }

// denied is the storage's refusal of an access.
func denied(priv, kind, name, user string) *Error {
	return bare("box error: AccessDenied: %s access to %s '%s' is denied for user '%s'", priv, kind, name, user)
}

// refuseACL words a refusal of a statement about users and privileges.
func (c *catalog) refuseACL(format string, args ...any) *Error {
	if c.cluster.AtLeast(26, 2) {
		return refuse("invalid ACL: "+format, args...)
	}
	return refuse("invalid acl: "+format, args...)
}

// remote wraps an error of the SQL layer as a call to another replicaset's instance hands it back.
func remote(e *Error, replicaset string) *Error {
	inner := fmt.Sprintf("Error on replicaset %s: Failed to execute '.proc_sql_execute': %s", replicaset, e.Message)
	text := strings.ReplaceAll(quoteJSON(inner), "/", `\/`)
	return refuse(`box error: ProcLua: {"code":32,"base_type":"ClientError","type":"ClientError","message":%s,"trace":[{"file":"vshard\/error.lua","line":284}]}`, text)
}

// locally marks an error of a query that ran on the node the client is connected to; since 26.2 it says which query of the plan failed.
func locally(text string, v Version) *Error {
	if v.AtLeast(26, 2) {
		return refuse("Query 1 from EXPLAIN (RAW): %s", text)
	}
	return refuse("%s", text)
}
