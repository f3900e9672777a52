package options

import (
	"context"
	"crypto/tls"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// sourceFiles parses the package without its tests.
func sourceFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// packageFuncs returns the names of the exported functions of the package that are no methods.
func packageFuncs(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range sourceFiles(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

func TestEveryFieldHasAnOption(t *testing.T) {
	names := packageFuncs(t)
	optionOf := map[string]string{"RoleDerived": ""}
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() {
			continue
		}
		want, special := optionOf[f.Name]
		if !special {
			want = "With" + f.Name
		}
		if want != "" && !names[want] {
			t.Errorf("Config.%s has no option %s", f.Name, want)
		}
	}
	for _, name := range []string{"WithPasswordFunc", "WithDialFunc", "WithTLSConfig", "WithLogger", "WithBalancer", "WithClock"} {
		if !names[name] {
			t.Errorf("no %s", name)
		}
	}
	for _, k := range Keys() {
		if !names[k.Option] {
			t.Errorf("key %s: no option %s", k.Name, k.Option)
		}
	}
}

// TestOptionsSetTheirField calls each option with a value other than the default: its field must change, and no other.
func TestOptionsSetTheirField(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no") }
	password := func(context.Context) (string, error) { return "p", nil }
	for field, opt := range map[string]Option{
		"Hosts": WithHosts(Host{"h", 1}), "Database": WithDatabase("x"), "User": WithUser("x"), "Password": WithPassword("x"),
		"PassFile": WithPassFile("x"), "ApplicationName": WithApplicationName("x"), "Mode": WithMode(Bootstrap),
		"Topology": WithTopology(false), "TopologyUpdateInterval": WithTopologyUpdateInterval(1),
		"InstanceRole": WithInstanceRole(RoleLeader), "ReadPreference": WithReadPreference(ReadPreferenceAny),
		"Forward": WithForward(ForwardOn), "AllowedTiers": WithAllowedTiers("x"), "ForbiddenTiers": WithForbiddenTiers("x"),
		"AddressMap": WithAddressMap(Mapping{"a", "b"}), "AllowedNetworks": WithAllowedNetworks(mustPrefix("10.0.0.0/8")),
		"BalanceStrategy": WithBalanceStrategy(Random), "PreferZones": WithPreferZones("a=b"),
		"NodeWeights": WithNodeWeights(NodeRule{"a", 1}), "NodeMaxConns": WithNodeMaxConns(NodeRule{"a", 1}),
		"NodePriorities": WithNodePriorities(NodeRule{"a", 1}), "Overflow": WithOverflow(OverflowOff), "MaxConns": WithMaxConns(1),
		"MaxConnsPerInstance": WithMaxConnsPerInstance(1), "MinIdleConnsPerInstance": WithMinIdleConnsPerInstance(1),
		"AbandonedLimit": WithAbandonedLimit(1), "MaxConnLifetime": WithMaxConnLifetime(1), "MaxConnIdleTime": WithMaxConnIdleTime(1), "OverflowIdleTime": WithOverflowIdleTime(1),
		"AcquireTimeout": WithAcquireTimeout(1), "ConnectTimeout": WithConnectTimeout(1), "DrainTimeout": WithDrainTimeout(1),
		"Routing": WithRouting(RoutingOff), "RoutingAcquireTimeout": WithRoutingAcquireTimeout(1),
		"QueryMetadataCacheSize": WithQueryMetadataCacheSize(1), "NoShard": WithNoShard(NoShard{Behavior: NoShardFail}),
		"NoShardScope": WithNoShardScope(NoShardAll), "Prepare": WithPrepare(PrepareEager), "StatementCacheSize": WithStatementCacheSize(1),
		"StatementCacheThreshold": WithStatementCacheThreshold(1), "StripComments": WithStripComments(false),
		"Transactions": WithTransactions(TransactionsAutocommit), "MaxRetries": WithMaxRetries(1),
		"VdbeOpcodeMax": WithVdbeOpcodeMax(NoLimit), "MotionRowMax": WithMotionRowMax(7), "Log": WithLog(LogStderr),
		"FloatGuard": WithFloatGuard(false), "UUIDGuard": WithUUIDGuard(false), "MaxChainedOperators": WithMaxChainedOperators(1),
		"StuckStatementTimeout": WithStuckStatementTimeout(1), "DeadLeader": WithDeadLeader(1), "DeadLeaderTimeout": WithDeadLeaderTimeout(1), "StaleReads": WithStaleReads(1), "SplitInserts": WithSplitInserts(true), "SwitchoverTimeout": WithSwitchoverTimeout(1), "SuspectAfter": WithSuspectAfter(1), "EjectionFailureThreshold": WithEjectionFailureThreshold(1),
		"EjectionFailureWindow": WithEjectionFailureWindow(1), "EjectionDuration": WithEjectionDuration(1),
		"EjectionMaxDuration": WithEjectionMaxDuration(1), "SSLMode": WithSSLMode(SSLRequire), "SSLRootCert": WithSSLRootCert("x"),
		"SSLCert": WithSSLCert("x"), "SSLKey": WithSSLKey("x"), "SSLPassword": WithSSLPassword("x"), "SSLSNI": WithSSLSNI(false),
		"SSLNegotiation": WithSSLNegotiation(SSLDirect), "SSLMinProtocolVersion": WithSSLMinProtocolVersion("x"),
		"SSLMaxProtocolVersion": WithSSLMaxProtocolVersion("x"), "TLSServerName": WithTLSServerName("x"),
		"AllowCleartextPassword": WithAllowCleartextPassword(true), "Mirror": WithMirror("x"), "MirrorMap": WithMirrorMap(Mapping{"a", "b"}),
		"MirrorMode": WithMirrorMode(MirrorAll), "MirrorRatio": WithMirrorRatio(0.5), "MirrorQueue": WithMirrorQueue(1),
		"MirrorQueueBytes": WithMirrorQueueBytes(1), "MirrorCompare": WithMirrorCompare(true),
		"ServerOptions": WithServerOptions(Setting{"a", "b"}), "PasswordFunc": WithPasswordFunc(password), "TLSConfig": WithTLSConfig(&tls.Config{}),
		"DialFunc": WithDialFunc(dial), "Logger": WithLogger(testLogger(t)), "Clock": WithClock(SystemClock{}),
		"Balancer": WithBalancer(first{}), "NoticeHandler": WithNoticeHandler(func(Notice) {}),
		"Tracers": WithTracers(1),
	} {
		c := New()
		if err := opt(c); err != nil {
			t.Errorf("%s: %v", field, err)
		}
		before, after := reflect.ValueOf(*New()), reflect.ValueOf(*c)
		for i := range before.NumField() {
			name := before.Type().Field(i).Name
			if name == "origin" {
				continue
			}
			changed := !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface())
			derived := name == "InstanceRole" || name == "RoleDerived"
			if changed != (name == field) && !derived {
				t.Errorf("the option for %s: %s changed: %v", field, name, changed)
			}
		}
	}
}

func TestOptionsShareNoMemoryWithTheirArguments(t *testing.T) {
	tiers := []string{"a"}
	opt := WithAllowedTiers(tiers...)
	tiers[0] = "b"
	c, d := New(), New()
	if err := errors.Join(c.Apply(opt), d.Apply(opt)); err != nil {
		t.Fatal(err)
	}
	c.AllowedTiers[0] = "c"
	if d.AllowedTiers[0] != "a" {
		t.Errorf("AllowedTiers = %v, want [a]", d.AllowedTiers)
	}
}

func TestApplyStopsAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	c := New()
	err := c.Apply(WithMaxConns(1), func(*Config) error { return broken }, WithMaxConns(2))
	if !errors.Is(err, broken) || c.MaxConns != 1 {
		t.Errorf("Apply = %v, MaxConns %d", err, c.MaxConns)
	}
}

// TestCloneIsDeep fills every field, clones, and overwrites all that the original's fields point to.
func TestCloneIsDeep(t *testing.T) {
	c, err := ParseDSN("picodata://u:p@h1,h2/?allowed_tiers=a&forbidden_tiers=b&address_map=a%3Eb&allowed_networks=10.0.0.0/8&prefer_zones=a=b&node_weights=a=1&node_max_conns=a=1&node_priorities=a=1&mirror_map=a%3Eb&options=a=b")
	if err != nil {
		t.Fatal(err)
	}
	c.TLSConfig = &tls.Config{ServerName: "a"}
	c.Tracers = []any{1}
	d := c.Clone()
	if !reflect.DeepEqual(c.TLSConfig.ServerName, d.TLSConfig.ServerName) || !sameConfig(withoutTLS(c), withoutTLS(d)) {
		t.Fatalf("Clone differs: %s, %s", c, d)
	}
	want := d.FormatDSN()
	c.TLSConfig.ServerName = "b"
	v := reflect.ValueOf(c).Elem()
	slices := 0
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && v.Type().Field(i).IsExported() {
			slices++
			if f.Len() == 0 {
				t.Errorf("Config.%s isn't filled: the test doesn't see whether Clone shares it", v.Type().Field(i).Name)
				continue
			}
			f.Index(0).SetZero()
		}
	}
	if got := d.FormatDSN(); got != want || d.TLSConfig.ServerName != "a" || slices < 10 {
		t.Errorf("a change of the original changed the clone: %s, want %s", got, want)
	}
	if (*Config)(nil).Clone() != nil {
		t.Error("Clone of nil isn't nil")
	}
}

func withoutTLS(c *Config) *Config {
	c = c.Clone()
	c.TLSConfig = nil
	return c
}
