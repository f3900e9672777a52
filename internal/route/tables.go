package route

import "github.com/picodata/go-picodata/internal/schema"

// Tables are the distributions of the cluster's tables, worked out once. It is immutable.
type Tables struct {
	byName map[string]*keyTable
}

// keyTable is how one table's rows find their bucket.
type keyTable struct {
	global bool
	// byKey: the bucket is the hash of key. False for forms that this driver doesn't hash.
	byKey   bool
	tier    string
	columns int // that INSERT without a list of columns fills
	key     []keyColumn
}

type keyColumn struct {
	name     string
	oid      uint32 // the type that the server gives a bare parameter for it
	position int    // among the columns that INSERT without a list fills
}

// NewTables takes what was read from _pico_table.
func NewTables(tables map[string]schema.Table) *Tables {
	all := &Tables{byName: make(map[string]*keyTable, len(tables))}
	for name, t := range tables {
		k := &keyTable{global: t.Distribution == schema.Global, tier: t.Tier}
		columns := t.InsertColumns()
		k.columns = len(columns)
		if t.Distribution == schema.ShardedByKey && t.Operable {
			k.byKey = true
			for _, part := range t.ShardingKey {
				c := keyColumn{name: part, position: -1}
				for i := range columns {
					if columns[i].Name == part {
						c.oid, c.position = columns[i].OID, i
					}
				}
				k.byKey = k.byKey && c.position >= 0
				k.key = append(k.key, c)
			}
		}
		all.byName[name] = k
	}
	return all
}

func (t *Tables) table(name string) (*keyTable, bool) {
	if t == nil || name == "" {
		return nil, false
	}
	k, ok := t.byName[name]
	return k, ok
}
