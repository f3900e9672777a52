package picotest

import "strings"

// Texts of the storage and of vshard that the cluster itself sends, as they were recorded in testdata/live/failover-*.txt.

// onReplicaset is an error that came back from another instance.
func onReplicaset(uuid, message string) string {
	return `sbroad: box error: ProcLua: {"code":32,"base_type":"ClientError","type":"ClientError","message":"Error on replicaset ` +
		uuid + `: ` + message + `","trace":[{"file":"vshard\/error.lua","line":284}]}`
}

// readOnlyText is what a write meets that reaches a leader in a switchover. tag is the statement's; local tells that it
// didn't leave the instance.
func readOnlyText(uuid, tag string, local bool) string {
	verb := "box error: "
	switch {
	case strings.HasPrefix(tag, "INSERT"):
		verb = "failed to insert space: " + verb
	case strings.HasPrefix(tag, "UPDATE"):
		verb = "failed to update space: " + verb
	case strings.HasPrefix(tag, "DELETE"):
		verb = "failed to delete space: " + verb
	}
	text := "sbroad: invalid transaction: transaction rolled-back: " + verb +
		"Readonly: Can't modify data on a read-only instance - box.cfg.read_only is true"
	if local {
		return text
	}
	return onReplicaset(uuid, "Failed to execute '.proc_sql_execute': "+text)
}

// strandedText is how a read ends that was caught in the window of a planned stop, once the instance is back.
func strandedText(uuid string) string {
	return onReplicaset(uuid, `Object is outdated after module reload\/reconfigure. Use new instance.`)
}
