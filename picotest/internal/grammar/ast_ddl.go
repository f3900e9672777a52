package grammar

// DDLTail is what may end a DDL or ACL statement: WAIT APPLIED … and
// OPTION (TIMEOUT = seconds).
type DDLTail struct {
	Wait WaitApplied
	// Timeout is the number of seconds as written; "" when not written.
	Timeout string
}

// WaitApplied says whom a DDL statement waits for.
type WaitApplied int

// WAIT APPLIED GLOBALLY is the server's default too.
const (
	WaitDefault WaitApplied = iota
	WaitGlobally
	WaitLocally
)

// StorageEngine is USING memtx or vinyl.
type StorageEngine int

// Engines as written; memtx is the server's default.
const (
	EngineDefault StorageEngine = iota
	EngineMemtx
	EngineVinyl
)

// TableOption is name = value in WITH ( … ) of CREATE TABLE and CREATE INDEX;
// Value is the text as written.
type TableOption struct {
	Span
	Name  string
	Value string
}

// Distribution is DISTRIBUTED GLOBALLY or BY (columns) [IN TIER tier].
type Distribution struct {
	Span
	Global  bool
	Columns []Ident
	Tier    *Ident
}

// Nullability is NULL, NOT NULL or neither.
type Nullability int

// Nullability as written.
const (
	NullsUnsaid Nullability = iota
	Nullable
	NotNull
)

// ColumnDef is one column of CREATE TABLE or ADD COLUMN.
type ColumnDef struct {
	Span
	Name       Ident
	Type       Type
	Null       Nullability
	PrimaryKey bool // PRIMARY KEY written at the column
	Order      SortOrder
}

// KeyPart is a column in a primary key or an index.
type KeyPart struct {
	Name  Ident
	Order SortOrder
}

// CreateTable is CREATE TABLE.
type CreateTable struct {
	Span
	Unlogged    bool
	IfNotExists bool
	Table       TableName
	Columns     []ColumnDef
	// PrimaryKey is the PRIMARY KEY ( … ) at the end; nil when not written.
	PrimaryKey   []KeyPart
	Engine       StorageEngine
	Options      []TableOption
	Distribution *Distribution
	// Partitioned is set by PARTITION BY, which the server reads and can't do.
	Partitioned bool
	DDLTail
}

// CreatePartition is CREATE TABLE … PARTITION OF …, read and of no effect.
type CreatePartition struct {
	Span
	IfNotExists bool
	Table       Ident
	Parent      Ident
}

// DropTable is DROP TABLE.
type DropTable struct {
	Span
	IfExists bool
	Table    TableName
	DDLTail
}

// Truncate is TRUNCATE [TABLE].
type Truncate struct {
	Span
	Table TableName
	DDLTail
}

// AlterAction is *RenameTable, *AddColumn, *DropColumn, *AlterColumn or *RenameColumn.
type AlterAction interface {
	Node
	alterAction()
}

// AlterTable is ALTER TABLE; RENAME TO stands alone, column actions may be several.
type AlterTable struct {
	Span
	Table   TableName
	Actions []AlterAction
	DDLTail
}

// RenameTable is RENAME TO.
type RenameTable struct {
	Span
	To Ident
}

// AddColumn is ADD [COLUMN].
type AddColumn struct {
	Span
	IfNotExists bool
	Column      ColumnDef
}

// DropColumn is DROP [COLUMN].
type DropColumn struct {
	Span
	IfExists bool
	Column   Ident
}

// AlterColumn is ALTER [COLUMN]; exactly one of Type, SetNotNull, DropNotNull is set.
type AlterColumn struct {
	Span
	Column      Ident
	Type        *Type
	SetNotNull  bool
	DropNotNull bool
}

// RenameColumn is RENAME [COLUMN] … TO ….
type RenameColumn struct {
	Span
	From, To Ident
}

// IndexType is USING tree, hash, rtree or bitset.
type IndexType int

// Index types as written; tree is the server's default.
const (
	IndexDefault IndexType = iota
	IndexTree
	IndexHash
	IndexRTree
	IndexBitset
)

// CreateIndex is CREATE [UNIQUE] INDEX.
type CreateIndex struct {
	Span
	Unique      bool
	IfNotExists bool
	Name        Ident
	Table       TableName
	Type        IndexType
	Parts       []KeyPart
	Options     []TableOption
	DDLTail
}

// DropIndex is DROP INDEX.
type DropIndex struct {
	Span
	IfExists bool
	Name     Ident
	DDLTail
}

// RenameIndex is ALTER INDEX … RENAME TO ….
type RenameIndex struct {
	Span
	IfExists bool
	From, To Ident
	DDLTail
}

// CreateSchema is CREATE SCHEMA; like DropSchema it is read and has no effect.
type CreateSchema struct {
	Span
	IfNotExists bool
	Name        Ident
}

// DropSchema is DROP SCHEMA.
type DropSchema struct {
	Span
	IfExists bool
	Name     Ident
}

// ProcSignature is a procedure's name and, if written, its parameter types.
type ProcSignature struct {
	Name      Ident
	HasParams bool
	Params    []Type
}

// CreateProc is CREATE PROCEDURE; Body is *Insert, *Update or *Delete.
type CreateProc struct {
	Span
	IfNotExists bool
	Proc        ProcSignature
	Body        Statement
	DDLTail
}

// DropProc is DROP PROCEDURE.
type DropProc struct {
	Span
	IfExists bool
	Proc     ProcSignature
	DDLTail
}

// RenameProc is ALTER PROCEDURE … RENAME TO ….
type RenameProc struct {
	Span
	Proc ProcSignature
	To   Ident
	DDLTail
}

// AlterSystem is ALTER SYSTEM SET name = value|DEFAULT or RESET name|ALL.
type AlterSystem struct {
	Span
	Reset bool
	All   bool // RESET ALL
	Name  Ident
	// Default is set by `= default`; Value is nil then, and with RESET.
	Default bool
	Value   Expr
	// AllTiers and Tier come from FOR ALL TIERS and FOR TIER t.
	AllTiers bool
	Tier     *Ident
	DDLTail
}

// Backup is BACKUP.
type Backup struct {
	Span
	DDLTail
}

// AuthMethod is a login method.
type AuthMethod int

// Login methods; AuthDefault is the cluster's default (md5 unless configured).
const (
	AuthDefault AuthMethod = iota
	AuthChapSHA1
	AuthMD5
	AuthScramSHA256
	AuthLDAP
)

// CreateUser is CREATE USER. Password is empty with LDAP.
type CreateUser struct {
	Span
	IfNotExists bool
	Name        Ident
	Password    string
	Auth        AuthMethod
	DDLTail
}

// UserChange is what ALTER USER changes.
type UserChange int

// Changes of a user.
const (
	UserLogin UserChange = iota
	UserNoLogin
	UserPassword
	UserRename
)

// AlterUser is ALTER USER. Password and Auth go with UserPassword, To with UserRename.
type AlterUser struct {
	Span
	Name     Ident
	Change   UserChange
	Password string
	Auth     AuthMethod
	To       Ident
	DDLTail
}

// DropUser is DROP USER.
type DropUser struct {
	Span
	IfExists bool
	Name     Ident
	DDLTail
}

// CreateRole is CREATE ROLE.
type CreateRole struct {
	Span
	IfNotExists bool
	Name        Ident
	DDLTail
}

// DropRole is DROP ROLE.
type DropRole struct {
	Span
	IfExists bool
	Name     Ident
	DDLTail
}

// Privilege is a word of GRANT and REVOKE; RoleMembership means that a role is passed on.
type Privilege int

// Privileges.
const (
	RoleMembership Privilege = iota
	PrivRead
	PrivWrite
	PrivExecute
	PrivCreate
	PrivAlter
	PrivDrop
	PrivSession
	PrivUsage
)

// String gives the word in lower case; "" for RoleMembership.
func (p Privilege) String() string {
	switch p {
	case PrivRead:
		return "read"
	case PrivWrite:
		return "write"
	case PrivExecute:
		return "execute"
	case PrivCreate:
		return "create"
	case PrivAlter:
		return "alter"
	case PrivDrop:
		return "drop"
	case PrivSession:
		return "session"
	case PrivUsage:
		return "usage"
	}
	return ""
}

// ObjectKind is what a privilege is about.
type ObjectKind int

// Object kinds.
const (
	ObjectUser ObjectKind = iota
	ObjectRole
	ObjectTable
	ObjectProcedure
)

// Grant is GRANT and, with Revoke set, REVOKE. With RoleMembership only Role and
// Grantee mean something. Object is nil when the privilege is on all objects of
// the kind (`grant read table to u`). The grammar lets in pairs that make no
// sense (`grant session on table t to u`); the engine refuses them.
type Grant struct {
	Span
	Revoke    bool
	Privilege Privilege
	Kind      ObjectKind
	Object    *Ident
	Proc      *ProcSignature // ObjectProcedure with Object set
	Role      Ident
	Grantee   Ident
	DDLTail
}

// AuditPolicy is AUDIT POLICY name BY user or, with Except, EXCEPT user.
type AuditPolicy struct {
	Span
	Name   Ident
	Except bool
	User   Ident
	DDLTail
}

// PluginStatement is CREATE, DROP and ALTER PLUGIN; nothing of them is kept but
// the name, for the simulated cluster has no plugins.
type PluginStatement struct {
	Span
	// Verb is create, drop or alter.
	Verb string
	Name Ident
	// Exists is set by IF EXISTS and IF NOT EXISTS.
	Exists  bool
	Version string
	DDLTail
}

func (*CreateTable) statement()     {}
func (*CreatePartition) statement() {}
func (*DropTable) statement()       {}
func (*Truncate) statement()        {}
func (*AlterTable) statement()      {}
func (*CreateIndex) statement()     {}
func (*DropIndex) statement()       {}
func (*RenameIndex) statement()     {}
func (*CreateSchema) statement()    {}
func (*DropSchema) statement()      {}
func (*CreateProc) statement()      {}
func (*DropProc) statement()        {}
func (*RenameProc) statement()      {}
func (*AlterSystem) statement()     {}
func (*Backup) statement()          {}
func (*CreateUser) statement()      {}
func (*AlterUser) statement()       {}
func (*DropUser) statement()        {}
func (*CreateRole) statement()      {}
func (*DropRole) statement()        {}
func (*Grant) statement()           {}
func (*AuditPolicy) statement()     {}
func (*PluginStatement) statement() {}

func (*RenameTable) alterAction()  {}
func (*AddColumn) alterAction()    {}
func (*DropColumn) alterAction()   {}
func (*AlterColumn) alterAction()  {}
func (*RenameColumn) alterAction() {}
