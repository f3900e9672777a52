package route

import (
	"database/sql/driver"
	"slices"

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

// hashOwn hashes the key that the driver's own reading of the text found for a row; ownKey has said yes.
func hashOwn(key *bucket.Key, in *Input, t *keyTable, row int, rule bucket.DoubleRule) (Reason, string) {
	values := in.Info.Row(row)
	for i := range t.key {
		ref, _ := refOf(in.Info, values, t, &t.key[i])
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
	if !info.Bound() && info.RowValues == nil {
		return info.Reason
	}
	for row := range max(info.Rows, 1) {
		values := info.Row(row)
		if info.Class == sqltext.Insert && info.Columns == nil && len(values) != t.columns {
			return "INSERT fills another number of columns than the table has"
		}
		for i := range t.key {
			c := &t.key[i]
			ref, ok := refOf(info, values, t, c)
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
	}
	return ""
}

// refOf finds the value of a key's column in the text; values are the row's, of an INSERT.
func refOf(info *sqltext.Info, values []sqltext.Ref, t *keyTable, c *keyColumn) (sqltext.Ref, bool) {
	if info.Class != sqltext.Insert {
		for i := range info.Keys {
			if info.Keys[i].Column == c.name {
				return info.Keys[i].Ref, true
			}
		}
		return sqltext.Ref{}, false
	}
	if info.Columns == nil {
		if c.position < len(values) {
			return values[c.position], true
		}
		return sqltext.Ref{}, false
	}
	for i := range info.Columns {
		if info.Columns[i] == c.name && i < len(values) {
			return values[i], true
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

// OneBucket reports whether the text gives the whole sharding key of its table, as the server reads it, so that the
// statement touches one bucket, whatever routing says and wherever the bucket lies.
func (v *View) OneBucket(info *sqltext.Info) bool {
	if v == nil {
		return false
	}
	t, ok := v.tables.table(info.Table)
	return ok && !t.global && t.byKey && info.Rows <= 1 && ownKey(info, t) == "" // rows have keys of their own
}

// Owner names the replicaset that owns a row with these values in these columns, by its uuid; "" if that can't be
// told. global: the table's rows are everywhere. The values are as they will be sent.
func (v *View) Owner(table string, columns []string, row []driver.Value) (owner string, global bool) {
	t, ok := v.tables.table(table)
	if !ok || t.global || !t.byKey {
		return "", ok && t.global
	}
	count, ok := v.buckets.Count(t.tier)
	if !ok {
		return "", false
	}
	var key bucket.Key
	for i := range t.key {
		at := slices.Index(columns, t.key[i].name)
		if at < 0 || at >= len(row) || key.Add(row[at], t.key[i].oid, v.double) != "" {
			return "", false
		}
	}
	owner, _ = v.buckets.Lookup(t.tier, key.Bucket(count))
	return owner, false
}

// KnowsTable reports whether the table's distribution is known.
func (v *View) KnowsTable(name string) bool {
	if v == nil {
		return false
	}
	_, ok := v.tables.table(name)
	return ok
}

// TierOf is the tier of a sharded table; false: it isn't one, or isn't known.
func (v *View) TierOf(name string) (tier string, ok bool) {
	if v == nil {
		return "", false
	}
	t, known := v.tables.table(name)
	if !known || t.global {
		return "", false
	}
	return t.tier, t.tier != ""
}
