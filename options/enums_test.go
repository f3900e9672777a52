package options

import (
	"encoding"
	"reflect"
	"testing"
)

// enum is what all enums of the package are as pointers.
type enum interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

func TestEnumsAreReadBack(t *testing.T) {
	for _, tt := range []struct {
		v     enum
		names []string
	}{
		{new(Mode), modeNames[:]}, {new(InstanceRole), instanceRoleNames[:]}, {new(ReadPreference), readPreferenceNames[:]},
		{new(Forward), forwardNames[:]}, {new(BalanceStrategy), balanceStrategyNames[:]}, {new(Overflow), overflowNames[:]},
		{new(Routing), routingNames[:]}, {new(NoShardScope), noShardScopeNames[:]}, {new(Prepare), prepareNames[:]},
		{new(Transactions), transactionsNames[:]}, {new(SSLMode), sslModeNames[:]}, {new(SSLNegotiation), sslNegotiationNames[:]},
		{new(MirrorMode), mirrorModeNames[:]}, {new(Log), logNames[:]}, {new(NoShard), []string{"balance", "random", "random_healthy", "shard_7", "fail"}},
	} {
		for _, name := range tt.names {
			if err := tt.v.UnmarshalText([]byte(name)); err != nil {
				t.Errorf("%T: %q: %v", tt.v, name, err)
			}
			if got, err := tt.v.MarshalText(); err != nil || string(got) != name {
				t.Errorf("%T: %q is written as %q, %v", tt.v, name, got, err)
			}
		}
		if err := tt.v.UnmarshalText([]byte("no such word")); err == nil {
			t.Errorf("%T reads anything", tt.v)
		}
		if f := reflect.ValueOf(tt.v).Elem(); f.Kind() == reflect.Uint8 {
			f.SetUint(200)
			if got, _ := tt.v.MarshalText(); string(got) != "invalid(200)" {
				t.Errorf("%T(200) is written as %q", tt.v, got)
			}
		}
	}
}
