// Package bunpico is a dialect of bun for Picodata.
//
//	db := bunpico.NewDB(sqldb)
//
// bun's own pgdialect asks for RETURNING, DEFAULT and PostgreSQL's types, none of which Picodata has. This one writes times and UUIDs
// with the casts that Picodata needs; what Picodata lacks is an error that says what to do instead. Picodata has no sequences: give every row its
// key (a BeforeAppendModel hook is the place for it).
//
// bun writes arguments into the SQL text, so the driver can't see a sharding key among them: INSERTs go by
// the balancing policy unless picodata.ShardKey in the context says where.
package bunpico

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/feature"
	"github.com/uptrace/bun/dialect/sqltype"
	"github.com/uptrace/bun/schema"
)

// Dialect implements schema.Dialect.
type Dialect struct {
	schema.BaseDialect
	tables *schema.Tables
}

var _ schema.Dialect = (*Dialect)(nil)

// New makes a dialect. One serves one bun.DB.
func New() *Dialect {
	d := &Dialect{}
	d.tables = schema.NewTables(d)
	return d
}

// Init does nothing.
func (d *Dialect) Init(*sql.DB) {}

// Name is PostgreSQL's: bun's list of names is closed.
func (d *Dialect) Name() dialect.Name { return dialect.PG }

// Features is what Picodata has of bun's list.
func (d *Dialect) Features() feature.Feature {
	return feature.CTE | feature.DoubleColonCast | feature.SelectExists | feature.InsertOnConflict | feature.TableNotExists | feature.TableTruncate
}

// Tables are the models seen so far.
func (d *Dialect) Tables() *schema.Tables { return d.tables }

// OnTable gives the fields of a model Picodata's types.
func (d *Dialect) OnTable(t *schema.Table) {
	for _, f := range t.FieldMap {
		f.DiscoveredSQLType = typeOf(f.DiscoveredSQLType)
		if f.UserSQLType == "" {
			f.CreateTableSQLType = f.DiscoveredSQLType
		}
		if strings.EqualFold(f.UserSQLType, "uuid") {
			f.Append = withCast(f.Append, "::uuid")
		}
	}
}

// typeOf is Picodata's type for one of bun's. JSON goes into TEXT: a column of JSON exists, but takes no value from
// a client.
func typeOf(name string) string {
	switch name {
	case sqltype.Real, sqltype.DoublePrecision:
		return "DOUBLE"
	case sqltype.Timestamp, "TIMESTAMPTZ":
		return "DATETIME"
	case sqltype.JSON, sqltype.JSONB, sqltype.Blob, "BYTEA":
		return "TEXT"
	}
	return name
}

// withCast adds a cast to every value but NULL.
func withCast(plain schema.AppenderFunc, cast string) schema.AppenderFunc {
	return func(gen schema.QueryGen, b []byte, v reflect.Value) []byte {
		from := len(b)
		b = plain(gen, b, v)
		if string(b[from:]) == "NULL" {
			return b
		}
		return append(b, cast...)
	}
}

// IdentQuote is the double quote.
func (d *Dialect) IdentQuote() byte { return '"' }

// AppendTime writes a DATETIME of microseconds, in UTC.
func (d *Dialect) AppendTime(b []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(b, '\''), "2006-01-02T15:04:05.999999Z"), "'::datetime"...)
}

// AppendBytes writes text: Picodata has no type for bytes. What isn't UTF-8 is an error.
func (d *Dialect) AppendBytes(b, bytes []byte) []byte {
	if bytes == nil {
		return dialect.AppendNull(b)
	}
	if !utf8.Valid(bytes) {
		return dialect.AppendError(b, fmt.Errorf("bunpico: Picodata has no type for bytes that aren't text; encode them"))
	}
	return d.AppendString(b, string(bytes))
}

// AppendJSON writes the document as text.
func (d *Dialect) AppendJSON(b, doc []byte) []byte { return d.AppendString(b, string(doc)) }

// AppendSequence adds nothing: there are no sequences.
func (d *Dialect) AppendSequence(b []byte, _ *schema.Table, _ *schema.Field) []byte { return b }

// DefaultVarcharLen is 0: VARCHAR needs no length.
func (d *Dialect) DefaultVarcharLen() int { return 0 }

// DefaultSchema is public, the only one.
func (d *Dialect) DefaultSchema() string { return "public" }
