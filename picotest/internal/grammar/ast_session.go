package grammar

// TxKind is which transaction word it is.
type TxKind int

// Transaction words. All are accepted and do nothing; END answers as COMMIT.
const (
	TxBegin TxKind = iota
	TxCommit
	TxRollback
	TxEnd
)

// Tx is BEGIN, COMMIT, ROLLBACK or END, without any further word.
type Tx struct {
	Span
	Kind TxKind
}

// Set is SET [SESSION|LOCAL] name = value, SET TIME ZONE and SET TRANSACTION,
// all of which change nothing. Name is "" for SET TRANSACTION and "timezone" for
// SET TIME ZONE.
type Set struct {
	Span
	Name Ident
	// Transaction is set by SET TRANSACTION and SET SESSION CHARACTERISTICS.
	Transaction bool
}

// Deallocate is DEALLOCATE [PREPARE] name or ALL.
type Deallocate struct {
	Span
	All  bool
	Name Ident
}

func (*Tx) statement()         {}
func (*Set) statement()        {}
func (*Deallocate) statement() {}
