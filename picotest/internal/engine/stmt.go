package engine

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// Stmt is a prepared statement. It is safe for concurrent use.
type Stmt struct {
	eng      *Engine
	sess     Session
	sql      string
	kind     Kind
	tag      string
	counted  bool
	params   []uint32
	columns  []Column
	types    []sqlType // of columns
	key      []KeyParam
	tier     string
	global   bool // writes a global table
	unlogged bool
	// scattered tells that rows are made first and then go each where it belongs, those of this instance without a call.
	scattered bool
	tables    []*table
	name      string
	options   []grammar.Option
	an        *analyzer
	plan      plan
	// the last translated text, see expand
	expandedAs expansion
	expanded   string
}

// plan is what a kind of statement does. Both methods are called under the engine's lock.
type plan interface {
	buckets(s *Stmt, r *runState, args []Value) (BucketSet, *Error)
	run(s *Stmt, r *runState, args []Value, v View) (*Result, *Error)
}

// Kind says what the statement is.
func (s *Stmt) Kind() Kind { return s.kind }

// SQL gives the text as it came.
func (s *Stmt) SQL() string { return s.sql }

// Tag gives the command tag without its count, and whether a count follows.
func (s *Stmt) Tag() (string, bool) { return s.tag, s.counted }

// Params gives the OIDs for ParameterDescription.
func (s *Stmt) Params() []uint32 { return s.params }

// Columns gives the result's columns; nil for NoData.
func (s *Stmt) Columns() []Column { return s.columns }

// Returns tells whether a RowDescription describes the statement, if only one without columns.
func (s *Stmt) Returns() bool { return s.columns != nil }

// Key gives dk_meta.
func (s *Stmt) Key() []KeyParam { return s.key }

// Tier gives the tier of the sharded tables, "" without any.
func (s *Stmt) Tier() string { return s.tier }

// Global tells whether a global table is written.
func (s *Stmt) Global() bool { return s.global }

// Unlogged tells whether an unlogged table takes part.
func (s *Stmt) Unlogged() bool { return s.unlogged }

// Tables gives the names of the tables that take part.
func (s *Stmt) Tables() []string {
	out := make([]string, len(s.tables))
	for i, t := range s.tables {
		out[i] = t.name
	}
	return out
}

// Name gives the statement that DEALLOCATE drops; "" is ALL.
func (s *Stmt) Name() string { return s.name }

// Stale tells whether a table changed since Prepare; a table that is gone is Missing's business.
func (s *Stmt) Stale() bool {
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	changed, _ := s.stale()
	return changed != nil
}

// Missing gives what Bind answers, with pico_stmt_invalidation, when a table is gone; nil if none is.
func (s *Stmt) Missing() *Error {
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	if _, gone := s.stale(); gone != nil {
		return refuse("space metadata for table: %s not found", gone.name)
	}
	return nil
}

func (s *Stmt) stale() (changed, gone *table) {
	if s.kind == DDL {
		return nil, nil
	}
	for _, t := range s.tables {
		if t.system {
			continue
		}
		switch cur, ok := s.eng.cat.tables[t.name]; {
		case !ok:
			gone = t
		case cur.version != t.version:
			changed = t
		}
	}
	return changed, gone
}

// Bind reads parameters. formats has none, one or a code for each; a nil raw is NULL.
func (s *Stmt) Bind(formats []int16, raw [][]byte) ([]Value, *Error) {
	out := make([]Value, len(raw))
	for i, b := range raw {
		format := int16(0)
		switch {
		case len(formats) == 1:
			format = formats[0]
		case i < len(formats):
			format = formats[i]
		}
		oid := OIDText
		if i < len(s.params) {
			oid = s.params[i]
		}
		v, err := decodeParam(i+1, oid, format, b)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Buckets says which buckets the statement touches with these arguments.
func (s *Stmt) Buckets(args []Value) (BucketSet, *Error) {
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	if s.plan == nil || s.tier == "" {
		return BucketSet{}, nil
	}
	return s.plan.buckets(s, s.eng.begin(s.sess.Instance), args)
}

// Run executes the statement on the copies of the view.
func (s *Stmt) Run(_ context.Context, args []Value, v View) (*Result, *Error) {
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	if s.eng.closed {
		return nil, broken(errClosed)
	}
	if s.plan == nil {
		return &Result{Tag: s.tag}, nil
	}
	if v.Instance == "" {
		v.Instance = s.sess.Instance
	}
	v.Local = v.Local && (s.tier == "" || s.sess.Version.AtLeast(26, 1))
	if err := s.ready(args, v); err != nil {
		return nil, err
	}
	res, err := s.plan.run(s, s.eng.begin(v.Instance), s.asPlanned(args, v), v)
	if err != nil {
		return nil, err
	}
	if res.Columns == nil {
		res.Columns = s.columns
	}
	if res.Tag == "" {
		res.Tag = s.tag
		if s.counted {
			res.Tag = fmt.Sprintf("%s %d", s.tag, res.Affected)
		}
	}
	return res, nil
}

// ready holds the statement against the catalog of now.
func (s *Stmt) ready(args []Value, v View) *Error {
	changed, gone := s.stale()
	if gone != nil {
		return bare("box error: NoSuchSpace: no such space \"%s\"", gone.name)
	}
	if changed != nil && !v.Local && s.tier != "" {
		return remote(refuse("storage schema version different from router"), firstReplicaset(v))
	}
	if s.kind != DQL && s.kind != DML && s.kind != Block {
		return nil
	}
	o, err := s.resolveOptions(args)
	if err != nil {
		return err
	}
	if s.kind == DQL && s.tier != "" && o.ReadPreference != "leader" {
		if s.unlogged {
			return refuse("invalid option: read_preference must be set to 'leader' when querying unlogged tables")
		}
		if on, _ := s.eng.cat.setting("sql_preemption", "").(bool); on {
			return refuse("invalid option: read_preference must be set to 'leader' when read_preference is enabled")
		}
	}
	return nil
}

// recheck holds the statement against the catalog again after the lock was given away: tables may have been dropped, and others
// made in their place.
func (s *Stmt) recheck(v View) *Error {
	if s.eng.closed {
		return broken(errClosed)
	}
	for _, t := range s.tables {
		if t.system {
			continue
		}
		switch cur, ok := s.eng.cat.tables[t.name]; {
		case !ok:
			return bare("box error: NoSuchSpace: no such space \"%s\"", t.name)
		case cur.born != t.born:
			return remote(refuse("storage schema version different from router"), firstReplicaset(v))
		}
	}
	return nil
}

func firstReplicaset(v View) string {
	if len(v.Copies) == 0 {
		return ""
	}
	return v.Copies[0].Replicaset
}

// allowed checks a privilege on a table.
func (s *Stmt) allowed(priv string, t *table) *Error {
	u := s.eng.cat.users[s.sess.User]
	if s.eng.cat.may(u, priv, "table", int64(t.id), t.owner) {
		return nil
	}
	return denied(strings.ToUpper(priv[:1])+priv[1:], "space", t.name, s.sess.User)
}

// mayRead checks that all tables but one may be read.
func (s *Stmt) mayRead(except *table) *Error {
	for _, t := range s.tables {
		if except == nil || t.name != except.name {
			if err := s.allowed("read", t); err != nil {
				return err
			}
		}
	}
	return nil
}

// owner gives the replicaset (uuid) that has a bucket: a router with an old map is sent on to it.
func (r *runState) owner(tier string, bucket uint64) (string, bool) {
	ranges := r.sys.Buckets[tier]
	if r.sys.Owners != nil {
		ranges = r.sys.Owners[tier]
	}
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].Last >= bucket })
	if i < len(ranges) && ranges[i].First <= bucket {
		return ranges[i].Replicaset, true
	}
	return "", false
}

// bucketCount gives a tier's number of buckets.
func (r *runState) bucketCount(tier string) (uint64, *Error) {
	for _, t := range r.sys.Tiers {
		if t.Name == tier {
			if t.BucketCount == 0 {
				return 0, refuse("cannot calculate bucket id: tier has bucket_count=0 (no sharded data)")
			}
			return t.BucketCount, nil
		}
	}
	return 0, refuse("no router found for tier '%s'", tier)
}
