package gormpico

import (
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/migrator"
	"gorm.io/gorm/schema"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
)

// DefaultBatchRows is how many rows a Create puts into one INSERT at most. A statement that moves more than
// sql_motion_row_max rows (5000 unless the cluster says otherwise) is refused.
const DefaultBatchRows = 1000

// maxParameters is the protocol's limit for one statement.
const maxParameters = 65535

// Config says how to reach the cluster and what the dialector decides.
type Config struct {
	// DSN opens a connection, unless Conn is given.
	DSN string
	// Conn is an open *sql.DB, or what GORM takes for one.
	Conn gorm.ConnPool
	// BatchRows bounds the rows of one INSERT; 0 is DefaultBatchRows. Fewer go into it where
	// the protocol's 65,535 parameters wouldn't do.
	BatchRows int
	// NewKey gives a value for a zero primary key of an integer or uuid field: int64, or string. nil: keys that grow with time, so
	// that First and Last mean the oldest and the newest row: 53 bits, which JavaScript's numbers hold exactly, or a
	// UUID of version 7. It is called from many goroutines.
	NewKey func(*schema.Field) (any, error)
}

// Dialector implements gorm.Dialector and gorm.ErrorTranslator.
type Dialector struct{ config Config }

var (
	_ gorm.Dialector       = (*Dialector)(nil)
	_ gorm.ErrorTranslator = (*Dialector)(nil)
)

// Open is New with a DSN.
func Open(dsn string) gorm.Dialector { return New(Config{DSN: dsn}) }

// New makes a dialector of a Config.
func New(c Config) gorm.Dialector {
	if c.BatchRows <= 0 {
		c.BatchRows = DefaultBatchRows
	}
	if c.NewKey == nil {
		c.NewKey = (&timeKeys{now: time.Now}).next
	}
	return &Dialector{config: c}
}

// Name is "picodata".
func (d *Dialector) Name() string { return "picodata" }

// Initialize connects db and registers what it does differently.
func (d *Dialector) Initialize(db *gorm.DB) error {
	if d.config.Conn != nil {
		db.ConnPool = d.config.Conn
	} else {
		pool, err := sql.Open("picodata", d.config.DSN)
		if err != nil {
			return err
		}
		db.ConnPool = pool
	}
	if pool, ok := db.ConnPool.(*sql.DB); ok && rejectsTransactions(pool) {
		db.SkipDefaultTransaction = true
	} else if ok {
		db.ConnPool = &connPool{pool}
	}
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{
		QueryClauses: []string{"SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "FOR"},
	})
	for name, build := range clauseBuilders {
		db.ClauseBuilders[name] = build
	}
	if err := db.Callback().Create().Replace("gorm:create", d.create); err != nil {
		return err
	}
	if err := db.Callback().Update().Before("gorm:update").Register("picodata:no_returning", noReturning); err != nil {
		return err
	}
	return db.Callback().Delete().Before("gorm:delete").Register("picodata:no_returning", noReturning)
}

// rejectsTransactions reports whether BeginTx would fail.
func rejectsTransactions(db *sql.DB) bool {
	conn, err := picodata.Unwrap(db)
	return err == nil && conn.Config().Transactions == options.TransactionsReject
}

// Migrator reads and changes the schema.
func (d *Dialector) Migrator(db *gorm.DB) gorm.Migrator {
	return Migrator{migrator.Migrator{Config: migrator.Config{DB: db, Dialector: d, CreateIndexAfterCreateTable: true}}}
}

// DataTypeOf is the column type of a field. Types of the type tag pass as they are, save that JSON becomes TEXT: a
// JSON column exists, but no client can send a value for one.
func (d *Dialector) DataTypeOf(field *schema.Field) string {
	switch field.DataType {
	case schema.Bool:
		return "BOOLEAN"
	case schema.Int, schema.Uint:
		return "INTEGER"
	case schema.Float:
		if field.Precision > 0 {
			return fmt.Sprintf("DECIMAL(%d, %d)", field.Precision, field.Scale)
		}
		return "DOUBLE"
	case schema.String:
		if field.Size > 0 {
			return fmt.Sprintf("VARCHAR(%d)", field.Size)
		}
		return "TEXT"
	case schema.Time:
		return "DATETIME"
	case schema.Bytes:
		return "TEXT"
	}
	switch strings.ToLower(string(field.DataType)) {
	case "json", "jsonb":
		return "TEXT"
	case "timestamptz", "timestamp":
		return "DATETIME"
	}
	return string(field.DataType)
}

// DefaultValueOf is NULL: Picodata knows no DEFAULT.
func (d *Dialector) DefaultValueOf(*schema.Field) clause.Expression { return clause.Expr{SQL: "NULL"} }

// BindVarTo writes $1, $2, ….
func (d *Dialector) BindVarTo(w clause.Writer, stmt *gorm.Statement, _ any) {
	_ = w.WriteByte('$')
	_, _ = w.WriteString(strconv.Itoa(len(stmt.Vars)))
}

// QuoteTo writes a name, part by part if it has dots, in double quotes.
func (d *Dialector) QuoteTo(w clause.Writer, name string) {
	for i, part := range strings.Split(name, ".") {
		if i > 0 {
			_ = w.WriteByte('.')
		}
		_ = w.WriteByte('"')
		_, _ = w.WriteString(strings.ReplaceAll(strings.Trim(part, `"`), `"`, `""`))
		_ = w.WriteByte('"')
	}
}

var parameter = regexp.MustCompile(`\$(\d+)`)

// Explain is a statement with its values, for logs only.
func (d *Dialector) Explain(sql string, vars ...any) string {
	return logger.ExplainSQL(sql, parameter, `'`, vars...)
}

// Translate makes gorm.ErrDuplicatedKey of a duplicate key, under gorm.Config.TranslateError.
func (d *Dialector) Translate(err error) error {
	if picodata.IsUniqueViolation(err) {
		return fmt.Errorf("%w: %w", gorm.ErrDuplicatedKey, err)
	}
	return err
}
