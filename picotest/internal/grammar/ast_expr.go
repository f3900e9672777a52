package grammar

// Expr is one of the pointer types below.
type Expr interface {
	Node
	expr()
}

// LiteralKind is the form of a literal.
type LiteralKind int

// Forms of literals. The server types Integer as int, Decimal ("1.5", "1.") as
// decimal, Double ("1e3", "1.5e3") as double, String as text.
const (
	NullLiteral LiteralKind = iota
	TrueLiteral
	FalseLiteral
	IntegerLiteral
	DecimalLiteral
	DoubleLiteral
	StringLiteral
)

// Literal is a constant. A sign belongs to a number: the grammar has no unary minus.
type Literal struct {
	Span
	Kind LiteralKind
	// Value is the number as written (sign included) or the string with its
	// quotes removed and doubled quotes undone; empty for null, true and false.
	Value string
}

// ParamStyle is how a parameter is written.
type ParamStyle int

// Parameter styles.
const (
	DollarParam   ParamStyle = iota // $1
	QuestionParam                   // ?
)

// Param is a parameter. Index is 1-based; for `?` it counts from the left of the
// text. Index is 0 for $0 and -1 for a number that doesn't fit an int, both of which
// [Check] refuses.
type Param struct {
	Span
	Style ParamStyle
	Index int
}

// ColumnRef is a column, perhaps qualified.
type ColumnRef struct {
	Span
	Table  *Ident
	Column Ident
}

// FuncCall is a function or an aggregate. Star is count(*)'s.
type FuncCall struct {
	Span
	Name     Ident
	Distinct bool
	Star     bool
	Args     []Expr
}

// WindowCall is function(…) [FILTER (WHERE …)] OVER …; exactly one of Over and
// OverName is set.
type WindowCall struct {
	Span
	Name     Ident
	Star     bool
	Args     []Expr
	Filter   Expr
	Over     *WindowSpec
	OverName *Ident
}

// WindowSpec is a window in parentheses.
type WindowSpec struct {
	Span
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
	// Misordered is set when the parts repeat or PARTITION BY isn't the first,
	// which [Check] reports.
	Misordered bool
}

// FrameUnit is ROWS or RANGE.
type FrameUnit int

// Frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
)

// Frame is a window's frame; End is nil when only one bound is written.
type Frame struct {
	Span
	Unit  FrameUnit
	Start FrameBound
	End   *FrameBound
}

// BoundKind says where a frame begins or ends.
type BoundKind int

// Bounds of frames. Offset is set for the two offset kinds.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameBound is one end of a frame.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr
}

// TypeName is a type as the wire knows it; synonyms are folded together.
type TypeName int

// Types. TypeUnsigned is for columns alone. TypeJSON columns are reached through functions.
const (
	TypeBool TypeName = iota
	TypeDatetime
	TypeDecimal
	TypeDouble
	TypeInt
	TypeJSON
	TypeString // STRING, TEXT, VARCHAR
	TypeUUID
	TypeUnsigned
)

// String gives the name the server uses in its messages and EXPLAIN texts.
func (t TypeName) String() string {
	switch t {
	case TypeBool:
		return "bool"
	case TypeDatetime:
		return "datetime"
	case TypeDecimal:
		return "decimal"
	case TypeDouble:
		return "double"
	case TypeInt:
		return "int"
	case TypeJSON:
		return "json"
	case TypeString:
		return "string"
	case TypeUUID:
		return "uuid"
	case TypeUnsigned:
		return "unsigned"
	}
	return ""
}

// Type is a type with its array suffix. Length, precision and scale are read and
// dropped, as on the server; array bounds too.
type Type struct {
	Span
	Name TypeName
	// Dims is the number of array dimensions, 0 for a scalar.
	Dims int
}

// Cast is CAST(x AS t) or x::t (Postfix).
type Cast struct {
	Span
	X       Expr
	Type    Type
	Postfix bool
}

// TrimKind is where TRIM cuts.
type TrimKind int

// TRIM's kinds; TrimBoth is also what happens when none is written (TrimDefault).
const (
	TrimDefault TrimKind = iota
	TrimLeading
	TrimTrailing
	TrimBoth
)

// Trim is TRIM([kind] [pattern] FROM target) or TRIM(target).
type Trim struct {
	Span
	Kind    TrimKind
	Pattern Expr
	Target  Expr
}

// SubstringForm is the way SUBSTRING is written.
type SubstringForm int

// Forms of SUBSTRING.
const (
	SubstringFromFor SubstringForm = iota // substring(x from a for b)
	SubstringRegular                      // substring(x, a, b)
	SubstringFor                          // substring(x for b)
	SubstringFrom                         // substring(x from a), substring(x, a)
	SubstringSimilar                      // substring(x similar p escape e)
)

// Substring is SUBSTRING( … ). From and For are nil where the form has none; for
// SubstringSimilar, X is the whole expression in the parentheses.
type Substring struct {
	Span
	Form SubstringForm
	X    Expr
	From Expr
	For  Expr
}

// TimeKind names one of the functions without parentheses.
type TimeKind int

// The functions of the current time.
const (
	CurrentDate TimeKind = iota
	CurrentTime
	CurrentTimestamp
	LocalTime
	LocalTimestamp
)

// NowFunc is current_date and its kin. Precision is -1 when not written.
type NowFunc struct {
	Span
	Kind      TimeKind
	Precision int
}

// Paren is an expression in parentheses.
type Paren struct {
	Span
	X Expr
}

// Row is (a, b, …): a row of VALUES, or a row value in an expression. In
// expressions it has at least two items, one in parentheses being a *Paren; as the
// right side of IN and in VALUES it may have one.
type Row struct {
	Span
	Items []Expr
}

// SubQuery is a query in parentheses used as a value.
type SubQuery struct {
	Span
	Query *Query
}

// Array is ARRAY[…].
type Array struct {
	Span
	Items []Expr
}

// Exists is EXISTS (query); NOT EXISTS is a *Not around it.
type Exists struct {
	Span
	Query *Query
}

// Case is CASE [operand] WHEN … THEN … [ELSE …] END.
type Case struct {
	Span
	Operand Expr
	Whens   []When
	Else    Expr
}

// When is one branch of a CASE.
type When struct{ Cond, Then Expr }

// Not is NOT x.
type Not struct {
	Span
	X Expr
}

// BinaryOp is an operator between two expressions.
type BinaryOp int

// Operators between two expressions, LIKE and its kin excepted.
const (
	OpOr BinaryOp = iota
	OpAnd
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpConcat
)

// String gives the operator as the server prints it.
func (o BinaryOp) String() string {
	switch o {
	case OpOr:
		return "or"
	case OpAnd:
		return "and"
	case OpEq:
		return "="
	case OpNe:
		return "<>"
	case OpLt:
		return "<"
	case OpLe:
		return "<="
	case OpGt:
		return ">"
	case OpGe:
		return ">="
	case OpAdd:
		return "+"
	case OpSub:
		return "-"
	case OpMul:
		return "*"
	case OpDiv:
		return "/"
	case OpMod:
		return "%"
	case OpConcat:
		return "||"
	}
	return ""
}

// Binary is L op R.
type Binary struct {
	Span
	Op   BinaryOp
	L, R Expr
}

// Between is X [NOT] BETWEEN Low AND High. High is nil where no AND follows, which
// [Check] reports.
type Between struct {
	Span
	Not          bool
	X, Low, High Expr
}

// In is X [NOT] IN R, where R is a *Row, a *SubQuery or, as the grammar lets it
// in, any other value.
type In struct {
	Span
	Not bool
	X   Expr
	R   Expr
}

// LikeKind is LIKE, ILIKE or SIMILAR.
type LikeKind int

// Pattern operators. The grammar has no NOT LIKE; NOT x LIKE y does it.
const (
	Like LikeKind = iota
	ILike
	Similar
)

// LikeExpr is X LIKE Pattern [ESCAPE Escape].
type LikeExpr struct {
	Span
	Kind    LikeKind
	X       Expr
	Pattern Expr
	Escape  Expr
}

// IsKind is what IS asks for.
type IsKind int

// What IS asks for.
const (
	IsNull IsKind = iota
	IsTrue
	IsFalse
	IsUnknown
)

// Is is X IS [NOT] NULL|TRUE|FALSE|UNKNOWN.
type Is struct {
	Span
	X    Expr
	Not  bool
	Kind IsKind
}

// StrayEscape is ESCAPE after something that is no pattern or has its ESCAPE
// already (Twice); [Check] reports it.
type StrayEscape struct {
	Span
	L, R  Expr
	Twice bool
}

// Index is X[Sub], into an array or a document.
type Index struct {
	Span
	X   Expr
	Sub Expr
}

func (*Literal) expr()     {}
func (*Param) expr()       {}
func (*ColumnRef) expr()   {}
func (*FuncCall) expr()    {}
func (*WindowCall) expr()  {}
func (*Cast) expr()        {}
func (*Trim) expr()        {}
func (*Substring) expr()   {}
func (*NowFunc) expr()     {}
func (*Paren) expr()       {}
func (*Row) expr()         {}
func (*SubQuery) expr()    {}
func (*Array) expr()       {}
func (*Exists) expr()      {}
func (*Case) expr()        {}
func (*Not) expr()         {}
func (*Binary) expr()      {}
func (*Between) expr()     {}
func (*In) expr()          {}
func (*LikeExpr) expr()    {}
func (*Is) expr()          {}
func (*Index) expr()       {}
func (*StrayEscape) expr() {}
