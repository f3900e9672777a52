package engine

import (
	"context"
	"time"
)

// Config is what an Engine is built from.
type Config struct {
	// Live answers for everything that is not SQL: who is in the cluster, who leads, which buckets lie where. Required.
	Live Live
	// Now is the clock of current_timestamp and of timestamps in system tables; time.Now when nil.
	Now func() time.Time
	// AdminPassword is the password of the user admin, stored by method md5; "" leaves admin without a password.
	AdminPassword string
	// Version is the version the cluster was bootstrapped with: catalog contents that are cluster-wide follow it.
	Version Version
}

// Version is a release of the server: what it knows, what its texts say.
type Version struct {
	Major, Minor, Patch int
	// Build is the whole text, as in picodata_version: "26.2.1-rc2-dcd72bc91".
	Build string
}

// AtLeast tells whether v is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Live is the state of the cluster as an instance sees it. Implementations must be safe for concurrent use.
type Live interface {
	// System returns the immutable state that the named instance sees now. Two calls may return the same pointer; the engine
	// keeps system tables ready for use as long as the pointer stays the same. It is called while the engine holds its lock
	// and must not call the engine back.
	System(instance string) *System
	// Update is asked when a user's DML changes rows of a system table the cluster itself owns (a switchover is
	// UPDATE _pico_replicaset SET target_master_name = …). key is the primary key, set the new values by column, nil for
	// DELETE. It is called without the engine's lock.
	Update(instance, table string, key []Value, set map[string]Value) *Error
}

// System is one immutable picture of the cluster.
type System struct {
	Instances    []InstanceRow
	Replicasets  []ReplicasetRow
	Tiers        []TierRow
	Addresses    []AddressRow
	RaftLeaderID uint64
	RaftLeader   string                   // uuid, "" while there is none
	Buckets      map[string][]BucketRange // by tier name: the router's map on this instance
	Owners       map[string][]BucketRange // by tier name: where buckets really are; nil means that the router knows
	Properties   map[string]string        // further rows of _pico_property; values are JSON texts
}

// InstanceRow is a row of _pico_instance. States are JSON texts such as ["Online",1].
type InstanceRow struct {
	Name, UUID                     string
	RaftID                         uint64
	ReplicasetName, ReplicasetUUID string
	CurrentState, TargetState      string
	CurrentIncarnation             uint64
	TargetIncarnation              uint64
	FailureDomain                  string // JSON text; "" is {}
	Tier, Version                  string
	SyncIncarnation                uint64
	Reason                         string
	ChangeTime                     time.Time
	Dir, ConfigFile                string
}

// ReplicasetRow is a row of _pico_replicaset.
type ReplicasetRow struct {
	Name, UUID                        string
	CurrentMaster, TargetMaster, Tier string
	Weight                            float64
	WeightOrigin, State               string
	CurrentConfig, TargetConfig       uint64
	PromotionVclock                   string // JSON text; "" is {}
	MasterChanges                     uint64 // 0 in all recordings, after switchovers and failovers too
	CurrentBucketState                uint64
	TargetBucketState                 uint64
}

// TierRow is a row of _pico_tier.
type TierRow struct {
	Name                           string
	ReplicationFactor, BucketCount uint64
	CanVote, Bootstrapped, Default bool
	CurrentVshard, TargetVshard    uint64
	CurrentBucketState             uint64
	TargetBucketState              uint64
}

// AddressRow is a row of _pico_peer_address.
type AddressRow struct {
	RaftID        uint64
	Address, Type string
}

// BucketRange is an inclusive range of buckets and the replicaset (uuid) that owns it.
type BucketRange struct {
	First, Last    uint64
	Replicaset     string
	Target         string // "" means the owner
	State          string // "" means active
	ReplicasetName string
}

// Session is what a statement knows of the connection that sent it.
type Session struct {
	User     string
	Instance string // name of the instance the client is connected to
	Version  Version
	// Defaults of the startup parameter options; OPTION (…) in the text wins. "" and nil mean not given.
	ReadPreference, Forward string
	MotionRowMax, OpcodeMax *int64
}

// Kind says what a statement is, for the cluster to decide who runs it.
type Kind int

const (
	// Empty is a text with nothing but blanks and a semicolon.
	Empty Kind = iota
	// DQL reads rows.
	DQL
	// DML writes rows.
	DML
	// DDL changes tables and indexes.
	DDL
	// ACL changes users, roles and privileges.
	ACL
	// Block is DO $$ BEGIN … END $$.
	Block
	// Explain describes a plan.
	Explain
	// Deallocate drops prepared statements; the cluster does it, see Stmt.Name.
	Deallocate
	// NoOp is accepted without effect: BEGIN, COMMIT, SET, CREATE SCHEMA.
	NoOp
	// SystemSet is ALTER SYSTEM.
	SystemSet
)

// Column is a result column.
type Column struct {
	Name string
	OID  uint32
}

// KeyParam is an element of dk_meta: a parameter (1-based) that is a part of the sharding key, and its type.
type KeyParam struct {
	Index int
	OID   uint32
}

// Options are the statement's options, those of the text before those of the session.
type Options struct {
	// ReadPreference is leader, replica or any. Given tells that the text says so.
	ReadPreference      string
	ReadPreferenceGiven bool
	// Forward is on, ro_to_rw or off.
	Forward                 string
	MotionRowMax, OpcodeMax int64
}

// BucketSet says which buckets of which tier a statement touches.
type BucketSet struct {
	// Tier is "" when no sharded table takes part: the statement runs where it arrived.
	Tier string
	// All is a full scan.
	All bool
	// List holds the buckets in ascending order without duplicates when All is false; it may be empty (WHERE false).
	List []uint64
	// Motion tells that rows of different replicasets have to meet on the coordinator.
	Motion bool
}

// Copy is an instance's copy of a replicaset's data.
type Copy struct {
	Replicaset string // uuid
	Instance   string // name
}

// View tells a run which copies it works on.
type View struct {
	// Instance is where the client is connected.
	Instance string
	// Copies are read, or for DML written, in this order. A replicaset that is missing is not visited.
	Copies []Copy
	// Local tells that the statement runs in the process the client is connected to, without a hop: errors of the
	// storage then reach the client bare, else wrapped as from a remote call.
	Local bool
	// Before, if set, is called before the first row of a copy is read or written, and again with done = true after the last; an
	// error ends the statement and what other copies already took stays: INSERT over two replicasets isn't atomic.
	Before func(c Copy, done bool) *Error
}

// Result is what a run returns.
type Result struct {
	Columns  []Column
	Rows     [][]Value
	Affected int64
	// Tag is the whole command tag: "INSERT 0 3".
	Tag string
}

// Error is an answer to the client: SQLSTATE and text.
type Error struct {
	Code, Message string
}

// Error returns the text.
func (e *Error) Error() string { return e.Message }

// Account is what the cluster needs to log a user in.
type Account struct {
	ID   uint64
	Name string
	// Method is md5, scram-sha-256, ldap, chap-sha1, or "" for a user (or role) that can't log in by password.
	Method, Password string
	// Login is false without the login privilege.
	Login bool
}

// API is what the cluster uses of the engine; *Engine satisfies it. It is here to be read in one place.
type API interface {
	// Prepare reads, checks and types a statement. oids are the client's parameter types (0 = infer).
	Prepare(s Session, sql string, oids []uint32) (*Stmt, *Error)
	// Account looks a user up.
	Account(name string) (Account, bool)
	// Setting reads ALTER SYSTEM's value of a parameter ("pg_statement_max"), its default otherwise; scope is a tier or "".
	Setting(name, scope string) (Value, bool)
	// AddInstance gives a new instance of a replicaset an empty copy, or one filled from another instance's.
	AddInstance(replicaset, instance, from string)
	// RemoveInstance drops the copy.
	RemoveInstance(replicaset, instance string)
	// SetLag makes an instance's copy stop (true) or resume (false) following; what was written meanwhile is applied on resume.
	SetLag(replicaset, instance string, lag bool)
	// SetCut takes an instance's copy out of replication altogether (true) or puts it back (false).
	SetCut(replicaset, instance string, cut bool)
	// Resync makes the copy equal to another instance's: a planned switchover before it, a rejoined old leader after it.
	Resync(replicaset, instance, from string)
	// ForgetUnlogged empties the unlogged tables of an instance, as a restart or a change of leader does.
	ForgetUnlogged(instance string)
	// MoveBuckets moves the rows of buckets first..last of a tier from one replicaset's copies to another's.
	MoveBuckets(tier string, first, last uint64, from, to string)
	// Close frees everything.
	Close() error
}

// StmtAPI is what the cluster uses of a statement; *Stmt satisfies it.
type StmtAPI interface {
	Kind() Kind
	SQL() string
	// Tag is the command tag without its count: "SELECT", "INSERT 0", "CREATE TABLE"; Counted tells whether a count follows.
	Tag() (text string, counted bool)
	Params() []uint32  // OIDs for ParameterDescription
	Columns() []Column // nil: NoData; empty, not nil: a RowDescription without columns (DO blocks)
	Returns() bool     // a RowDescription describes it
	Key() []KeyParam   // dk_meta
	Tier() string      // of the tables; "" for global tables and none
	Global() bool      // writes a global table: runs on the raft leader
	Unlogged() bool
	Tables() []string
	Stale() bool                                          // a table's version grew since Prepare
	Missing() *Error                                      // what Bind answers with pico_stmt_invalidation when a table is gone; nil if none is
	Name() string                                         // of DEALLOCATE: "" is ALL
	Options(args []Value) (Options, *Error)               // resolves $n in OPTION
	Buckets(args []Value) (BucketSet, *Error)             // errors are those of execution
	Bind(formats []int16, raw [][]byte) ([]Value, *Error) // raw nil is NULL; errors carry SQLSTATE and the parameter's number
	Run(ctx context.Context, args []Value, v View) (*Result, *Error)
}
