package engine

import (
	"errors"
	"sync"
	"time"
)

// Engine holds the catalog and the data of a cluster. It is safe for concurrent use: one statement works on the data at a time,
// and none does while View.Before is called.
type Engine struct {
	cfg Config

	mu     sync.Mutex
	cat    *catalog
	db     *db
	store  *store
	loaded map[string]loadedTable // system tables that SQLite holds, by name
	plans  map[planKey][]bool     // kept plans: which parameters count as integers
	closed bool
}

// loadedTable says what a system table was filled from.
type loadedTable struct {
	sys     *System
	version uint64
	build   string
}

var errClosed = errors.New("the engine is closed")

// New makes an engine with an empty catalog: system tables, users admin, guest and pico_service, roles.
func New(cfg Config) (*Engine, error) {
	if cfg.Live == nil {
		return nil, errors.New("engine: Config.Live is nil; give it the state of a cluster")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d, err := openDB(maxMemory())
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, cat: newCatalog(), db: d, store: newStore(d), loaded: map[string]loadedTable{}, plans: map[planKey][]bool{}}
	e.cat.users["admin"].password = cfg.AdminPassword
	e.cat.cluster = cfg.Version
	e.cat.grantBootstrap(cfg.Version)
	return e, nil
}

// Close frees everything. Statements that are prepared fail afterwards.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	return e.db.close()
}

// Account looks a user up.
func (e *Engine) Account(name string) (Account, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, ok := e.cat.users[name]
	if !ok || u.role {
		return Account{}, false
	}
	return Account{ID: u.id, Name: u.name, Method: u.method, Password: u.password, Login: e.cat.hasLogin(u)}, true
}

// Setting reads ALTER SYSTEM's value of a parameter, its default otherwise; scope is a tier or "".
func (e *Engine) Setting(name, scope string) (Value, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.cat.setting(name, scope)
	return v, v != nil
}

// AddInstance gives a new instance of a replicaset an empty copy, or one filled from another instance's.
func (e *Engine) AddInstance(replicaset, instance, from string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store.find(replicaset, instance) == nil {
		e.store.add(replicaset, instance)
	}
	e.resync(replicaset, instance, from)
}

// RemoveInstance drops the copy.
func (e *Engine) RemoveInstance(replicaset, instance string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.must(e.store.remove(replicaset, instance))
	}
}

// SetLag makes an instance's copy stop (true) or resume (false) following; what was written meanwhile is applied on resume.
func (e *Engine) SetLag(replicaset, instance string, lag bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.store.at(Copy{replicaset, instance})
	if c.lag = lag; !lag && !e.closed {
		e.must(e.store.catchUp(c))
	}
}

// SetCut takes an instance's copy out of replication: neither does it get what others write, nor do they get what is written to it.
// What it missed it gets by Resync alone.
func (e *Engine) SetCut(replicaset, instance string, cut bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.store.at(Copy{replicaset, instance})
	c.cut = cut || c.stopped
}

// Resync makes the copy equal to another instance's: before a planned switchover, or when an old leader comes back.
func (e *Engine) Resync(replicaset, instance, from string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resync(replicaset, instance, from)
}

func (e *Engine) resync(replicaset, instance, from string) {
	src := e.store.find(replicaset, from)
	if src == nil || from == instance || e.closed {
		return
	}
	e.must(e.store.resync(e.store.at(Copy{replicaset, instance}), src, e.cat.sorted()))
}

// ForgetUnlogged empties the unlogged tables of an instance, as a restart or a change of leader does.
func (e *Engine) ForgetUnlogged(instance string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	for _, t := range e.cat.sorted() {
		if !t.unlogged {
			continue
		}
		for _, copies := range e.store.copies {
			for _, c := range copies {
				if c.instance == instance && e.store.phys[t.id][c.n] {
					e.must(e.db.exec("DELETE FROM " + physName(t.id, c.n)))
				}
			}
		}
	}
}

// MoveBuckets moves the rows of buckets first..last of a tier from one replicaset's copies to another's.
func (e *Engine) MoveBuckets(tier string, first, last uint64, from, to string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.must(e.store.move(e.cat.sorted(), tier, first, last, from, to))
	}
}

// must stops the test run: SQLite in memory fails for reasons of programming alone.
func (e *Engine) must(err error) {
	if err != nil {
		panic(err)
	}
}

// begin sets up what functions of a running statement see.
func (e *Engine) begin(instance string) *runState {
	sys := e.cfg.Live.System(instance)
	if sys == nil {
		sys = &System{}
	}
	r := &runState{sys: sys, now: DatetimeOf(e.cfg.Now())}
	for _, i := range sys.Instances {
		// Names are reused after an expulsion: the last of a name is the living one.
		if i.Name == instance {
			r.self = i
		}
	}
	e.db.run, e.db.fnErr = r, nil
	return r
}

var (
	_ API     = (*Engine)(nil)
	_ StmtAPI = (*Stmt)(nil)
)
