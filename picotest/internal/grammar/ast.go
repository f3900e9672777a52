// Package grammar reads Picodata's SQL: text in, syntax tree out. It does no
// I/O, knows no catalog and keeps no state; what a name means and which types
// fit is the business of the engine that executes the tree.
//
// It accepts and refuses what a server of the given version accepts and
// refuses. The server's reader is a PEG, with all the surprises of one (a choice
// once made is not taken back, keywords are prefixes, whitespace is part of the
// grammar), so this one is built the same way: see parser.go.
package grammar

// Span is a half-open range of byte offsets into the statement's text.
type Span struct{ Start, End int }

// Text gives the part of sql that the span covers; "" if the span lies outside.
func (s Span) Text(sql string) string {
	if s.Start < 0 || s.End > len(sql) || s.Start > s.End {
		return ""
	}
	return sql[s.Start:s.End]
}

// Pos gives the span itself; embedded in every node, it makes each a [Node].
func (s Span) Pos() Span { return s }

// Node is anything that has a place in the text.
type Node interface{ Pos() Span }

// Statement is one of the pointer types of this package that stand for a whole
// statement: *Select, *Insert, *Update, *Delete, *Block, *Explain, *Call, the
// DDL and ACL statements of ast_ddl.go, the session statements of ast_session.go, and *Empty.
type Statement interface {
	Node
	statement()
}

// Ident is a name as the server uses it: folded to lower case unless quoted.
type Ident struct {
	Span
	Name   string
	Quoted bool
}

// TableName is a table in FROM, INTO, UPDATE or DDL. The only schema the grammar
// knows is public, and it means nothing, so it's not kept.
type TableName struct {
	Ident
}

// Empty is a text of nothing but blanks and semicolons.
type Empty struct{ Span }

// Select is a query that yields rows, with its OPTION list.
type Select struct {
	Span
	Query   *Query
	Options []Option
}

// Query is the part of a SELECT or VALUES that may also stand in parentheses,
// in a CTE, after INSERT INTO and in a DO block.
type Query struct {
	Span
	With []*CTE
	// Terms are the SELECTs that set operators join, left to right; empty when
	// the query is a VALUES list.
	Terms []Term
	// Values are the rows of a VALUES list; nil when the query has Terms.
	Values []*Row
	// OrderBy and Limit apply to the whole chain of Terms.
	OrderBy []OrderItem
	Limit   *Limit
}

// SetOp joins a term to everything before it.
type SetOp int

// The set operators. There is no INTERSECT.
const (
	NoSetOp SetOp = iota // the first term
	Union
	UnionAll
	Except
)

// Term is one SELECT of a chain.
type Term struct {
	Op   SetOp
	Core *SelectCore
}

// CTE is one WITH item. Columns is nil when it renames none.
type CTE struct {
	Span
	Name    Ident
	Columns []Ident
	Query   *Query
}

// SelectCore is SELECT … FROM … WHERE … GROUP BY … HAVING … WINDOW.
type SelectCore struct {
	Span
	Distinct bool
	Items    []SelectItem
	From     *Source // nil without FROM
	Joins    []*Join
	Where    Expr
	GroupBy  []Expr
	Having   Expr
	Windows  []NamedWindow
}

// SelectItem is a column of the projection: either a star (then Expr is nil) or
// an expression, perhaps with an alias.
type SelectItem struct {
	Span
	Star      bool
	StarTable *Ident // t in t.*; nil for a bare star
	Expr      Expr
	Alias     *Ident
}

// Source is what FROM, JOIN and UPDATE … FROM read: a table or CTE by name, or a
// subquery. Exactly one of Table and Query is set.
type Source struct {
	Span
	Table     *TableName
	Query     *Query
	Alias     *Ident
	IndexedBy *Ident
}

// JoinKind says which join it is. There is no RIGHT, FULL or CROSS join.
type JoinKind int

// The joins of the grammar; JOIN alone is an inner join.
const (
	InnerJoin JoinKind = iota
	LeftJoin
)

// Join is one JOIN … ON.
type Join struct {
	Span
	Kind JoinKind
	// KindWritten tells `inner join` from `join`.
	KindWritten bool
	Source      *Source
	On          Expr
}

// OrderItem is one ORDER BY element.
type OrderItem struct {
	Span
	Expr  Expr
	Order SortOrder
	Nulls NullsOrder
}

// SortOrder is ASC, DESC or neither.
type SortOrder int

// Sort orders as written.
const (
	OrderDefault SortOrder = iota
	Asc
	Desc
)

// NullsOrder is NULLS FIRST, NULLS LAST or neither.
type NullsOrder int

// Places of nulls as written.
const (
	NullsDefault NullsOrder = iota
	NullsFirst
	NullsLast
)

// Limit is LIMIT n, or LIMIT ALL and LIMIT NULL, which limit nothing.
type Limit struct {
	Span
	All    bool
	Count  uint64
	Digits string // the number as written
	// Overflow is set when the number doesn't fit 64 bits; the server refuses
	// it while it builds the plan, not as a syntax error.
	Overflow bool
}

// NamedWindow is one item of the WINDOW clause.
type NamedWindow struct {
	Name   Ident
	Window *WindowSpec
}

// Insert is INSERT INTO.
type Insert struct {
	Span
	Table   TableName
	Columns []Ident // nil when not written
	// Source is a SELECT, or a VALUES list (Source.Values).
	Source     *Query
	OnConflict *OnConflict
	Options    []Option
}

// ConflictAction says what a duplicate key does.
type ConflictAction int

// The actions of ON CONFLICT. Fail is also what happens without the clause.
const (
	DoFail ConflictAction = iota
	DoNothing
	DoReplace
	DoUpdate // 26.2, in blocks alone; the engine refuses it elsewhere
)

// OnConflict is the ON CONFLICT clause. Target and Set are nil unless written.
type OnConflict struct {
	Span
	Target []Ident
	Action ConflictAction
	Set    []Assignment
}

// Assignment is `column = value` of UPDATE and DO UPDATE. In DO UPDATE the column
// may be qualified (Table).
type Assignment struct {
	Span
	Table  *Ident
	Column Ident
	Value  Expr
}

// Update is UPDATE … SET … [FROM source] [WHERE].
type Update struct {
	Span
	Table     TableName
	IndexedBy *Ident
	Set       []Assignment
	From      *Source
	Where     Expr
	Options   []Option
}

// Delete is DELETE FROM … [WHERE].
type Delete struct {
	Span
	Table     TableName
	IndexedBy *Ident
	Where     Expr
	Options   []Option
}

// Block is DO [LANGUAGE sql] $$ BEGIN … END $$.
type Block struct {
	Span
	Statements []BlockStatement
	Options    []Option
}

// BlockStatement is *BlockQuery, *BlockReturn, *BlockLet or *BlockIf.
type BlockStatement interface {
	Node
	blockStatement()
}

// BlockQuery is a plain statement of a block: *Select, *Insert, *Update or *Delete.
type BlockQuery struct {
	Span
	Stmt Statement
}

// BlockReturn is RETURN QUERY; Stmt is what the grammar lets in, any of the four.
type BlockReturn struct {
	Span
	Stmt Statement
}

// BlockLet is LET name = (subquery).
type BlockLet struct {
	Span
	Name  Ident
	Query *Query
}

// BlockIf is IF … THEN … [ELSE …] END IF; ELSE comes after 26.2. HasElse tells an
// empty ELSE from none.
type BlockIf struct {
	Span
	Cond    Expr
	Then    []BlockStatement
	HasElse bool
	Else    []BlockStatement
}

// Facet is a word in EXPLAIN's parentheses.
type Facet int

// The facets. Those beyond ExplainRaw need 26.2.
const (
	FacetRaw Facet = iota
	FacetFmt
	FacetBuckets
	FacetLogical
	FacetForward
	FacetContext
)

// Explain is EXPLAIN [(facets)] statement; Stmt is *Select, *Insert, *Update,
// *Delete or *Block.
type Explain struct {
	Span
	Facets []Facet
	Stmt   Statement
}

// Call is CALL procedure(values); the arguments are *Literal or *Param.
type Call struct {
	Span
	Name    Ident
	Args    []Expr
	Options []Option
}

// OptionName is a name in OPTION ( … ).
type OptionName int

// The options of queries. Timeout is that of DDL and ACL statements.
const (
	VdbeOpcodeMax OptionName = iota
	MotionRowMax
	ReadPreference // 26.1 (and the 25.6 development version)
	Forward        // 26.2
)

// String gives the name as it's written in SQL.
func (o OptionName) String() string {
	switch o {
	case VdbeOpcodeMax:
		return "sql_vdbe_opcode_max"
	case MotionRowMax:
		return "sql_motion_row_max"
	case ReadPreference:
		return "read_preference"
	case Forward:
		return "forward"
	}
	return ""
}

// Option is one name = value. Of a name written twice the rightmost counts.
type Option struct {
	Span
	Name OptionName
	// Param is set when the value is a parameter; Number and Word are empty then.
	Param *Param
	// Number holds the digits of a numeric value as written.
	Number string
	// Word is leader, replica, any, on, off or ro_to_rw, in lower case.
	Word string
}

func (*Empty) statement()   {}
func (*Select) statement()  {}
func (*Insert) statement()  {}
func (*Update) statement()  {}
func (*Delete) statement()  {}
func (*Block) statement()   {}
func (*Explain) statement() {}
func (*Call) statement()    {}

func (*BlockQuery) blockStatement()  {}
func (*BlockReturn) blockStatement() {}
func (*BlockLet) blockStatement()    {}
func (*BlockIf) blockStatement()     {}
