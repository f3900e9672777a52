package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// roleCase is one row of the table of roles and preferences.
type roleCase struct {
	preference, forward, role string // "" = not given
	want                      string // the role, or "" for an error
	derived                   bool
	warning                   string
}

var roleTable = []roleCase{
	{"", "", "", "any", false, ""},
	{"", "", "any", "any", false, ""},
	{"", "", "leader", "leader", false, ""},
	{"", "", "replica", "replica", false, "sends every read back to the leader"},

	{"leader", "", "", "leader", true, ""},
	{"leader", "", "any", "any", false, ""},
	{"leader", "", "leader", "leader", false, ""},
	{"leader", "", "replica", "", false, ""},

	{"any", "", "", "any", true, ""},
	{"any", "", "any", "any", false, ""},
	{"any", "", "leader", "leader", false, ""},
	{"any", "", "replica", "replica", false, ""},

	{"replica", "", "", "any", true, ""},
	{"replica", "", "any", "any", false, ""},
	{"replica", "", "leader", "", false, ""},
	{"replica", "", "replica", "replica", false, ""},

	{"", "off", "", "leader", true, ""},
	{"", "off", "any", "any", false, ""},
	{"", "off", "leader", "leader", false, ""},
	{"", "off", "replica", "", false, ""},
	{"leader", "off", "", "leader", true, ""},
	{"leader", "off", "any", "any", false, ""},
	{"leader", "off", "leader", "leader", false, ""},
	{"leader", "off", "replica", "", false, ""},
	{"any", "off", "", "", false, ""},
	{"any", "off", "any", "", false, ""},
	{"any", "off", "leader", "", false, ""},
	{"any", "off", "replica", "", false, ""},
	{"replica", "off", "", "", false, ""},
	{"replica", "off", "any", "", false, ""},
	{"replica", "off", "leader", "", false, ""},
	{"replica", "off", "replica", "", false, ""},
}

// roleRows is the table with the rows of on and ro_to_rw, which derive nothing and contradict nothing.
func roleRows() []roleCase {
	rows := slices.Clone(roleTable)
	for _, row := range roleTable {
		if row.forward == "" {
			for _, forward := range []string{"on", "ro_to_rw"} {
				row.forward = forward
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// giving is a way to give a setting: a piece of a DSN, or an option.
type giving struct {
	name string
	dsn  func(key, value string) string
	opt  func(key, value string) Option
}

var givings = []giving{
	{name: "key", dsn: func(k, v string) string { return k + "=" + v }},
	{name: "key in capitals", dsn: func(k, v string) string { return k + "=" + capitals(k, v) }},
	{name: "options", dsn: func(k, v string) string { return "options=" + k + "=" + v }},
	{name: "options, encoded", dsn: func(k, v string) string { return "options=" + k + "%3D" + v }},
	{name: "options, any case", dsn: func(k, v string) string { return "options=" + strings.ToUpper(k) + "=" + capitals(k, v) }},
	{name: "options, among others", dsn: func(k, v string) string {
		return "options=sql_motion_row_max=7," + k + "%3D" + v + "%2Cpico_query_metadata=true"
	}},
	{name: "options, -c", dsn: func(k, v string) string { return "options=-c%20sql_motion_row_max=7%20-c%20" + k + "=" + v }},
	{name: "options, --", dsn: func(k, v string) string { return "options=--" + strings.ReplaceAll(k, "_", "-") + "=" + v }},
	{name: "Go option", opt: func(k, v string) Option {
		if k == settingForward {
			var f Forward
			_ = f.UnmarshalText([]byte(v))
			return WithForward(f)
		}
		var p ReadPreference
		_ = p.UnmarshalText([]byte(v))
		return WithReadPreference(p)
	}},
	{name: "WithServerOptions", opt: func(k, v string) Option {
		return WithServerOptions(Setting{"sql_motion_row_max", "7"}, Setting{k, v})
	}},
	{name: "Config field", opt: func(k, v string) Option {
		return func(c *Config) error {
			if k == settingForward {
				_ = c.Forward.UnmarshalText([]byte(v))
			} else {
				_ = c.ReadPreference.UnmarshalText([]byte(v))
			}
			return nil
		}
	}},
	{name: "Config.ServerOptions", opt: func(k, v string) Option {
		return func(c *Config) error {
			c.ServerOptions = append(c.ServerOptions, Setting{strings.ToUpper(k), v})
			return nil
		}
	}},
}

// capitals changes the case where the server doesn't mind.
func capitals(key, value string) string {
	if key == settingReadPreference {
		return strings.ToUpper(value)
	}
	return value
}

// give builds a Config with read_preference and forward given in one way and the role in another.
func give(g giving, row roleCase, roleByOption bool) (*Config, error) {
	dsn := "picodata://u@h/?"
	var opts []Option
	for _, s := range []Setting{{settingReadPreference, row.preference}, {settingForward, row.forward}} {
		switch {
		case s.Value == "":
		case g.dsn == nil:
			opts = append(opts, g.opt(s.Name, s.Value))
		case strings.Contains(dsn, "options="):
			dsn += s.Name + "=" + s.Value + "&"
		default:
			dsn += g.dsn(s.Name, s.Value) + "&"
		}
	}
	if row.role != "" {
		if roleByOption {
			var role InstanceRole
			_ = role.UnmarshalText([]byte(row.role))
			opts = append([]Option{WithInstanceRole(role)}, opts...)
		} else {
			dsn = strings.Replace(dsn, "?", "?instance_role="+row.role+"&", 1)
		}
	}
	c, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	if err := c.Apply(opts...); err != nil {
		return nil, err
	}
	return c, c.Validate()
}

func TestRolesAndPreferencesByEveryWay(t *testing.T) {
	for _, row := range roleRows() {
		for _, g := range givings {
			for _, roleByOption := range []bool{false, true} {
				name := fmt.Sprintf("read_preference=%q forward=%q instance_role=%q by %s, role by option %v", row.preference, row.forward, row.role, g.name, roleByOption)
				c, err := give(g, row, roleByOption)
				if row.want == "" {
					checkConflict(t, name, row, g, roleByOption, err)
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if c.InstanceRole.String() != row.want || c.RoleDerived != row.derived {
					t.Errorf("%s: role %s, derived %v, want %s, %v", name, c.InstanceRole, c.RoleDerived, row.want, row.derived)
				}
				if c.ReadPreference.String() != row.preference || c.Forward.String() != row.forward {
					t.Errorf("%s: reads %s, %s", name, c.ReadPreference, c.Forward)
				}
				for _, s := range c.ServerOptions {
					if s.Name == settingReadPreference || s.Name == settingForward {
						t.Errorf("%s: %s is left in ServerOptions", name, s.Name)
					}
				}
				if warnings := strings.Join(c.Warnings(), "\n"); row.warning != "" && !strings.Contains(warnings, row.warning) ||
					row.warning == "" && strings.Contains(warnings, "instance_role") {
					t.Errorf("%s: warnings %q, want one about %q", name, warnings, row.warning)
				}
			}
		}
	}
}

// checkConflict wants an error that names both settings, both places and a way out.
func checkConflict(t *testing.T, name string, row roleCase, g giving, roleByOption bool, err error) {
	t.Helper()
	var e *ConfigError
	if !errors.As(err, &e) {
		t.Errorf("%s: %v, want a *ConfigError", name, err)
		return
	}
	text := err.Error()
	named := 0
	for _, s := range []Setting{{"read_preference", row.preference}, {"forward", row.forward}, {"instance_role", row.role}} {
		if s.Value != "" && strings.Contains(text, s.Name+"="+s.Value+" (") {
			named++
		}
	}
	if named != 2 {
		t.Errorf("%s: names %d of the settings with their places, want 2: %s", name, named, text)
	}
	if !strings.Contains(text, "; use ") {
		t.Errorf("%s: no way out: %s", name, text)
	}
	var places []string
	switch {
	case g.dsn != nil && strings.Contains(g.name, "options"):
		places = append(places, "options=, DSN, byte")
	case g.dsn != nil:
		places = append(places, "(DSN, byte")
	case g.name == "Go option":
		places = append(places, "(With")
	case g.name == "Config field":
		places = append(places, "(Config.")
	default:
		places = append(places, "ServerOptions)")
	}
	if strings.Contains(text, "instance_role="+row.role+" (") {
		if roleByOption {
			places = append(places, "(WithInstanceRole)")
		} else {
			places = append(places, "instance_role="+row.role+" (DSN, byte 17)")
		}
	}
	for _, place := range places {
		if !strings.Contains(text, place) {
			t.Errorf("%s: doesn't name the place %q: %s", name, place, text)
		}
	}
}

func TestTwoValuesOfOneSettingNameBothPlaces(t *testing.T) {
	for _, tt := range []struct {
		dsn  string
		opts []Option
		want []string
	}{
		{"picodata://u@h/?read_preference=any&options=read_preference=leader", nil, []string{"DSN, byte 17", "options=, DSN, byte 37", "read_preference=any", "read_preference=leader"}},
		{"picodata://u@h/?options=-c%20forward=on&forward=off", nil, []string{"options=, DSN, byte 17", "DSN, byte 41"}},
		{"picodata://u@h/?read_preference=any", []Option{WithReadPreference(ReadPreferenceLeader)}, []string{"DSN, byte 17", "WithReadPreference"}},
		{"picodata://u@h/?options=read_preference=any", []Option{WithReadPreference(ReadPreferenceLeader)}, []string{"options=, DSN, byte 17", "WithReadPreference"}},
		{"picodata://u@h/", []Option{WithForward(ForwardOn), WithServerOptions(Setting{"forward", "off"})}, []string{"WithForward", "WithServerOptions"}},
		{"picodata://u@h/?forward=on", []Option{func(c *Config) error { c.Forward = ForwardROToRW; return nil }, WithForward(ForwardOff)}, []string{"Config.Forward", "WithForward"}},
	} {
		c, err := ParseDSN(tt.dsn)
		if err == nil {
			err = c.Apply(tt.opts...)
		}
		if err == nil {
			t.Errorf("%s: no error", tt.dsn)
			continue
		}
		for _, want := range append(tt.want, "drop one of them") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwants %q", tt.dsn, err, want)
			}
		}
	}
}

func TestDerivedRoleFollowsWhatItCameFrom(t *testing.T) {
	c, err := ParseDSN("picodata://u@h/?read_preference=leader")
	if err != nil || c.InstanceRole != RoleLeader {
		t.Fatalf("ParseDSN: %v, %v", c, err)
	}
	if err := c.Apply(WithReadPreference(ReadPreferenceUnset), WithReadPreference(ReadPreferenceReplica)); err != nil {
		t.Fatal(err)
	}
	if c.InstanceRole != RoleAny || !c.RoleDerived {
		t.Errorf("after another read_preference: %s, derived %v, want any, true", c.InstanceRole, c.RoleDerived)
	}
	c.InstanceRole = RoleReplica // as a program may do
	if err := c.Normalize(); err != nil || c.InstanceRole != RoleReplica || c.RoleDerived {
		t.Errorf("after an assignment: %s, derived %v, %v, want replica, false", c.InstanceRole, c.RoleDerived, err)
	}
	before := c.Clone()
	if err := c.Normalize(); err != nil || !sameConfig(before, c) {
		t.Errorf("a second Normalize changed %+v to %+v, %v", before, c, err)
	}
}

func TestAnOptionMaySettleWhatTheOnesBeforeItLeftOpen(t *testing.T) {
	c, err := ParseDSN("picodata://u@h/?instance_role=leader")
	if err != nil {
		t.Fatal(err)
	}
	err = c.Apply(WithReadPreference(ReadPreferenceReplica), WithForward(ForwardOn), WithServerOptions(), WithInstanceRole(RoleAny))
	if err != nil || c.InstanceRole != RoleAny || c.ReadPreference != ReadPreferenceReplica {
		t.Errorf("%v, %v", c, err)
	}
}

func TestSameValueTwiceIsNoContradiction(t *testing.T) {
	c, err := ParseDSN("picodata://u@h/?read_preference=any&options=read_preference=ANY,forward=on&forward=on")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(WithReadPreference(ReadPreferenceAny)); err != nil {
		t.Error(err)
	}
	if got, want := c.StartupOptions(false, false), "read_preference=any,forward=on"; got != want {
		t.Errorf("StartupOptions = %q, want %q", got, want)
	}
}
