package options

import (
	"strconv"
	"strings"
)

// The texts of the enums, in the order of their constants. Parser, formatter, documents and
// error texts all read them here.
var (
	modeNames            = [...]string{"discovery", "bootstrap"}
	instanceRoleNames    = [...]string{"any", "leader", "replica"}
	readPreferenceNames  = [...]string{"", "leader", "replica", "any"}
	forwardNames         = [...]string{"", "on", "ro_to_rw", "off"}
	balanceStrategyNames = [...]string{"round_robin", "random", "least_busy", "nearest"}
	overflowNames        = [...]string{"any", "saturated", "off"}
	routingNames         = [...]string{"insert", "keys", "off"}
	noShardScopeNames    = [...]string{"bound", "all"}
	prepareNames         = [...]string{"lazy", "eager"}
	transactionsNames    = [...]string{"reject", "autocommit"}
	sslModeNames         = [...]string{"prefer", "disable", "allow", "require", "verify-ca", "verify-full"}
	sslNegotiationNames  = [...]string{"postgres", "direct"}
	mirrorModeNames      = [...]string{"reads", "all"}
)

// enumText is the text of v, or a form that no parser accepts if v isn't a constant.
func enumText[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "invalid(" + strconv.Itoa(int(v)) + ")"
}

// parseEnum finds text among names. An empty name stands for "not given" and is never found.
func parseEnum[T ~uint8](key string, names []string, text string) (T, error) {
	for i, name := range names {
		if name != "" && name == text {
			return T(i), nil
		}
	}
	return 0, &ConfigError{Key: key, Value: text, Msg: "want " + alternatives(names)}
}

// alternatives lists the texts of an enum for an error or a table.
func alternatives(names []string) string {
	given := make([]string, 0, len(names))
	for _, name := range names {
		if name != "" {
			given = append(given, name)
		}
	}
	if len(given) < 2 {
		return strings.Join(given, "")
	}
	last := len(given) - 1
	return strings.Join(given[:last], ", ") + " or " + given[last]
}

// String is the text of the DSN key mode.
func (v Mode) String() string { return enumText(modeNames[:], v) }

// ParseMode reads discovery, bootstrap.
func ParseMode(text string) (Mode, error) {
	return parseEnum[Mode]("mode", modeNames[:], text)
}

// MarshalText is String for encoders.
func (v Mode) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseMode for decoders.
func (v *Mode) UnmarshalText(text []byte) (err error) {
	*v, err = ParseMode(string(text))
	return err
}

// String is the text of the DSN key instance_role.
func (v InstanceRole) String() string { return enumText(instanceRoleNames[:], v) }

// ParseInstanceRole reads any, leader, replica.
func ParseInstanceRole(text string) (InstanceRole, error) {
	return parseEnum[InstanceRole]("instance_role", instanceRoleNames[:], text)
}

// MarshalText is String for encoders.
func (v InstanceRole) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseInstanceRole for decoders.
func (v *InstanceRole) UnmarshalText(text []byte) (err error) {
	*v, err = ParseInstanceRole(string(text))
	return err
}

// String is the text of the DSN key read_preference; "" if not given.
func (v ReadPreference) String() string { return enumText(readPreferenceNames[:], v) }

// ParseReadPreference reads leader, replica, any in any case, as the server does.
func ParseReadPreference(text string) (ReadPreference, error) {
	v, err := parseEnum[ReadPreference]("read_preference", readPreferenceNames[:], strings.ToLower(text))
	if err != nil {
		return 0, &ConfigError{Key: "read_preference", Value: text, Msg: "want " + alternatives(readPreferenceNames[:])}
	}
	return v, nil
}

// MarshalText is String for encoders.
func (v ReadPreference) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseReadPreference for decoders; an empty text means not given.
func (v *ReadPreference) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*v = 0
		return nil
	}
	*v, err = ParseReadPreference(string(text))
	return err
}

// String is the text of the DSN key forward; "" if not given.
func (v Forward) String() string { return enumText(forwardNames[:], v) }

// ParseForward reads on, ro_to_rw, off. The case matters, as it does to the server, which
// closes the connection without a word on anything else.
func ParseForward(text string) (Forward, error) {
	return parseEnum[Forward]("forward", forwardNames[:], text)
}

// MarshalText is String for encoders.
func (v Forward) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseForward for decoders; an empty text means not given.
func (v *Forward) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*v = 0
		return nil
	}
	*v, err = ParseForward(string(text))
	return err
}

// String is the text of the DSN key balance_strategy.
func (v BalanceStrategy) String() string { return enumText(balanceStrategyNames[:], v) }

// ParseBalanceStrategy reads round_robin, random, least_busy, nearest.
func ParseBalanceStrategy(text string) (BalanceStrategy, error) {
	return parseEnum[BalanceStrategy]("balance_strategy", balanceStrategyNames[:], text)
}

// MarshalText is String for encoders.
func (v BalanceStrategy) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseBalanceStrategy for decoders.
func (v *BalanceStrategy) UnmarshalText(text []byte) (err error) {
	*v, err = ParseBalanceStrategy(string(text))
	return err
}

// String is the text of the DSN key overflow.
func (v Overflow) String() string { return enumText(overflowNames[:], v) }

// ParseOverflow reads any, saturated, off.
func ParseOverflow(text string) (Overflow, error) {
	return parseEnum[Overflow]("overflow", overflowNames[:], text)
}

// MarshalText is String for encoders.
func (v Overflow) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseOverflow for decoders.
func (v *Overflow) UnmarshalText(text []byte) (err error) {
	*v, err = ParseOverflow(string(text))
	return err
}

// String is the text of the DSN key routing.
func (v Routing) String() string { return enumText(routingNames[:], v) }

// ParseRouting reads insert, keys, off.
func ParseRouting(text string) (Routing, error) {
	return parseEnum[Routing]("routing", routingNames[:], text)
}

// MarshalText is String for encoders.
func (v Routing) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseRouting for decoders.
func (v *Routing) UnmarshalText(text []byte) (err error) {
	*v, err = ParseRouting(string(text))
	return err
}

// String is the text of the DSN key no_shard_scope.
func (v NoShardScope) String() string { return enumText(noShardScopeNames[:], v) }

// ParseNoShardScope reads bound, all.
func ParseNoShardScope(text string) (NoShardScope, error) {
	return parseEnum[NoShardScope]("no_shard_scope", noShardScopeNames[:], text)
}

// MarshalText is String for encoders.
func (v NoShardScope) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseNoShardScope for decoders.
func (v *NoShardScope) UnmarshalText(text []byte) (err error) {
	*v, err = ParseNoShardScope(string(text))
	return err
}

// String is the text of the DSN key prepare.
func (v Prepare) String() string { return enumText(prepareNames[:], v) }

// ParsePrepare reads lazy, eager.
func ParsePrepare(text string) (Prepare, error) {
	return parseEnum[Prepare]("prepare", prepareNames[:], text)
}

// MarshalText is String for encoders.
func (v Prepare) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParsePrepare for decoders.
func (v *Prepare) UnmarshalText(text []byte) (err error) {
	*v, err = ParsePrepare(string(text))
	return err
}

// String is the text of the DSN key transactions.
func (v Transactions) String() string { return enumText(transactionsNames[:], v) }

// ParseTransactions reads reject, autocommit.
func ParseTransactions(text string) (Transactions, error) {
	return parseEnum[Transactions]("transactions", transactionsNames[:], text)
}

// MarshalText is String for encoders.
func (v Transactions) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseTransactions for decoders.
func (v *Transactions) UnmarshalText(text []byte) (err error) {
	*v, err = ParseTransactions(string(text))
	return err
}

// String is the text of the DSN key sslmode.
func (v SSLMode) String() string { return enumText(sslModeNames[:], v) }

// ParseSSLMode reads prefer, disable, allow, require, verify-ca, verify-full.
func ParseSSLMode(text string) (SSLMode, error) {
	return parseEnum[SSLMode]("sslmode", sslModeNames[:], text)
}

// MarshalText is String for encoders.
func (v SSLMode) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseSSLMode for decoders.
func (v *SSLMode) UnmarshalText(text []byte) (err error) {
	*v, err = ParseSSLMode(string(text))
	return err
}

// String is the text of the DSN key sslnegotiation.
func (v SSLNegotiation) String() string { return enumText(sslNegotiationNames[:], v) }

// ParseSSLNegotiation reads postgres, direct.
func ParseSSLNegotiation(text string) (SSLNegotiation, error) {
	return parseEnum[SSLNegotiation]("sslnegotiation", sslNegotiationNames[:], text)
}

// MarshalText is String for encoders.
func (v SSLNegotiation) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseSSLNegotiation for decoders.
func (v *SSLNegotiation) UnmarshalText(text []byte) (err error) {
	*v, err = ParseSSLNegotiation(string(text))
	return err
}

// String is the text of the DSN key mirror_mode.
func (v MirrorMode) String() string { return enumText(mirrorModeNames[:], v) }

// ParseMirrorMode reads reads, all.
func ParseMirrorMode(text string) (MirrorMode, error) {
	return parseEnum[MirrorMode]("mirror_mode", mirrorModeNames[:], text)
}

// MarshalText is String for encoders.
func (v MirrorMode) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is ParseMirrorMode for decoders.
func (v *MirrorMode) UnmarshalText(text []byte) (err error) {
	*v, err = ParseMirrorMode(string(text))
	return err
}
