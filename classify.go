package picodata

import (
	"github.com/lib/pq"
	"github.com/picodata/go-picodata/internal/servererr"
)

// Kind is what a server's error means to a caller. Picodata answers XX000 to nearly everything,
// so the text decides where the SQLSTATE doesn't.
type Kind uint8

// The kinds.
const (
	KindOther           = Kind(servererr.Other)
	KindQuery           = Kind(servererr.Query)           // the statement is wrong: syntax, names, types, values
	KindParameters      = Kind(servererr.Parameters)      // a parameter or their number was refused; nothing ran
	KindUnsupported     = Kind(servererr.Unsupported)     // 0A000
	KindUniqueViolation = Kind(servererr.UniqueViolation) // a duplicate key
	KindPermission      = Kind(servererr.Permission)      // the user lacks a privilege
	KindLimit           = Kind(servererr.Limit)           // sql_motion_row_max, sql_vdbe_opcode_max
	KindCapacity        = Kind(servererr.Capacity)        // connections, statements or portals of the instance are used up
	KindLogin           = Kind(servererr.Login)           // 28P01, 28000
	KindStale           = Kind(servererr.Stale)           // 42999: the prepared statement was invalidated; nothing ran
	KindLostStatement   = Kind(servererr.LostStatement)   // the server doesn't know the name of a prepared statement or portal, or knows it already; nothing ran
	KindSchema          = Kind(servererr.Schema)          // router and storage see different schemas; the storage refused
	KindSwitchover      = Kind(servererr.Switchover)      // a leader changed while the statement was under way
	KindRoute           = Kind(servererr.Route)           // a replicaset couldn't be reached or its buckets weren't where the router looked
	KindTimeout         = Kind(servererr.Timeout)         // the instance that was asked waited for another in vain; the outcome of a write is unknown
	KindForward         = Kind(servererr.Forward)         // cannot satisfy "forward = …"; nothing ran
)

// String is a short name of the kind.
func (k Kind) String() string { return servererr.Kind(k).String() }

// newError reads a server's error. node is the instance that was asked.
func newError(p *pq.Error, node Node) *Error {
	r := servererr.Read(string(p.Code), p.Message)
	return &Error{
		Kind:       Kind(r.Kind),
		Code:       string(p.Code),
		Message:    r.Message,
		Replicaset: r.Replicaset,
		Node:       node,
		report:     r,
		cause:      p,
	}
}
