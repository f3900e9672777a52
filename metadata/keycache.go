package metadata

import "sync"

// KeyState says whether a KeyCache knows a statement.
type KeyState uint8

// States. A known statement may be known as not routable; an unknown one isn't that.
const (
	KeyUnknown KeyState = iota
	KeyKnown
)

// The bounds of a KeyCache besides its number of entries: texts with literals in them are
// long and never come twice.
const (
	maxKeyText  = 64 << 10 // bytes of one text; a longer one is never kept
	maxKeyBytes = 8 << 20  // bytes of all texts
)

// KeyCache remembers sharding keys by the exact text of a statement and forgets the text that
// was asked for longest ago. It is safe for concurrent use; Get doesn't allocate.
type KeyCache struct {
	mu     sync.Mutex
	size   int
	bytes  int
	byText map[string]*keyEntry
	// The entries form a ring through newest, most recently used first.
	newest *keyEntry

	hits, misses, evicted uint64
}

type keyEntry struct {
	text       string
	meta       KeyMeta
	prev, next *keyEntry // prev is used more recently
}

// KeyCacheStats is a reading of a KeyCache's counters.
type KeyCacheStats struct {
	Entries               int
	Hits, Misses, Evicted uint64
}

// NewKeyCache makes a cache of at most size texts; 0 or less keeps nothing.
func NewKeyCache(size int) *KeyCache {
	return &KeyCache{size: size, byText: map[string]*keyEntry{}}
}

// Get returns what is known of the statement.
func (c *KeyCache) Get(sql string) (KeyMeta, KeyState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byText[sql]
	if !ok {
		c.misses++
		return KeyMeta{}, KeyUnknown
	}
	c.hits++
	c.unlink(e)
	c.pushNewest(e)
	return e.meta, KeyKnown
}

// Put remembers the statement. The cache keeps meta.Params: don't change them.
func (c *KeyCache) Put(sql string, meta KeyMeta) {
	if len(sql) > maxKeyText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size <= 0 {
		return
	}
	e, ok := c.byText[sql]
	if ok {
		c.unlink(e)
	} else {
		e = &keyEntry{text: sql}
		c.byText[sql] = e
		c.bytes += len(sql)
	}
	e.meta = meta
	c.pushNewest(e)
	for len(c.byText) > c.size || c.bytes > maxKeyBytes {
		c.remove(c.newest.prev)
		c.evicted++
	}
}

// Drop forgets one statement.
func (c *KeyCache) Drop(sql string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byText[sql]; ok {
		c.remove(e)
	}
}

// DropTable forgets every statement on this table, and those of which nobody said which table they are on.
func (c *KeyCache) DropTable(table string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.byText {
		if e.meta.Table == table || e.meta.Table == "" {
			c.remove(e)
		}
	}
}

// Clear forgets everything.
func (c *KeyCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byText)
	c.newest, c.bytes = nil, 0
}

// Stats is a reading of the counters.
func (c *KeyCache) Stats() KeyCacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return KeyCacheStats{Entries: len(c.byText), Hits: c.hits, Misses: c.misses, Evicted: c.evicted}
}

func (c *KeyCache) remove(e *keyEntry) {
	c.unlink(e)
	delete(c.byText, e.text)
	c.bytes -= len(e.text)
}

func (c *KeyCache) unlink(e *keyEntry) {
	if e.next == e {
		c.newest = nil
		return
	}
	e.prev.next, e.next.prev = e.next, e.prev
	if c.newest == e {
		c.newest = e.next
	}
}

func (c *KeyCache) pushNewest(e *keyEntry) {
	if c.newest == nil {
		e.prev, e.next = e, e
	} else {
		e.next, e.prev = c.newest, c.newest.prev
		e.prev.next, e.next.prev = e, e
	}
	c.newest = e
}
