package metadata

import (
	"slices"
	"strings"

	"github.com/picodata/go-picodata/internal/servererr"
)

// The system tables that a Source reads.
const (
	tableInstance    = "_pico_instance"
	tablePeerAddress = "_pico_peer_address"
	tableReplicaset  = "_pico_replicaset"
	tableTier        = "_pico_tier"
	tableTable       = "_pico_table"
)

// isServerError tells an answer of the server from a failure of the connection.
func isServerError(err error) bool {
	_, ok := servererr.Of(err)
	return ok
}

func causeOf(err error) servererr.Cause {
	r, _ := servererr.Of(err)
	return r.Cause
}

// deniedTable returns the table that the server refused to let the user read.
func deniedTable(err error) (string, bool) {
	r, _ := servererr.Of(err)
	return r.Object, r.Cause == servererr.AccessDenied
}

// isUnknownFunction tells whether the server has no SQL function of this name.
func isUnknownFunction(err error, name string) bool {
	r, _ := servererr.Of(err)
	return r.Cause == servererr.NoFunction && r.Object == name
}

// isOverLimit tells whether a query was stopped by sql_vdbe_opcode_max or sql_motion_row_max.
func isOverLimit(err error) bool {
	r, _ := servererr.Of(err)
	return r.Kind == servererr.Limit
}

// GrantFor is the statement that lets the user read the system table, to be run by an administrator.
func GrantFor(table, user string) string {
	return "GRANT READ ON TABLE " + table + " TO " + quoteIdent(user)
}

// quoteIdent writes a name for SQL. Picodata folds unquoted names to lower case.
func quoteIdent(name string) string {
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) && (name[0] < '0' || name[0] > '9')
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// MissingGrants are the statements that would give the user what this snapshot lacks, sorted.
func (t *Topology) MissingGrants(user string) []string {
	if t == nil {
		return nil
	}
	var grants []string
	for _, table := range t.Denied {
		grants = append(grants, GrantFor(table, user))
	}
	slices.Sort(grants)
	return slices.Compact(grants)
}

// lost tells what the driver can't do without the right to read the table.
func lost(table string) string {
	switch table {
	case tableInstance, tablePeerAddress:
		return "the cluster's instances are unknown, only the nodes of the DSN are used"
	case tableReplicaset:
		return "leaders are unknown: no routing to leaders, instance_role=leader and replica can't be met"
	case tableTier:
		return "tiers without buckets can't be told from others until their buckets are asked for"
	case tableTable:
		return "sharding keys are learnt from the server's notices only"
	default:
		return ""
	}
}
