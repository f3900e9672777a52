package options

import "time"

// year bounds durations that have no natural end.
const year = 365 * 24 * time.Hour

// capacityKeys: how many connections, how long they live, how long a caller waits, and when a
// node counts as ill.
func capacityKeys() []key {
	return []key{
		{Key: Key{Name: "max_conns", Go: "MaxConns", Group: groupCapacity,
			Cost: "callers wait when it is reached",
			Doc:  "Most connections to the whole cluster, shared out among the nodes; 0 means no limit. Busy, idle, dialling and draining ones count. Below the number of nodes it means one each."},
			binding: bindInt(func(c *Config) *int { return &c.MaxConns }, 0, 1_000_000)},
		{Key: Key{Name: "max_conns_per_instance", Go: "MaxConnsPerInstance", Group: groupCapacity,
			Cost: "callers go to other nodes or wait when it is reached",
			Doc:  "Most connections to one node; 0 means no limit. Discovered nodes have it too."},
			binding: bindInt(func(c *Config) *int { return &c.MaxConnsPerInstance }, 0, 1_000_000)},
		{Key: Key{Name: "node_max_conns", Go: "NodeMaxConns", Group: groupCapacity,
			Cost: "as max_conns_per_instance",
			Doc:  "max_conns_per_instance for single nodes or tiers; 0 means no limit for them."},
			binding: bindRules(func(c *Config) *[]NodeRule { return &c.NodeMaxConns }, 0, 1_000_000)},
		{Key: Key{Name: "min_idle_conns_per_instance", Go: "MinIdleConnsPerInstance", Group: groupCapacity,
			Cost: "that many connections to every node, held by every client",
			Doc:  "Connections that are opened to every node at start and kept in reserve. A node that can't be reached fails nothing."},
			binding: bindInt(func(c *Config) *int { return &c.MinIdleConnsPerInstance }, 0, 10_000)},
		{Key: Key{Name: "max_conn_lifetime", Go: "MaxConnLifetime", Group: groupCapacity,
			Cost: "one dial and login, 3 to 6 ms, per connection and lifetime",
			Doc:  "A connection older than this is closed when it is free; 0 means never. Jitter is drawn once per connection."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.MaxConnLifetime }, 10*time.Millisecond, year, true)},
		{Key: Key{Name: "max_conn_idle_time", Go: "MaxConnIdleTime", Group: groupCapacity,
			Cost: "a short one makes the next burst dial",
			Doc:  "A connection that was idle for this long is closed; 0 means never."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.MaxConnIdleTime }, 10*time.Millisecond, year, true)},
		{Key: Key{Name: "overflow_idle_time", Go: "OverflowIdleTime", Group: groupCapacity,
			Cost: "a short one makes the next overflow dial",
			Doc:  "max_conn_idle_time for connections to nodes of weight 0."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.OverflowIdleTime }, 10*time.Millisecond, year, true)},
		{Key: Key{Name: "acquire_timeout", Go: "AcquireTimeout", Group: groupCapacity,
			Cost: "none",
			Doc:  "How long a caller waits for a connection before AcquireTimeoutError says who holds them; 0 means that only the caller's context ends the wait."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.AcquireTimeout }, time.Millisecond, 24*time.Hour, true)},
		{Key: Key{Name: "connect_timeout", Go: "ConnectTimeout", Group: groupCapacity,
			Cost: "none",
			Doc:  "The limit for one dial with TLS and login, per node. A starting instance accepts TCP and stays silent, so there is always a limit; libpq's 0 is refused. The caller's context may end it sooner."},
			binding: withWhy(bindSeconds(func(c *Config) *time.Duration { return &c.ConnectTimeout }, time.Millisecond, 24*time.Hour, false),
				func(c *Config) string {
					if c.ConnectTimeout == 0 {
						return "to wait for ever isn't possible: an instance that starts accepts TCP and stays silent"
					}
					return ""
				})},
		{Key: Key{Name: "drain_timeout", Go: "DrainTimeout", Group: groupCapacity,
			Cost: "none",
			Doc:  "How long a connection to a node that left the node set may finish its work before it is closed by force; 0 closes it at once."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.DrainTimeout }, time.Millisecond, 24*time.Hour, true)},

		{Key: Key{Name: "instance_ejection_failure_threshold", Go: "EjectionFailureThreshold", Group: groupHealth,
			Cost: "a low one ejects on a short disturbance",
			Doc:  "After this many connection failures in a row a node is left out for a while; 0 switches ejection off. SQL errors, login errors, full nodes and cancelled contexts never count. If all are ejected they are used anyway."},
			binding: bindInt(func(c *Config) *int { return &c.EjectionFailureThreshold }, 0, 1000)},
		{Key: Key{Name: "instance_ejection_failure_window", Go: "EjectionFailureWindow", Group: groupHealth,
			Cost: "none",
			Doc:  "Failures that lie further apart than this don't add up."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.EjectionFailureWindow }, 10*time.Millisecond, 24*time.Hour, false)},
		{Key: Key{Name: "instance_ejection_duration", Go: "EjectionDuration", Group: groupHealth,
			Cost: "a long one leaves a node idle after it has recovered",
			Doc:  "How long the first ejection lasts, with jitter; each further one is twice as long. Then one probe at a time decides."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.EjectionDuration }, 10*time.Millisecond, 24*time.Hour, false)},
		{Key: Key{Name: "instance_ejection_max_duration", Go: "EjectionMaxDuration", Group: groupHealth,
			Cost: "as instance_ejection_duration",
			Doc:  "Where the growth of ejections ends. If it isn't given, a longer instance_ejection_duration raises it."},
			binding: bindDuration(func(c *Config) *time.Duration { return &c.EjectionMaxDuration }, 10*time.Millisecond, 24*time.Hour, false)},
	}
}

// withWhy adds a reason to a binding's refusals.
func withWhy(b binding, why func(*Config) string) binding {
	b.why = why
	return b
}
