package engine

import (
	"fmt"
	"sort"
	"strings"
)

// systemRows gives the rows of a system table, all columns of the newest version in slot order, sorted by primary key.
func (c *catalog) systemRows(name string, sys *System, v Version) [][]cell {
	var rows [][]cell
	add := func(r ...cell) { rows = append(rows, r) }
	switch name {
	case "_pico_table":
		for _, s := range systemTables(v) {
			t := s.table(v)
			add(int64(t.id), t.name, t.distributionJSON(), t.formatJSON(), int64(0), int64(1), "memtx", int64(t.owner), t.descr, t.optsJSON())
		}
		for _, t := range c.sorted() {
			engine := "memtx"
			if t.vinyl {
				engine = "vinyl"
			}
			add(int64(t.id), t.name, t.distributionJSON(), t.formatJSON(), int64(t.version), int64(1), engine, int64(t.owner), t.descr, t.optsJSON())
		}
	case "_pico_index":
		c.indexRows(v, add)
	case "_pico_peer_address":
		for _, a := range sys.Addresses {
			add(int64(a.RaftID), a.Address, a.Type)
		}
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 0, 2) })
	case "_pico_instance":
		for _, i := range sys.Instances {
			var changed cell
			if !i.ChangeTime.IsZero() {
				changed = DatetimeOf(i.ChangeTime).cell()
			}
			add(i.Name, i.UUID, int64(i.RaftID), i.ReplicasetName, i.ReplicasetUUID, i.CurrentState, i.TargetState, orEmptyMap(i.FailureDomain),
				i.Tier, i.Version, int64(i.SyncIncarnation), i.Reason, changed)
		}
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 0) })
	case "_pico_property":
		c.propertyRows(sys, add)
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 0) })
	case "_pico_replicaset":
		for _, r := range sys.Replicasets {
			add(r.Name, r.UUID, r.CurrentMaster, r.TargetMaster, r.Tier, r.Weight, r.WeightOrigin, r.State, int64(r.CurrentConfig),
				int64(r.TargetConfig), orEmptyMap(r.PromotionVclock), int64(r.MasterChanges), int64(r.CurrentBucketState), int64(r.TargetBucketState))
		}
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 0) })
	case "_pico_tier":
		for _, t := range sys.Tiers {
			add(t.Name, int64(t.ReplicationFactor), toCell(t.CanVote), int64(t.CurrentVshard), int64(t.TargetVshard), toCell(t.Bootstrapped),
				int64(t.BucketCount), toCell(t.Default), int64(t.CurrentBucketState), int64(t.TargetBucketState))
		}
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 0) })
	case "_pico_user":
		for _, u := range c.usersByID() {
			kind := "user"
			if u.role {
				kind = "role"
			}
			add(int64(u.id), u.name, int64(u.version), u.authJSON(), int64(u.owner), kind)
		}
	case "_pico_privilege":
		for _, p := range c.privs {
			add(int64(p.grantor), int64(p.grantee), p.priv, p.kind, p.object, int64(p.version))
		}
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 1, 3, 4, 2) })
	case "_pico_routine":
		for _, r := range c.routine {
			add(int64(r.id), r.name, "procedure", paramsJSON(r.params), "[]", "SQL", r.body, "invoker", int64(1), int64(r.ver), int64(r.owner))
		}
		sort.SliceStable(rows, func(i, j int) bool { return less(rows[i], rows[j], 0) })
	case "_pico_db_config":
		var tiers []string
		for _, t := range sys.Tiers {
			tiers = append(tiers, t.Name)
		}
		rows = c.configRows(tiers, v)
	}
	return rows
}

// less compares rows by some columns, all of one type each.
func less(a, b []cell, by ...int) bool {
	for _, i := range by {
		switch x := a[i].(type) {
		case int64:
			if y := b[i].(int64); x != y {
				return x < y
			}
		case string:
			if y := b[i].(string); x != y {
				return x < y
			}
		}
	}
	return false
}

func orEmptyMap(s string) string {
	if s == "" {
		return "{}"
	}
	return s
}

func paramsJSON(types []sqlType) string {
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = fmt.Sprintf(`{"type":%s,"mode":"in","default":null}`, quoteJSON(t.fieldName()))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (c *catalog) indexRows(v Version, add func(...cell)) {
	partsOf := func(t *table, names []string) string {
		parts := make([]string, len(names))
		for i, n := range names {
			nullable, typ := false, "any"
			if at, ok := t.column(n); ok {
				nullable, typ = t.columns[at].nullable, t.columns[at].typ.fieldName()
			}
			parts[i] = fmt.Sprintf(`[%s,%s,null,%t,null]`, quoteJSON(n), quoteJSON(typ), nullable)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	row := func(t *table, id uint64, name, typ string, unique bool, columns []string, version uint64) {
		add(int64(t.id), int64(id), name, typ, fmt.Sprintf(`[{"unique":%t}]`, unique), partsOf(t, columns), int64(1), int64(version))
	}
	for _, s := range systemTables(v) {
		t := s.table(v)
		for i, ix := range s.indexes {
			row(t, uint64(i), ix.name, "tree", ix.unique, ix.columns, 0)
		}
	}
	for _, t := range c.sorted() {
		var pk []string
		for _, p := range t.pk {
			pk = append(pk, t.columns[p].name)
		}
		row(t, 0, t.pkName(), "tree", true, pk, t.version)
		if b := t.bucketColumn(); b >= 0 {
			row(t, 1, fmt.Sprintf("%d_bucket_id", t.id), "tree", false, []string{t.columns[b].name}, t.version)
		}
		for _, ix := range t.indexes {
			row(t, ix.id, ix.name, ix.typ, ix.unique, ix.columns, ix.version)
		}
	}
}

func (c *catalog) propertyRows(sys *System, add func(...cell)) {
	props := map[string]string{
		"global_schema_version": fmt.Sprint(c.version),
		"next_schema_version":   fmt.Sprint(c.version + 1),
		"cluster_version":       quoteJSON(c.cluster.Build),
	}
	props["system_catalog_version"] = quoteJSON(catalogVersion(c.cluster))
	for k, val := range sys.Properties {
		props[k] = val
	}
	for k, val := range props {
		add(k, val)
	}
}

// catalogVersion is the version of the system tables' layout that a release brings.
func catalogVersion(v Version) string {
	switch {
	case v.AtLeast(26, 2):
		return "26.2.1"
	case v.AtLeast(26, 1):
		return "26.1.1"
	case v.AtLeast(25, 6):
		return "25.5.8"
	}
	return fmt.Sprintf("%d.%d.1", v.Major, v.Minor)
}
