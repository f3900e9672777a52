package options

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// statementKeys: where a statement runs, and how it is sent.
func statementKeys() []key {
	return []key{
		{Key: Key{Name: "routing", Go: "Routing", Group: groupRouting,
			Since: "26.1; before it, READ on _pico_table",
			Cost:  "one look into two small caches per statement; keys also reads the WHERE clause",
			Doc:   "Which statements go straight to the leader that owns their bucket: parametrised one-row INSERTs (insert), also SELECT, UPDATE and DELETE whose WHERE gives the whole sharding key (keys), none (off). A wrong guess costs a hop inside the cluster, never a wrong result."},
			binding: bindEnum(func(c *Config) *Routing { return &c.Routing }, "routing", routingNames[:])},
		{Key: Key{Name: "routing_acquire_timeout", Go: "RoutingAcquireTimeout", Group: groupRouting,
			Cost: "a long one makes inserts wait for a busy leader while others are free",
			Doc:  "How long a routed statement waits for a connection to its leader before it goes by the balancing policy; 0 means not at all."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.RoutingAcquireTimeout }, time.Millisecond, 24*time.Hour, true)},
		{Key: Key{Name: "query_metadata_cache_size", Go: "QueryMetadataCacheSize", Group: groupRouting,
			Since: "26.1",
			Cost:  "some hundred bytes per text; texts with literals thrash a small one",
			Doc:   "How many statement texts the driver remembers the sharding key of; 0 switches this off, and with it the routing by the server's notices."},
			binding: bindInt(func(c *Config) *int { return &c.QueryMetadataCacheSize }, 0, 1_000_000)},
		{Key: Key{Name: "no_shard_specified_behavior", Go: "NoShard", Group: groupRouting,
			Cost: "fail: one Parse alone, once per unknown text",
			Doc:  "What happens to a statement that is bound to a shard which isn't known: the balancing policy; a replicaset at random; the same, favouring those without recent errors; the N-th replicaset of the tier by name, from 0; or ErrNoShard before anything runs."},
			binding: binding{kind: "choice", allowed: "balance, random, random_healthy, shard_N or fail",
				set: func(c *Config, text string) bool {
					return c.NoShard.UnmarshalText([]byte(text)) == nil
				},
				get: func(c *Config) string { return c.NoShard.String() },
				ok:  func(c *Config) bool { return c.NoShard.valid() }}},
		{Key: Key{Name: "no_shard_scope", Go: "NoShardScope", Group: groupRouting,
			Cost: "none",
			Doc:  "Which statements no_shard_specified_behavior is for: those that are bound to a shard, or every one that isn't routed."},
			binding: bindEnum(func(c *Config) *NoShardScope { return &c.NoShardScope }, "no_shard_scope", noShardScopeNames[:])},

		{Key: Key{Name: "prepare", Go: "Prepare", Group: groupStatements,
			Cost: "eager: one flight per Prepare",
			Doc:  "What db.Prepare does: nothing on the wire (lazy), or one flight so that errors show there (eager)."},
			binding: bindEnum(func(c *Config) *Prepare { return &c.Prepare }, "prepare", prepareNames[:])},
		{Key: Key{Name: "statement_cache_size", Go: "StatementCacheSize", Group: groupStatements,
			Cost: "one named statement per entry and connection, out of pg_statement_max of the instance",
			Doc:  "How many named statements one connection keeps; 0 means none, and every execution is parsed anew, still in one flight."},
			binding: bindInt(func(c *Config) *int { return &c.StatementCacheSize }, 0, 10_000)},
		{Key: Key{Name: "statement_cache_threshold", Go: "StatementCacheThreshold", Group: groupStatements,
			Cost: "a low one names statements that run only once",
			Doc:  "A text gets a named statement after this many uses on a connection."},
			binding: bindInt(func(c *Config) *int { return &c.StatementCacheThreshold }, 1, 1_000_000)},
		{Key: Key{Name: "strip_comments", Go: "StripComments", Group: groupStatements,
			Cost: "one pass over the text",
			Doc:  "Takes SQL comments out of a statement before it is sent, because Picodata can't parse them and ORMs and tracing add them. Never inside strings."},
			binding: bindBool(func(c *Config) *bool { return &c.StripComments })},
		{Key: Key{Name: "transactions", Go: "Transactions", Group: groupStatements,
			Cost: "autocommit: BeginTx succeeds, but nothing is atomic",
			Doc:  "What BeginTx does, given that Picodata accepts BEGIN, COMMIT and ROLLBACK and ignores them: it fails (reject), or each statement runs by itself on one pinned connection (autocommit), where Rollback after a write returns an error."},
			binding: bindEnum(func(c *Config) *Transactions { return &c.Transactions }, "transactions", transactionsNames[:])},
		{Key: Key{Name: "max_retries", Go: "MaxRetries", Group: groupStatements,
			Cost: "each one is another execution attempt, with backoff",
			Doc:  "How often the driver may run a statement again after an error that proves that nothing ran, or a plain read after a lost connection; 0 switches this off."},
			binding: bindInt(func(c *Config) *int { return &c.MaxRetries }, 0, 100)},
		{Key: Key{Name: "sql_vdbe_opcode_max", Go: "VdbeOpcodeMax", Group: groupStatements,
			Since: "25.1",
			Cost:  "0 or a high one lets one statement occupy an instance for long",
			Doc:   "How many steps of the server's SQL engine a statement may take, sent to every connection; 0 means no limit. Nothing given: the server's own setting, 45000 unless ALTER SYSTEM changed it, which a join over some thousand rows reaches. WithLimits sets it for single statements."},
			binding: bindLimit(func(c *Config) *Limit { return &c.VdbeOpcodeMax })},
		{Key: Key{Name: "sql_motion_row_max", Go: "MotionRowMax", Group: groupStatements,
			Since: "25.1",
			Cost:  "0 or a high one lets one statement move and hold many rows in an instance's memory",
			Doc:   "How many rows a statement may move between instances at one step, sent to every connection; 0 means no limit. Nothing given: the server's own setting, 5000 unless ALTER SYSTEM changed it. WithLimits sets it for single statements."},
			binding: bindLimit(func(c *Config) *Limit { return &c.MotionRowMax })},
		{Key: Key{Name: "float_guard", Go: "FloatGuard", Group: groupStatements,
			Cost: "on: one plan on the server, and one named statement, per pattern of numbers with a fraction among the arguments",
			Doc:  "Keeps float parameters from being changed by the server: statements whose arguments have fractions in other places get texts that differ in blanks at their end, for the server would use the plan of whole numbers for them and cut the fraction off; NaN and numbers beyond ±2^63 are refused. off sends everything as it is."},
			binding: bindBool(func(c *Config) *bool { return &c.FloatGuard })},
		{Key: Key{Name: "uuid_guard", Go: "UUIDGuard", Group: groupStatements,
			Cost: "none",
			Doc:  "Refuses UUIDs whose ninth byte is e0 to ff as arguments: the server stores them, then scans fail and replicas stop for good. A text in a UUID's form counts as one."},
			binding: bindBool(func(c *Config) *bool { return &c.UUIDGuard })},
		{Key: Key{Name: "max_chained_operators", Go: "MaxChainedOperators", Group: groupStatements,
			Cost: "one more pass over a text that is new",
			Doc:  "Refuses a text with more than so many operators || or + - * / % in a row, or with parentheses more than 40 deep; 0 refuses none. The server needs twice the time for each more, and 8 operands of || stop the whole cluster for seconds."},
			binding: bindInt(func(c *Config) *int { return &c.MaxChainedOperators }, 0, 1_000_000)},
		{Key: Key{Name: "split_inserts", Go: "SplitInserts", Group: groupStatements,
			Cost: "one statement an owner; if one is refused, the rows of others are in",
			Doc:  "Splits an INSERT of several rows, all their values parameters, that belong to several replicasets: each owner gets its rows in statements that are all or nothing, at the same time. An error is an InsertError with an account of every row. Not in a Tx, with hints, or with an OPTION in the text."},
			binding: bindBool(func(c *Config) *bool { return &c.SplitInserts })},
		{Key: Key{Name: "switchover_timeout", Go: "SwitchoverTimeout", Group: groupStatements,
			Cost: "a caller hears that much later of a refusal that lasts",
			Doc:  "How long a statement is tried again that is proved not to have run because a leader changes, buckets move, DDL is under way or the raft leader can't be reached, apart from max_retries, if its context doesn't end before. 0 means max_retries times, as for everything else; so does max_retries=0."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.SwitchoverTimeout }, time.Millisecond, time.Hour, true)},
		{Key: Key{Name: "stuck_statement_timeout", Go: "StuckStatementTimeout", Group: groupStatements,
			Cost: "a write that was only slow is reported as of unknown outcome",
			Doc:  "How long after a new leader is seen a statement that began before it may still wait; then it ends with OutcomeUnknownError. 0 means until its context ends. Plain reads are run again in any case."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.StuckStatementTimeout }, time.Millisecond, 24*time.Hour, true)},
		{Key: Key{Name: "dead_leader", Go: "DeadLeader", Group: groupStatements,
			Cost: "wait: callers wait as long as the cluster takes to replace a leader, some 30 seconds",
			Doc:  "What happens to a statement that needs a leader which doesn't answer and isn't replaced yet: it waits in the driver, holds no connection and goes to the next leader (wait), or fails at once with LeaderlessError (fail). Nothing of it was sent. Statements of healthy replicasets go straight to their leaders meanwhile."},
			binding: bindEnum(func(c *Config) *DeadLeader { return &c.DeadLeader }, "dead_leader", deadLeaderNames[:])},
		{Key: Key{Name: "dead_leader_timeout", Go: "DeadLeaderTimeout", Group: groupStatements,
			Cost: "a short one gives up before the cluster has noticed",
			Doc:  "How long such a statement waits at most, if its context doesn't end before."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.DeadLeaderTimeout }, time.Millisecond, 24*time.Hour, false)},
		{Key: Key{Name: "stale_reads", Go: "StaleReads", Group: groupStatements, Since: "26.1",
			Cost: "degraded: such a read may miss what was written last",
			Doc:  "What happens to a plain read of one owner, by its key, whose leader doesn't answer and isn't replaced yet: it waits as dead_leader says (off), or a living replica of the owner answers (degraded). Needs routing=keys, or READ on _pico_table, for the key."},
			binding: bindEnum(func(c *Config) *StaleReads { return &c.StaleReads }, "stale_reads", staleReadsNames[:])},
		{Key: Key{Name: "suspect_after", Go: "SuspectAfter", Group: groupStatements,
			Cost: "one login at a leader whose statements take longer, at growing distances",
			Doc:  "After how long without an answer a leader is asked over a new connection whether it lives; if it doesn't answer there either in that time, it counts as dead. 0 switches this off: then only refused connections tell."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.SuspectAfter }, 100*time.Millisecond, time.Hour, true)},
	}
}

// mirrorKeys: shadow traffic.
func mirrorKeys() []key {
	return []key{
		{Key: Key{Name: "mirror", Go: "Mirror", Group: groupMirror,
			Cost: "one more connection per connection; the mirrored statements' work on the other cluster",
			Doc:  "DSN of another cluster that gets a copy of the traffic; its results are read and dropped. Percent-encode it inside a URL. It can't have a mirror of its own. Its password is never shown."},
			binding: bindMirror(), secret: true},
		{Key: Key{Name: "mirror_map", Go: "MirrorMap", Group: groupMirror,
			Cost: "as mirror",
			Doc:  "Which node's traffic goes to which mirror address. Nodes that aren't listed go to mirror, if there is one, else nowhere. User, password and TLS are mirror's, or the DSN's own without it."},
			binding: bindMap(func(c *Config) *[]Mapping { return &c.MirrorMap }, true)},
		{Key: Key{Name: "mirror_mode", Go: "MirrorMode", Group: groupMirror,
			Cost: "all: the mirror must be a cluster of its own, or writes happen twice",
			Doc:  "Which statements are mirrored: those recognised as plain reads, or all."},
			binding: bindEnum(func(c *Config) *MirrorMode { return &c.MirrorMode }, "mirror_mode", mirrorModeNames[:])},
		{Key: Key{Name: "mirror_ratio", Go: "MirrorRatio", Group: groupMirror,
			Cost: "none",
			Doc:  "The share of statements that is mirrored."},
			binding: binding{kind: "number", allowed: "0 to 1",
				set: func(c *Config, text string) bool {
					v, ok := parseRatio(text)
					c.MirrorRatio = v
					return ok
				},
				get: func(c *Config) string { return strconv.FormatFloat(c.MirrorRatio, 'f', -1, 64) },
				ok: func(c *Config) bool {
					return c.MirrorRatio >= 0 && c.MirrorRatio <= 1 && !math.Signbit(c.MirrorRatio)
				}}},
		{Key: Key{Name: "mirror_queue", Go: "MirrorQueue", Group: groupMirror,
			Cost: "memory, bounded by mirror_queue_bytes",
			Doc:  "How many statements may wait for one mirror connection; more are dropped and counted."},
			binding: bindInt(func(c *Config) *int { return &c.MirrorQueue }, 1, 1_000_000)},
		{Key: Key{Name: "mirror_queue_bytes", Go: "MirrorQueueBytes", Group: groupMirror,
			Cost: "so much memory per mirror connection at most",
			Doc:  "How many bytes of statements and arguments may wait for one mirror connection."},
			binding: bindInt(func(c *Config) *int { return &c.MirrorQueueBytes }, 1024, 1<<30)},
		{Key: Key{Name: "mirror_compare", Go: "MirrorCompare", Group: groupMirror,
			Cost: "a digest of every mirrored result on both sides",
			Doc:  "Whether rows and errors of both sides are compared; differences are counted, and logged by statement."},
			binding: bindBool(func(c *Config) *bool { return &c.MirrorCompare })},
	}
}

// bindMirror is for a DSN inside the DSN. Why it is wrong is said in the words of its own error,
// which holds no secret.
func bindMirror() binding {
	field := func(c *Config) *string { return &c.Mirror }
	b := withOK(withKind(bindText(field), "secret"), "a DSN without mirror keys", func(c *Config) bool { return mirrorFault(c.Mirror) == "" })
	b.why = func(c *Config) string { return mirrorFault(c.Mirror) }
	return b
}

// mirrorFault says what is wrong with a mirror's DSN, "" if nothing.
func mirrorFault(dsn string) string {
	if dsn == "" {
		return ""
	}
	c, err := parse(dsn, parsing{nested: true})
	switch {
	case err != nil:
		return "not a valid DSN: " + strings.TrimPrefix(err.Error(), errorPrefix)
	case len(c.Hosts) == 0:
		return "the mirror's DSN names no host"
	case c.User == "":
		return "the mirror's DSN names no user"
	}
	return ""
}

// parseRatio reads a plain decimal number; exponents, hex and NaN are typing errors here.
func parseRatio(text string) (float64, bool) {
	for i := range len(text) {
		if (text[i] < '0' || text[i] > '9') && text[i] != '.' && text[i] != '-' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
