package options

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Normalize fills in what follows from the settings: read_preference, forward and the limits are taken out of
// ServerOptions into their fields, repeated server options keep their last value, as on the server, and
// InstanceRole is derived from ReadPreference and Forward unless it was given, and the default of
// EjectionMaxDuration rises to EjectionDuration. It fails where these
// settings contradict each other. Calling it again changes nothing.
//
// A role counts as given if it comes from a DSN, from WithInstanceRole, or if a program assigned another
// one than RoleAny to the field; to insist on RoleAny, use WithInstanceRole.
func (c *Config) Normalize() error {
	if err := c.liftServerOptions(); err != nil {
		return err
	}
	// A default must not contradict what was given.
	if !c.origin.maxEjection && c.EjectionMaxDuration == defaultMaxEjection {
		c.EjectionMaxDuration = max(c.EjectionMaxDuration, c.EjectionDuration)
	}
	return c.deriveRole()
}

// liftServerOptions moves the settings that have fields of their own there.
func (c *Config) liftServerOptions() error {
	from := c.origin.optionsAt
	if from == "" {
		from = "Config.ServerOptions"
	}
	var kept []Setting
	for _, s := range c.ServerOptions {
		s.Name = settingName(s.Name)
		switch s.Name {
		case settingReadPreference:
			v, err := parseEnum[ReadPreference](settingReadPreference, readPreferenceNames[:], s.Value)
			if err != nil {
				return placed(err, from)
			}
			if err := c.giveReadPreference(v, from); err != nil {
				return err
			}
		case settingForward:
			v, err := parseEnum[Forward](settingForward, forwardNames[:], s.Value)
			if err != nil {
				return placed(err, from)
			}
			if err := c.giveForward(v, from); err != nil {
				return err
			}
		case settingOpcodes, settingMotionRows:
			var v Limit
			if !isLimit(s.Value) || v.UnmarshalText([]byte(s.Value)) != nil {
				return &ConfigError{Key: s.Name, Value: s.Value, Where: from, Msg: "want " + wantLimit}
			}
			if err := c.giveLimit(s.Name, v, from); err != nil {
				return err
			}
		default:
			repeated := false
			for i := range kept {
				if kept[i].Name == s.Name {
					kept[i].Value, repeated = s.Value, true
				}
			}
			if !repeated {
				kept = append(kept, s)
			}
		}
	}
	c.ServerOptions = kept
	return nil
}

// placed adds to an error where its value stands.
func placed(err error, where string) error {
	var e *ConfigError
	if errors.As(err, &e) {
		e.Where = where
	}
	return err
}

// giveReadPreference sets ReadPreference, unless another value was given elsewhere.
func (c *Config) giveReadPreference(v ReadPreference, from string) error {
	if c.ReadPreference != ReadPreferenceUnset && c.ReadPreference != v {
		return twoValues(settingReadPreference, c.ReadPreference, c.origin.readPreference.of(c.ReadPreference, "ReadPreference"), v, from)
	}
	if c.ReadPreference == ReadPreferenceUnset {
		c.ReadPreference, c.origin.readPreference = v, place[ReadPreference]{v, from}
	}
	return nil
}

// giveForward sets Forward, unless another value was given elsewhere.
func (c *Config) giveForward(v Forward, from string) error {
	if c.Forward != ForwardUnset && c.Forward != v {
		return twoValues(settingForward, c.Forward, c.origin.forward.of(c.Forward, "Forward"), v, from)
	}
	if c.Forward == ForwardUnset {
		c.Forward, c.origin.forward = v, place[Forward]{v, from}
	}
	return nil
}

// giveLimit sets the limit of that name, unless another value was given elsewhere. As on the server, the last
// of several inside options= holds.
func (c *Config) giveLimit(name string, v Limit, from string) error {
	field, where, goName := &c.VdbeOpcodeMax, &c.origin.opcodes, "VdbeOpcodeMax"
	if name == settingMotionRows {
		field, where, goName = &c.MotionRowMax, &c.origin.motionRows, "MotionRowMax"
	}
	if *field != LimitUnset && *field != v && where.of(*field, goName) != from {
		return twoValues(name, *field, where.of(*field, goName), v, from)
	}
	*field, *where = v, place[Limit]{v, from}
	return nil
}

// twoValues is the error for one setting with different values in two places.
func twoValues(name string, one fmt.Stringer, oneAt string, other fmt.Stringer, otherAt string) error {
	return &ConfigError{Key: name,
		Msg: fmt.Sprintf("%s=%s (%s) and %s=%s (%s) contradict each other: drop one of them", name, one, oneAt, name, other, otherAt)}
}

// deriveRole applies the table of roles and preferences.
//
//	read_preference | role not given | role given
//	not given       | any            | as given
//	leader          | leader         | leader, any: as given; replica: error
//	any             | any            | as given
//	replica         | any            | any, replica: as given; leader: error
//
// forward=off makes the role leader if none was given, and contradicts instance_role=replica and
// read_preference=any and replica.
func (c *Config) deriveRole() error {
	o := &c.origin
	if !o.roleGiven {
		if c.RoleDerived {
			o.roleGiven = c.InstanceRole != o.derivedRole
		} else {
			o.roleGiven = c.InstanceRole != RoleAny
		}
	}
	role, derived := c.InstanceRole, false
	if !o.roleGiven {
		role = RoleAny
		if c.ReadPreference == ReadPreferenceLeader || c.Forward == ForwardOff {
			role = RoleLeader
		}
		derived = c.ReadPreference != ReadPreferenceUnset || c.Forward == ForwardOff
	}
	if err := c.roleConflict(role); err != nil {
		return err
	}
	c.InstanceRole, c.RoleDerived, o.derivedRole = role, derived, role
	return nil
}

// roleConflict finds the contradictions of the table. role is the one that was given or follows.
func (c *Config) roleConflict(role InstanceRole) error {
	preference := fmt.Sprintf("read_preference=%s (%s)", c.ReadPreference, c.origin.readPreference.of(c.ReadPreference, "ReadPreference"))
	forward := fmt.Sprintf("forward=%s (%s)", c.Forward, c.origin.forward.of(c.Forward, "Forward"))
	roleAt := c.origin.roleAt
	if roleAt == "" {
		roleAt = "Config.InstanceRole"
	}
	given := fmt.Sprintf("instance_role=%s (%s)", role, roleAt)
	conflict := func(key, one, other, why, way string) error {
		return &ConfigError{Key: key, Msg: one + " contradicts " + other + ": " + why + "; " + way}
	}
	switch {
	case c.Forward == ForwardOff && (c.ReadPreference == ReadPreferenceAny || c.ReadPreference == ReadPreferenceReplica):
		return conflict(settingForward, forward, preference,
			"with forward=off an instance answers as a leader or not at all",
			"use read_preference=leader, or drop one of them")
	case c.ReadPreference == ReadPreferenceLeader && role == RoleReplica:
		return conflict(settingReadPreference, preference, given,
			"every read would be passed on from a replica to its leader",
			"use read_preference=replica or any, or instance_role=leader or any")
	case c.ReadPreference == ReadPreferenceReplica && role == RoleLeader:
		return conflict(settingReadPreference, preference, given,
			"every read would be passed on from a leader to a replica",
			"use read_preference=leader or any, or instance_role=replica or any")
	case c.Forward == ForwardOff && role == RoleReplica:
		return conflict(settingForward, forward, given,
			"with forward=off a replica refuses every statement on sharded tables",
			"use instance_role=leader, or forward=ro_to_rw")
	}
	return nil
}

// origin keeps where the settings that depend on each other came from, so that an error can name
// both places and a derived role can be derived anew when what it came from changes.
type origin struct {
	roleGiven      bool         // instance_role was given, even if as its default
	roleAt         string       // where
	derivedRole    InstanceRole // what Normalize set InstanceRole to while RoleDerived
	readPreference place[ReadPreference]
	forward        place[Forward]
	opcodes        place[Limit]
	motionRows     place[Limit]
	optionsAt      string // where ServerOptions were given
	maxEjection    bool   // instance_ejection_max_duration was given, even if as its default
}

// place is where a value was given. It holds for that value only: a program may have assigned
// another one to the field since.
type place[T comparable] struct {
	value T
	at    string
}

// of names where the current value came from.
func (p place[T]) of(current T, field string) string {
	if p.at != "" && p.value == current {
		return p.at
	}
	return "Config." + field
}

// DefaultPort is the port of Picodata's pgproto listener, used where a host names none.
const DefaultPort = 4327

// DefaultWeight is the weight of a node that no rule of node_weights selects.
const DefaultWeight = 10

// defaultMaxEjection is the default of EjectionMaxDuration.
const defaultMaxEjection = 5 * time.Second

// New returns a Config with every default filled in. It has no host, user or password yet.
func New() *Config {
	return &Config{
		Topology:               true,
		TopologyUpdateInterval: 5 * time.Second,

		AbandonedLimit:   50,
		MaxConnLifetime:  time.Hour,
		MaxConnIdleTime:  10 * time.Minute,
		OverflowIdleTime: 5 * time.Second,
		AcquireTimeout:   30 * time.Second,
		ConnectTimeout:   5 * time.Second,
		DrainTimeout:     30 * time.Second,

		QueryMetadataCacheSize: 1000,

		StatementCacheSize:      64,
		StatementCacheThreshold: 3,
		StripComments:           true,
		MaxRetries:              3,
		FloatGuard:              true,
		UUIDGuard:               true,

		EjectionFailureThreshold: 3,
		EjectionFailureWindow:    10 * time.Second,
		EjectionDuration:         time.Second,
		EjectionMaxDuration:      defaultMaxEjection,

		SSLSNI:                true,
		SSLMinProtocolVersion: "TLSv1.2",

		DeadLeaderTimeout: time.Minute,
		SwitchoverTimeout: 10 * time.Second,
		SuspectAfter:      2 * time.Second,

		MirrorRatio:      1,
		MirrorQueue:      64,
		MirrorQueueBytes: 1 << 20,
	}
}

// Clone returns a deep copy: no slice and no tls.Config is shared. Functions, the logger, the
// clock and the balancer are the caller's values and stay the same ones.
func (c *Config) Clone() *Config {
	if c == nil {
		return nil
	}
	d := *c
	d.Hosts = slices.Clone(c.Hosts)
	d.AllowedTiers = slices.Clone(c.AllowedTiers)
	d.ForbiddenTiers = slices.Clone(c.ForbiddenTiers)
	d.AddressMap = slices.Clone(c.AddressMap)
	d.AllowedNetworks = slices.Clone(c.AllowedNetworks)
	d.PreferZones = slices.Clone(c.PreferZones)
	d.NodeWeights = slices.Clone(c.NodeWeights)
	d.NodeMaxConns = slices.Clone(c.NodeMaxConns)
	d.NodePriorities = slices.Clone(c.NodePriorities)
	d.MirrorMap = slices.Clone(c.MirrorMap)
	d.ServerOptions = slices.Clone(c.ServerOptions)
	d.Tracers = slices.Clone(c.Tracers)
	if c.TLSConfig != nil {
		d.TLSConfig = c.TLSConfig.Clone()
	}
	return &d
}
