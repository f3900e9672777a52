package picotest

// Texts of the storage and of vshard that the cluster itself sends, as they were recorded in testdata/live/failover-*.txt.

// onReplicaset is an error that came back from another instance.
func onReplicaset(uuid, message string) string {
	return `sbroad: box error: ProcLua: {"code":32,"base_type":"ClientError","type":"ClientError","message":"Error on replicaset ` +
		uuid + `: ` + message + `","trace":[{"file":"vshard\/error.lua","line":284}]}`
}

// readOnlyText is what a write meets that reaches a leader in a switchover.
func readOnlyText(uuid string) string {
	return onReplicaset(uuid, `Failed to execute '.proc_sql_execute': sbroad: invalid transaction: transaction rolled-back: `+
		`failed to update space: box error: Readonly: Can't modify data on a read-only instance - box.cfg.read_only is true`)
}

// strandedText is how a read ends that was caught in the window of a planned stop, once the instance is back.
func strandedText(uuid string) string {
	return onReplicaset(uuid, `Object is outdated after module reload\/reconfigure. Use new instance.`)
}
