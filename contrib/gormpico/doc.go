// Package gormpico is a GORM dialector for Picodata.
//
//	db, err := gorm.Open(gormpico.Open(dsn), &gorm.Config{})
//
// It writes the SQL that Picodata knows: LIMIT as a literal, no RETURNING, no OFFSET, ON CONFLICT DO NOTHING and DO
// REPLACE, tables with DISTRIBUTED BY. Its migrator reads _pico_table and _pico_index, so the user needs READ on both.
//
// Tags of a model's fields, beside GORM's own:
//
//	distributedBy          the column is part of the sharding key; distributedBy:2 gives its place
//	distributedGlobally    the table is a copy on every instance
//	tier:NAME              where the table's buckets live
//	engine:vinyl           the storage engine
//
// Without distributedBy a table is sharded by its primary key. A unique index, from the tags unique and uniqueIndex, must begin with the whole sharding key,
// or be of a global table: others are refused before anything is created, and so are check and a default that the server would compute.
//
// Picodata has no sequences: a zero integer or UUID primary key is filled in by the client before the INSERT, growing with time
// and within 53 bits, unless Config.NewKey says otherwise. It has no transactions either: unless the connection has
// transactions=autocommit, the dialector sets SkipDefaultTransaction, and db.Transaction fails with the driver's own error. With it, what ran before a failure
// stays: the error of a statement that fails after a write matches picodata.ErrNotRolledBack, and Transaction is a db.Transaction that says so for
// every error. A Create of a slice that is too long for one statement runs as several, none of which undoes another.
package gormpico
