package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// schemaPlan is a statement that changes the catalog.
type schemaPlan struct {
	do func(s *Stmt, r *runState) *Error
}

func (p *schemaPlan) buckets(*Stmt, *runState, []Value) (BucketSet, *Error) { return BucketSet{}, nil }

func (p *schemaPlan) run(s *Stmt, r *runState, _ []Value, _ View) (*Result, *Error) {
	if err := p.do(s, r); err != nil {
		return nil, err
	}
	s.eng.cat.revision++
	return &Result{}, nil
}

// buildSchema plans DDL, ACL and ALTER SYSTEM.
func (s *Stmt) buildSchema(node grammar.Statement) *Error {
	if s.buildACL(node) {
		return nil
	}
	plan := func(kind Kind, tag string, do func(s *Stmt, r *runState) *Error) *Error {
		s.kind, s.tag, s.plan = kind, tag, &schemaPlan{do}
		return nil
	}
	switch n := node.(type) {
	case *grammar.CreateTable:
		return plan(DDL, "CREATE TABLE", func(s *Stmt, r *runState) *Error { return s.eng.createTable(s, r, n) })
	case *grammar.DropTable:
		return plan(DDL, "DROP TABLE", func(s *Stmt, _ *runState) *Error { return s.eng.dropTable(s, n) })
	case *grammar.Truncate:
		return plan(DDL, "TRUNCATE TABLE", func(s *Stmt, _ *runState) *Error { return s.eng.truncate(s, n) })
	case *grammar.AlterTable:
		return plan(DDL, "ALTER TABLE", func(s *Stmt, _ *runState) *Error { return s.eng.alterTable(s, n) })
	case *grammar.CreateIndex:
		return plan(DDL, "CREATE INDEX", func(s *Stmt, _ *runState) *Error { return s.eng.createIndex(s, n) })
	case *grammar.DropIndex:
		return plan(DDL, "DROP INDEX", func(s *Stmt, _ *runState) *Error { return s.eng.dropIndex(s, n) })
	case *grammar.RenameIndex:
		return plan(DDL, "RENAME INDEX", func(s *Stmt, _ *runState) *Error { return s.eng.renameIndex(s, n) })
	case *grammar.CreateProc:
		if err := s.checkBody(n); err != nil {
			return err
		}
		return plan(DDL, "CREATE PROCEDURE", func(s *Stmt, _ *runState) *Error { return s.eng.createProc(s, n) })
	case *grammar.DropProc:
		return plan(DDL, "DROP PROCEDURE", func(s *Stmt, _ *runState) *Error { return s.eng.dropProc(s, n) })
	case *grammar.RenameProc:
		return plan(DDL, "RENAME ROUTINE", func(s *Stmt, _ *runState) *Error { return s.eng.renameProc(s, n) })
	case *grammar.AlterSystem:
		return s.buildAlterSystem(n)
	case *grammar.Backup:
		return plan(DDL, "BACKUP", func(*Stmt, *runState) *Error { return bare("backups are not simulated") })
	case *grammar.PluginStatement:
		return plan(DDL, strings.ToUpper(n.Verb)+" PLUGIN", func(*Stmt, *runState) *Error {
			return bare("plugin %s is not found: plugins are not simulated", n.Name.Name)
		})
	}
	return broken(fmt.Errorf("no plan for %T", node))
}

// me is the user of the session.
func (s *Stmt) me() *user { return s.eng.cat.users[s.sess.User] }

func (s *Stmt) myID() uint64 {
	if u := s.me(); u != nil {
		return u.id
	}
	return idGuest
}

// defaultTier is where tables go that name none.
func (r *runState) defaultTier() string {
	for _, t := range r.sys.Tiers {
		if t.Default {
			return t.Name
		}
	}
	if len(r.sys.Tiers) > 0 {
		return r.sys.Tiers[0].Name
	}
	return "default"
}

func (e *Engine) createTable(s *Stmt, r *runState, n *grammar.CreateTable) *Error {
	if !e.cat.may(s.me(), "create", "table", -1, 0) {
		return denied("Create", "space", n.Table.Name, s.sess.User)
	}
	// The names of system tables are taken, those to come too.
	if _, exists := e.cat.lookup(n.Table.Name, s.sess.Version); exists || strings.HasPrefix(n.Table.Name, "_pico_") {
		if n.IfNotExists {
			return nil
		}
		return bare("table %s already exists", n.Table.Name)
	}
	t, err := e.newTable(r, n)
	if err != nil {
		return err
	}
	if err := inTime(n.DDLTail); err != nil {
		return err
	}
	t.id, t.owner, t.version = e.cat.nextTableID(), s.myID(), e.cat.bump()
	t.born = t.version
	e.cat.tables[t.name] = t
	e.store.latest[t.id] = t
	return nil
}

// newTable makes the catalog's form of CREATE TABLE.
func (e *Engine) newTable(r *runState, n *grammar.CreateTable) (*table, *Error) {
	t := &table{name: n.Table.Name, unlogged: n.Unlogged, vinyl: n.Engine == grammar.EngineVinyl}
	if n.Distribution != nil {
		t.global = n.Distribution.Global
	}
	switch {
	case t.global && t.vinyl:
		return nil, refuse("unsupported query: Global tables can use only memtx engine.")
	case t.unlogged && t.vinyl:
		return nil, refuse("unsupported query: Unlogged tables can use only memtx engine.")
	case t.unlogged && t.global:
		return nil, refuse("unsupported query: Global tables can't be unlogged.")
	}
	if err := engineOptions(t.vinyl, n.Options); err != nil {
		return nil, err
	}
	pkNames := make([]string, 0, len(n.PrimaryKey))
	for _, k := range n.PrimaryKey {
		pkNames = append(pkNames, k.Name.Name)
	}
	for _, c := range n.Columns {
		if c.PrimaryKey {
			if len(n.PrimaryKey) > 0 {
				return nil, refuse("invalid node: Primary key has been already declared.")
			}
			pkNames = append(pkNames, c.Name.Name)
		}
		if err := columnType(c); err != nil {
			return nil, err
		}
		if _, twice := t.column(c.Name.Name); twice {
			return nil, bare("column name is duplicated: %s", c.Name.Name)
		}
		t.columns = append(t.columns, column{name: c.Name.Name, typ: typeOfName(c.Type), nullable: c.Null != grammar.NotNull})
	}
	if len(pkNames) == 0 {
		return nil, refuse("invalid primary key: Primary key must be declared.")
	}
	for _, c := range n.Columns {
		if c.Null == grammar.Nullable && slices.Contains(pkNames, c.Name.Name) {
			return nil, refuse("invalid column: Primary key mustn't contain nullable columns.")
		}
	}
	for i, name := range pkNames {
		if slices.Contains(pkNames[:i], name) {
			return nil, bare("several fields have the same name: %s", name)
		}
	}
	if _, taken := t.column("bucket_id"); taken && !t.global {
		return nil, refuse("invalid column: bucket_id is reserved for system use in sharded tables. Choose another name.")
	}
	last, withBucket := -1, false
	if at := slices.Index(pkNames, "bucket_id"); at >= 0 && !t.global {
		switch {
		case at > 0:
			return nil, refuse("invalid primary key: Primary key must include bucket_id as first column.")
		case len(pkNames) == 1:
			return nil, refuse("invalid primary key: Primary key must include at least one column in addition to bucket_id.")
		}
	}
	for _, name := range pkNames {
		if i, ok := t.column(name); ok {
			last = max(last, i)
			t.columns[i].nullable = false
		} else if name == "bucket_id" && !t.global {
			withBucket = true
		} else {
			return nil, refuse("invalid column: Primary key column %s not found.", name)
		}
	}
	if !t.global {
		hidden := column{name: "bucket_id", typ: sqlType{base: tUnsigned}, hidden: true}
		t.columns = append(t.columns[:last+1], append([]column{hidden}, t.columns[last+1:]...)...)
	}
	for i := range t.columns {
		t.columns[i].slot = i
	}
	t.slots = len(t.columns)
	for _, name := range pkNames {
		if i, ok := t.column(name); ok {
			t.pk = append(t.pk, i)
		}
	}
	if t.global {
		return t, nil
	}
	return t, t.shard(r, n.Distribution, pkNames, withBucket)
}

// engineOptions refuses what the other engine's tables are tuned with.
func engineOptions(vinyl bool, options []grammar.TableOption) *Error {
	for _, o := range options {
		name := strings.ToLower(o.Name)
		if name == "hint" == vinyl {
			return bare("table engine %s does not support option %s", map[bool]string{true: "vinyl", false: "memtx"}[vinyl], name)
		}
	}
	return nil
}

// columnType refuses what the grammar lets in as a column's type.
func columnType(c grammar.ColumnDef) *Error {
	if c.Type.Name == grammar.TypeUnsigned && c.Type.Dims > 0 {
		return refuse("TypeUnsigned cannot be used as an array element type")
	}
	return nil
}

// shard settles tier and sharding key: the columns that are named, or the primary key's.
func (t *table) shard(r *runState, d *grammar.Distribution, pk []string, withBucket bool) *Error {
	t.tier = r.defaultTier()
	names := pk
	if d != nil {
		names = nil
		for _, c := range d.Columns {
			names = append(names, c.Name)
		}
		if d.Tier != nil {
			t.tier = d.Tier.Name
		}
	}
	if _, err := r.bucketCount(t.tier); err != nil {
		found := false
		for _, x := range r.sys.Tiers {
			found = found || x.Name == t.tier
		}
		if !found {
			return bare("specified tier '%s' doesn't exist", t.tier)
		}
		return err
	}
	for _, name := range names {
		i, ok := t.column(name)
		switch {
		case withBucket && name == "bucket_id" && d == nil:
			continue
		case !ok:
			return refuse("invalid column: Sharding key column %s not found.", name)
		case t.columns[i].typ.array || t.columns[i].typ.base == tMap:
			return refuse("invalid column: Sharding key column %s is not of scalar type.", name)
		}
		t.key = append(t.key, i)
	}
	return nil
}

func (e *Engine) dropTable(s *Stmt, n *grammar.DropTable) *Error {
	t, ok := e.cat.tables[n.Table.Name]
	if !ok {
		if n.IfExists {
			return nil
		}
		return bare("table %s does not exist", n.Table.Name)
	}
	if !e.cat.may(s.me(), "drop", "table", int64(t.id), t.owner) {
		return denied("Drop", "space", t.name, s.sess.User)
	}
	delete(e.cat.tables, t.name)
	e.cat.revoke(func(p privilege) bool { return p.kind == "table" && p.object == int64(t.id) })
	e.cat.bump()
	if err := e.store.drop(t); err != nil {
		return broken(err)
	}
	return nil
}

func (e *Engine) truncate(s *Stmt, n *grammar.Truncate) *Error {
	t, ok := e.cat.tables[n.Table.Name]
	if !ok {
		return refuse("space %s not found", n.Table.Name)
	}
	if err := s.allowed("write", t); err != nil {
		return err
	}
	if err := e.store.truncate(t); err != nil {
		return broken(err)
	}
	e.cat.bump()
	return nil
}

func (e *Engine) createIndex(s *Stmt, n *grammar.CreateIndex) *Error {
	if _, _, exists := e.cat.indexNamed(n.Name.Name); exists {
		if n.IfNotExists {
			return nil
		}
		return bare("index %s already exists", n.Name.Name)
	}
	t, ok := e.cat.tables[n.Table.Name]
	if !ok {
		return refuse("space %s not found", n.Table.Name)
	}
	if !e.cat.may(s.me(), "alter", "table", int64(t.id), t.owner) {
		return denied("Create", "space", n.Name.Name, s.sess.User)
	}
	if err := indexFits(t, n, e.db.run); err != nil {
		return err
	}
	c := t.clone()
	ix := index{name: n.Name.Name, unique: n.Unique, version: e.cat.bump()}
	ix.typ = map[grammar.IndexType]string{grammar.IndexHash: "hash", grammar.IndexRTree: "rtree", grammar.IndexBitset: "bitset"}[n.Type]
	if ix.typ == "" {
		ix.typ = "tree"
	}
	ix.id = 1
	if t.bucketColumn() >= 0 {
		ix.id = 2
	}
	for _, o := range t.indexes {
		ix.id = max(ix.id, o.id+1)
	}
	for _, p := range n.Parts {
		ix.columns = append(ix.columns, p.Name.Name)
	}
	c.indexes = append(c.indexes, ix)
	e.cat.tables[t.name] = c
	e.store.latest[t.id] = c
	if err := e.store.createIndex(c, ix); err != nil {
		return broken(err)
	}
	return nil
}

func (e *Engine) dropIndex(s *Stmt, n *grammar.DropIndex) *Error {
	t, at, ok := e.cat.indexNamed(n.Name.Name)
	if !ok {
		if n.IfExists {
			return nil
		}
		return bare("index %s does not exist", n.Name.Name)
	}
	if !e.cat.may(s.me(), "alter", "table", int64(t.id), t.owner) {
		return denied("Drop", "space", n.Name.Name, s.sess.User)
	}
	ix := t.indexes[at]
	c := t.clone()
	c.indexes = append(c.indexes[:at], c.indexes[at+1:]...)
	e.cat.tables[t.name] = c
	e.store.latest[t.id] = c
	e.cat.bump()
	if err := e.store.dropIndex(c, ix); err != nil {
		return broken(err)
	}
	return nil
}

func (e *Engine) renameIndex(s *Stmt, n *grammar.RenameIndex) *Error {
	t, at, ok := e.cat.indexNamed(n.From.Name)
	if !ok {
		if n.IfExists {
			return nil
		}
		return bare("index %s does not exist", n.From.Name)
	}
	if !e.cat.may(s.me(), "alter", "table", int64(t.id), t.owner) {
		return denied("Alter", "space", n.From.Name, s.sess.User)
	}
	if _, _, taken := e.cat.indexNamed(n.To.Name); taken {
		return bare("index %s already exists", n.To.Name)
	}
	c := t.clone()
	c.indexes[at].name = n.To.Name
	e.cat.tables[t.name] = c
	e.store.latest[t.id] = c
	e.cat.bump()
	return nil
}
