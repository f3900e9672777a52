package engine

import "strings"

// Ids of the system tables that PUBLIC may read.
const (
	idPeerAddressTable = 514
	idInstanceTable    = 515
)

// systemDef describes a system table. Columns are "name type", with "?" for nullable and "@26.1" for the version they came with.
type systemDef struct {
	id      uint64
	name    string
	since   [2]int
	columns string
	descr   string
	indexes []systemIndex // the first is the primary one
}

type systemIndex struct {
	name    string
	unique  bool
	columns []string
}

func one(name string, columns ...string) systemIndex { return systemIndex{name, true, columns} }
func many(name, column string) systemIndex           { return systemIndex{name, false, []string{column}} }

// systemDefs are in the order of their ids. Columns, types and indexes are those of 25.6 and 26.2.
var systemDefs = []systemDef{
	{id: 512, name: "_pico_table", columns: "id unsigned,name string,distribution map,format array,schema_version unsigned,operable boolean,engine string,owner unsigned,description string,opts array? @26.1",
		descr:   "Stores metadata of all the cluster tables in picodata.",
		indexes: []systemIndex{one("_pico_table_id", "id"), one("_pico_table_name", "name"), many("_pico_table_owner_id", "owner")}},
	{id: 513, name: "_pico_index", columns: "table_id unsigned,id unsigned,name string,type string,opts array,parts array,operable boolean,schema_version unsigned",
		indexes: []systemIndex{one("_pico_index_id", "table_id", "id"), one("_pico_index_name", "name")}},
	{id: idPeerAddressTable, name: "_pico_peer_address", columns: "raft_id unsigned,address string,connection_type string",
		indexes: []systemIndex{one("_pico_peer_address_raft_id", "raft_id", "connection_type")}},
	{id: idInstanceTable, name: "_pico_instance", columns: "name string,uuid string,raft_id unsigned,replicaset_name string,replicaset_uuid string,current_state array,target_state array,failure_domain map,tier string,picodata_version string,sync_incarnation unsigned? @25.5,target_state_reason string? @25.5,target_state_change_time datetime? @25.5",
		indexes: []systemIndex{one("_pico_instance_name", "name"), one("_pico_instance_uuid", "uuid"), one("_pico_instance_raft_id", "raft_id"), many("_pico_instance_replicaset_name", "replicaset_name")}},
	{id: 516, name: "_pico_property", columns: "key string,value any", indexes: []systemIndex{one("_pico_property_key", "key")}},
	{id: 517, name: "_pico_replicaset", columns: "name string,uuid string,current_master_name string,target_master_name string,tier string,weight double,weight_origin string,state string,current_config_version unsigned,target_config_version unsigned,promotion_vclock map,master_change_counter unsigned? @25.5,current_bucket_state_version unsigned? @25.5,target_bucket_state_version unsigned? @25.5",
		indexes: []systemIndex{one("_pico_replicaset_name", "name"), one("_pico_replicaset_uuid", "uuid")}},
	{id: 520, name: "_pico_user", columns: "id unsigned,name string,schema_version unsigned,auth array?,owner unsigned,type string",
		indexes: []systemIndex{one("_pico_user_id", "id"), one("_pico_user_name", "name"), many("_pico_user_owner_id", "owner")}},
	{id: 521, name: "_pico_privilege", columns: "grantor_id unsigned,grantee_id unsigned,privilege string,object_type string,object_id integer,schema_version unsigned",
		indexes: []systemIndex{one("_pico_privilege_primary", "grantee_id", "object_type", "object_id", "privilege"), {"_pico_privilege_object", false, []string{"object_type", "object_id"}}}},
	{id: 522, name: "_pico_governor_queue", since: [2]int{25, 3}, columns: "id unsigned,batch_id string,op string,op_format string,status string,status_description string,kind string,description string",
		descr: "Stores governor operations.", indexes: []systemIndex{one("_pico_governor_queue_pkey", "id")}},
	{id: 523, name: "_pico_tier", columns: "name string,replication_factor unsigned,can_vote boolean,current_vshard_config_version unsigned,target_vshard_config_version unsigned,vshard_bootstrapped boolean,bucket_count unsigned,is_default boolean? @25.4,current_bucket_state_version unsigned? @25.5,target_bucket_state_version unsigned? @25.5",
		indexes: []systemIndex{one("_pico_tier_name", "name")}},
	{id: 524, name: "_pico_routine", columns: "id unsigned,name string,kind string,params array,returns array,language string,body string,security string,operable boolean,schema_version unsigned,owner unsigned",
		indexes: []systemIndex{one("_pico_routine_id", "id"), one("_pico_routine_name", "name"), many("_pico_routine_owner_id", "owner")}},
	{id: 525, name: "_pico_user_audit_policy", since: [2]int{25, 3}, columns: "user_id unsigned,policy_id unsigned",
		descr: "Represents many-to-many relationship between users and audit policies.", indexes: []systemIndex{one("_pico_user_audit_policy_pkey", "user_id", "policy_id")}},
	{id: 526, name: "_pico_plugin", columns: "name string,enabled boolean,services array,version string,description string,migration_list array",
		indexes: []systemIndex{one("_pico_plugin_name", "name", "version")}},
	{id: 527, name: "_pico_service", columns: "plugin_name string,name string,version string,tiers array,description string",
		indexes: []systemIndex{one("_pico_service_name", "plugin_name", "name", "version")}},
	{id: 528, name: "_pico_service_route", columns: "plugin_name string,plugin_version string,service_name string,instance_name string,poison boolean",
		indexes: []systemIndex{one("_pico_service_routing_key", "plugin_name", "plugin_version", "service_name", "instance_name")}},
	{id: 529, name: "_pico_plugin_migration", columns: "plugin_name string,migration_file string,hash string",
		indexes: []systemIndex{one("_pico_plugin_migration_primary_key", "plugin_name", "migration_file")}},
	{id: 530, name: "_pico_plugin_config", columns: "plugin string,version string,entity string,key string,value any?",
		indexes: []systemIndex{one("_pico_plugin_config_pk", "plugin", "version", "entity", "key")}},
	{id: 531, name: "_pico_db_config", columns: "key string,scope string,value any",
		indexes: []systemIndex{one("_pico_db_config_pk", "key", "scope"), many("_pico_db_config_key", "key")}},
	{id: 533, name: "_pico_bucket", since: [2]int{25, 5}, columns: "tier_name string,bucket_id_start unsigned,bucket_id_end unsigned,state string,current_replicaset_name string,target_replicaset_name string?",
		indexes: []systemIndex{one("_pico_bucket_index_primary", "tier_name", "bucket_id_start")}},
	{id: 534, name: "_pico_resharding_state", since: [2]int{25, 5}, columns: "tier_name string,type string,current_replicaset_name string,target_replicaset_name string,bucket_id_start unsigned?,bucket_count unsigned",
		indexes: []systemIndex{one("_pico_resharding_state_index_primary", "tier_name", "type", "current_replicaset_name", "target_replicaset_name")}},
}

func parseSince(s string) (major, minor int) {
	a, b, _ := strings.Cut(s, ".")
	major, _ = smallInt(a)
	minor, _ = smallInt(b)
	return major, minor
}

var systemTypes = map[string]sqlType{
	"unsigned": {base: tUnsigned}, "integer": typeInt, "string": typeText, "boolean": typeBool, "double": typeDouble, "datetime": typeDT,
	"map": typeMap, "array": typeArrAny, "any": typeAny,
}

// table makes the catalog's form of a definition as a version has it.
func (s *systemDef) table(v Version) *table {
	t := &table{id: s.id, name: s.name, global: true, system: true, owner: idAdmin, descr: s.descr}
	for slot, spec := range strings.Split(s.columns, ",") {
		f := strings.Fields(spec)
		if len(f) == 3 {
			if major, minor := parseSince(f[2][1:]); !v.AtLeast(major, minor) {
				continue
			}
		}
		typ, nullable := strings.CutSuffix(f[1], "?")
		t.columns = append(t.columns, column{name: f[0], typ: systemTypes[typ], nullable: nullable, slot: slot})
	}
	t.slots = len(t.columns)
	for _, name := range s.indexes[0].columns {
		if i, ok := t.column(name); ok {
			t.pk = append(t.pk, i)
		}
	}
	return t
}

func systemTable(name string, v Version) (*table, bool) {
	for i := range systemDefs {
		if s := &systemDefs[i]; s.name == name && v.AtLeast(s.since[0], s.since[1]) {
			return s.table(v), true
		}
	}
	return nil, false
}

// systemTables gives all system tables of a version.
func systemTables(v Version) []*systemDef {
	var out []*systemDef
	for i := range systemDefs {
		if v.AtLeast(systemDefs[i].since[0], systemDefs[i].since[1]) {
			out = append(out, &systemDefs[i])
		}
	}
	return out
}
