package engine

import (
	"slices"
	"strconv"

	"github.com/picodata/go-picodata/picotest/internal/grammar"
)

// indexFits refuses an index that the storage couldn't build: of a kind that doesn't go with the columns, or unique where uniqueness
// can't be held, for an instance sees the rows of its own buckets only.
func indexFits(t *table, n *grammar.CreateIndex, r *runState) *Error {
	kind := map[grammar.IndexType]string{grammar.IndexHash: "hash", grammar.IndexRTree: "rtree", grammar.IndexBitset: "bitset"}[n.Type]
	if kind == "" {
		kind = "tree"
	}
	var at []int
	for _, p := range n.Parts {
		i, ok := t.column(p.Name.Name)
		if !ok {
			return bare("no field with name: %s", p.Name.Name)
		}
		at = append(at, i)
	}
	switch {
	case kind == "hash" && !n.Unique:
		return bare("index type hash does not support non-unique indexes")
	case (kind == "rtree" || kind == "bitset") && n.Unique:
		return bare("index type %s does not support unique indexes", kind)
	case (kind == "rtree" || kind == "bitset") && len(at) > 1:
		return bare("index type %s does not support multiple columns", kind)
	}
	for _, i := range at {
		c := t.columns[i]
		if c.nullable && kind != "tree" {
			return bare("index type %s does not support nullable columns", kind)
		}
		field := c.typ.fieldName()
		ok := field != "array" && field != "map"
		switch kind {
		case "rtree":
			ok = field == "array"
		case "bitset":
			ok = field == "unsigned" || field == "string"
		}
		if !ok {
			return bare("index type %s does not support column type %s", kind, field)
		}
	}
	if n.Unique && !t.global {
		for k, i := range t.key {
			if k >= len(at) || at[k] != i {
				return bare("unique index for the sharded table must include all sharding key columns as a prefix")
			}
		}
	}
	for k, i := range at {
		if slices.Contains(at[:k], i) {
			return bare("ddl operation was aborted: [instance name:%s] ProcC: lua error: Can't create or modify index '%s' in space '%s': same key part is indexed twice",
				r.raftLeader(), n.Name.Name, t.name)
		}
	}
	return nil
}

// raftLeader is the name of the instance that leads raft.
func (r *runState) raftLeader() string {
	i, _ := r.instance(r.sys.RaftLeader)
	return i.Name
}

// inTime refuses a change of the schema that gives the cluster less time than any takes.
func inTime(tail grammar.DDLTail) *Error {
	if s, err := strconv.ParseFloat(tail.Timeout, 64); err == nil && s < 0.001 {
		return bare("Timeout: timeout")
	}
	return nil
}
