package route

import (
	"database/sql/driver"

	"github.com/picodata/go-picodata/internal/bucket"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// hashParams hashes the key that a server's notice describes.
func hashParams(key *bucket.Key, args []driver.NamedValue, params []schema.KeyParam, rule bucket.DoubleRule) (Reason, string) {
	for _, part := range params {
		if part.Index < 0 || part.Index >= len(args) {
			return NotRoutable, "an argument of the key is missing" // the server will say so
		}
		if why := key.Add(args[part.Index].Value, part.OID, rule); why != "" {
			return NoBucket, why
		}
	}
	return NoReason, ""
}

// hashOwn hashes the key that the driver's own reading of the text found; ownKey has said yes.
func hashOwn(key *bucket.Key, in *Input, t *keyTable, rule bucket.DoubleRule) (Reason, string) {
	for i := range t.key {
		ref, _ := refOf(in.Info, t, &t.key[i])
		if ref.Param < 0 || ref.Param >= len(in.Args) {
			return NotRoutable, "an argument of the key is missing"
		}
		if why := key.Add(in.Args[ref.Param].Value, t.key[i].oid, rule); why != "" {
			return NoBucket, why
		}
	}
	return NoReason, ""
}

// ownKey says why the text doesn't give the table's whole key; "" if it does.
func ownKey(info *sqltext.Info, t *keyTable) string {
	if !info.Bound() {
		return info.Reason
	}
	if info.Class == sqltext.Insert && info.Columns == nil && len(info.Values) != t.columns {
		return "INSERT fills another number of columns than the table has"
	}
	for i := range t.key {
		c := &t.key[i]
		ref, ok := refOf(info, t, c)
		switch {
		case !ok:
			return "a column of the sharding key is missing"
		case ref.Param < 0:
			return "a column of the sharding key isn't a parameter"
		case ref.Cast != "" && castOID(ref.Cast) != c.oid:
			// The bucket depends on the parameter's type and not on the column's.
			return "a cast gives a column of the sharding key another type"
		}
	}
	return ""
}

// refOf finds the value of a key's column in the text.
func refOf(info *sqltext.Info, t *keyTable, c *keyColumn) (sqltext.Ref, bool) {
	if info.Class != sqltext.Insert {
		for i := range info.Keys {
			if info.Keys[i].Column == c.name {
				return info.Keys[i].Ref, true
			}
		}
		return sqltext.Ref{}, false
	}
	if info.Columns == nil {
		if c.position < len(info.Values) {
			return info.Values[c.position], true
		}
		return sqltext.Ref{}, false
	}
	for i := range info.Columns {
		if info.Columns[i] == c.name && i < len(info.Values) {
			return info.Values[i], true
		}
	}
	return sqltext.Ref{}, false
}

// castOID is the type that a parameter has behind a cast; 0 if it isn't one of a key's.
func castOID(name string) uint32 {
	switch name {
	case "bool", "boolean":
		return bucket.OIDBool
	case "int", "integer", "bigint", "smallint", "int2", "int4", "int8":
		return bucket.OIDInt8
	case "text", "string", "varchar":
		return bucket.OIDText
	case "double":
		return bucket.OIDFloat8
	case "decimal", "numeric", "number":
		return bucket.OIDNumeric
	case "uuid":
		return bucket.OIDUUID
	case "datetime":
		return bucket.OIDTimestamptz
	}
	return 0
}
