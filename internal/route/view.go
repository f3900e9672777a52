package route

import (
	"cmp"
	"slices"

	"github.com/picodata/go-picodata/internal/bucket"
	"github.com/picodata/go-picodata/internal/schema"
	"github.com/picodata/go-picodata/metadata"
	"github.com/picodata/go-picodata/options"
)

// View is what routing needs of one state of the cluster, worked out once: make a new one when
// the topology, the bucket map or the tables change. It is immutable and safe for concurrent use.
type View struct {
	// Number tells views of one maker apart.
	Number   uint64
	cfg      *options.Config
	topology *metadata.Topology
	buckets  *metadata.BucketMap
	tables   *Tables
	double   bucket.DoubleRule
	// anyBuckets: the map knows some tier.
	anyBuckets bool
	// defaultTier is meant where no tier is named.
	defaultTier string
	owners      map[string]owner                // of buckets, by uuid: one look-up per decision instead of three
	shards      []Shard                         // all that hold data, by tier and name
	byTier      map[string][]Shard              // parts of shards
	standbys    map[string][]*metadata.Instance // of the node set, by replicaset; nil unless stale_reads wants them
}

// Shard is a replicaset that holds, or may hold, sharded data.
type Shard struct {
	UUID string
	Name string
	Tier string
	// Usable: a node of it is in the node set.
	Usable bool
}

// NewView makes a View. Only cfg must be given; it isn't changed and must not be.
func NewView(cfg *options.Config, topology *metadata.Topology, buckets *metadata.BucketMap, tables *Tables) *View {
	v := &View{cfg: cfg, topology: topology, buckets: buckets, tables: tables, byTier: map[string][]Shard{}}
	v.anyBuckets = len(buckets.Tiers()) > 0
	if topology == nil {
		return v
	}
	v.double = doubleRule(topology)
	v.defaultTier = defaultTier(topology)
	excluded := map[string]metadata.Exclusion{} // that the policy leaves out
	usable := map[string]bool{}
	for _, node := range metadata.Select(cfg, topology) {
		if node.Instance == nil {
			continue
		}
		if node.Excluded == metadata.Included {
			usable[node.Instance.ReplicasetUUID] = true
			if cfg.StaleReads == options.StaleReadsDegraded {
				v.addStandby(node.Instance)
			}
		} else {
			excluded[node.ID] = node.Excluded
		}
	}
	v.addShards(usable)
	v.owners = make(map[string]owner, len(topology.Replicasets))
	for i := range topology.Replicasets {
		r := &topology.Replicasets[i]
		o := owner{replicaset: r}
		if leader, ok := topology.Instance(r.LeaderUUID); ok && r.LeaderUUID != "" {
			o.leader, o.excluded = leader, excluded[leader.UUID]
		}
		v.owners[r.UUID] = o
	}
	return v
}

// owner is a replicaset with its leader, nil if it has none, and why that is left out.
type owner struct {
	replicaset *metadata.Replicaset
	leader     *metadata.Instance
	excluded   metadata.Exclusion
}

// addShards lists the replicasets of tiers that have buckets, by tier and name. Where the
// user may not read _pico_replicaset the instances say which there are.
func (v *View) addShards(usable map[string]bool) {
	seen := map[string]bool{}
	add := func(uuid, name, tier string) {
		if uuid == "" || seen[uuid] {
			return
		}
		seen[uuid] = true
		if t, ok := v.topology.Tier(tier); ok && t.BucketsKnown && t.BucketCount == 0 {
			return
		}
		v.shards = append(v.shards, Shard{UUID: uuid, Name: name, Tier: tier, Usable: usable[uuid]})
	}
	for i := range v.topology.Replicasets {
		r := &v.topology.Replicasets[i]
		if r.State == "expelled" {
			seen[r.UUID] = true
			continue
		}
		add(r.UUID, r.Name, r.Tier)
	}
	for i := range v.topology.Instances {
		if in := &v.topology.Instances[i]; in.State != metadata.Expelled {
			add(in.ReplicasetUUID, in.ReplicasetName, in.Tier)
		}
	}
	slices.SortFunc(v.shards, func(a, b Shard) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), compareNatural(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID))
	})
	for from := 0; from < len(v.shards); {
		to := from
		for to < len(v.shards) && v.shards[to].Tier == v.shards[from].Tier {
			to++
		}
		v.byTier[v.shards[from].Tier] = v.shards[from:to:to]
		from = to
	}
}

// Shards are the replicasets of the tier in the order in which shard_N counts them: by name,
// numbers in it as numbers, so that default_2 comes before default_10.
func (v *View) Shards(tier string) []Shard {
	if v == nil {
		return nil
	}
	return v.byTier[tier]
}

func (v *View) addStandby(in *metadata.Instance) {
	if version, _ := metadata.ParseVersion(in.Version); in.State != metadata.Online || !version.HasQueryMetadata() {
		return
	}
	if v.standbys == nil {
		v.standbys = map[string][]*metadata.Instance{}
	}
	v.standbys[in.ReplicasetUUID] = append(v.standbys[in.ReplicasetUUID], in)
}

// Standbys are the living instances of a replicaset in the node set that answer reads by themselves when they are told to
// (read_preference, from 26.1 on), its leader among them. None unless stale_reads=degraded.
func (v *View) Standbys(replicaset string) []*metadata.Instance {
	if v == nil {
		return nil
	}
	return v.standbys[replicaset]
}

// DefaultTier is the tier that a hint without a tier means; "" if it isn't known.
func (v *View) DefaultTier() string {
	if v == nil {
		return ""
	}
	return v.defaultTier
}

// Topology is the snapshot that the view was made of; nil if there is none yet.
func (v *View) Topology() *metadata.Topology {
	if v == nil {
		return nil
	}
	return v.topology
}

// doubleRule is the rule of all instances that are Online. While a cluster is upgraded they
// may differ, and the rule is that of whoever computes the bucket: unknown then.
func doubleRule(t *metadata.Topology) bucket.DoubleRule {
	rule := bucket.DoubleUnknown
	for i := range t.Instances {
		in := &t.Instances[i]
		if in.State != metadata.Online {
			continue
		}
		version, ok := metadata.ParseVersion(in.Version)
		if !ok {
			return bucket.DoubleUnknown
		}
		r := bucket.RuleOf(version.Major, version.Minor)
		if rule != bucket.DoubleUnknown && r != rule {
			return bucket.DoubleUnknown
		}
		rule = r
	}
	return rule
}

// defaultTier is the one that says so, the only one, or the one of that name.
func defaultTier(t *metadata.Topology) string {
	named := ""
	for i := range t.Tiers {
		if t.Tiers[i].IsDefault {
			return t.Tiers[i].Name
		}
		if t.Tiers[i].Name == "default" {
			named = "default"
		}
	}
	if len(t.Tiers) == 1 {
		return t.Tiers[0].Name
	}
	return named
}

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
