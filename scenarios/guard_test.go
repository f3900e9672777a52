package scenarios_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// guard-floats: A text whose float arguments have fractions in other places than before goes to the server as another text, so that
// the server makes another plan of it. Off, one text is sent for all.
func TestFloatsGetTextsByTheirFractions(t *testing.T) {
	const update = "update t set d = $1, e = $2 where id = $3"
	for _, on := range []bool{true, false} {
		c, db, _ := startDB(t, picotest.Config{}, options.WithFloatGuard(on))
		mustExec(t, db, "create table t (id int primary key, d double, e double) distributed globally")
		for _, args := range [][]any{{7.0, 1.0, 1}, {7.75, 1.0, 1}, {7.0, 1.25, 1}, {7.75, 1.25, 1}, {int64(8), float32(2), 1}, {0.5, nil, 1}, {7.75, 1.0, 1}} {
			mustExec(t, db, update, args...)
		}
		var sent []string
		for _, s := range c.Statements() {
			if strings.HasPrefix(s.SQL, "update t") {
				sent = append(sent, s.SQL)
			}
		}
		distinct := slices.Clone(sent)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		want := 1
		if on {
			want = 4 // neither, d, e, both
		}
		if len(sent) != 7 || len(distinct) != want {
			t.Errorf("guard %v: %d statements of %d texts, want 7 of %d: %q", on, len(sent), len(distinct), want, distinct)
		}
		for _, s := range distinct {
			if strings.TrimRight(s, " ") != update {
				t.Errorf("%q differs in more than blanks at its end", s)
			}
		}
		if on && (sent[0] != update || sent[1] == sent[0] || sent[1] != sent[6] || sent[4] != sent[0] || sent[5] != sent[1]) {
			t.Errorf("%q", sent)
		}
	}
}

// guard-floats-routed: What a server tells of a text's key counts for all forms of the text.
func TestFloatsAndRouting(t *testing.T) {
	_, db, conn := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, d double)")
	for i := range 40 {
		mustExec(t, db, "insert into t values ($1, $2)", i, float64(i)/4)
	}
	if n := conn.Stats().Routing["routed"]; n < 36 {
		t.Errorf("%d of 40 INSERTs were routed: %v", n, conn.Stats().Routing)
	}
}

// guard-refusals: What the server would store as something else, or never read again, isn't sent.
func TestArgumentsThatAServerSpoilsAreRefused(t *testing.T) {
	bad := [16]byte{8: 0xe0}
	for _, tt := range []struct {
		hazard, setting string
		value           any
	}{
		{"float", "float_guard=off", math.NaN()}, {"float", "float_guard=off", 1e19}, {"float", "float_guard=off", float32(1e30)},
		{"float", "float_guard=off", sql.NullFloat64{Float64: 0x1p63, Valid: true}},
		{"uuid", "uuid_guard=off", bad}, {"uuid", "uuid_guard=off", &bad}, {"uuid", "uuid_guard=off", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
	} {
		t.Run(fmt.Sprintf("%T %v", tt.value, tt.value), func(t *testing.T) {
			c, db, _ := startDB(t, picotest.Config{})
			mustExec(t, db, "select 1")
			before := len(c.Statements())
			_, err := db.Exec("insert into t values ($1, $2)", 1, tt.value)
			var e *picodata.GuardError
			if !errors.As(err, &e) || e.Hazard != tt.hazard || e.Ordinal != 2 || e.Setting != tt.setting || !strings.Contains(err.Error(), tt.setting) {
				t.Errorf("%T %v: %v", tt.value, tt.value, err)
			}
			if n := len(c.Statements()) - before; n != 0 {
				t.Errorf("%T %v: %d statements were sent", tt.value, tt.value, n)
			}
		})
	}
	_, db, _ := startDB(t, picotest.Config{}, options.WithFloatGuard(false), options.WithUUIDGuard(false))
	var f sql.NullFloat64
	if err := db.QueryRow("select $1::double", math.NaN()).Scan(&f); err != nil {
		t.Errorf("with float_guard=off: %v", err)
	}
	var s string
	if err := db.QueryRow("select $1::text", "ffffffff-ffff-ffff-ffff-ffffffffffff").Scan(&s); err != nil {
		t.Errorf("with uuid_guard=off: %v", err)
	}
}

// guard-chains: A limit for operators in a row, off by default.
func TestChainsAreRefusedWhereALimitIsSet(t *testing.T) {
	text := "select 'a'" + strings.Repeat("||'a'", 4)
	t.Run("no limit", func(t *testing.T) {
		_, db, _ := startDB(t, picotest.Config{})
		mustExec(t, db, text)
	})
	_, db, _ := startDB(t, picotest.Config{}, options.WithMaxChainedOperators(3))
	var e *picodata.GuardError
	if _, err := db.Exec(text); !errors.As(err, &e) || e.Hazard != "text" || e.Ordinal != 0 || !strings.Contains(err.Error(), "max_chained_operators=0") {
		t.Errorf("%v", err)
	}
	mustExec(t, db, "select 'a'||'b'||'c'")
}

// limits-hint: WithLimits adds an OPTION clause to the statements that may have one.
func TestLimitsOfAStatement(t *testing.T) {
	c, db, _ := startDB(t, picotest.Config{})
	mustExec(t, db, "create table t (id int primary key, n int)")
	ctx := picodata.WithLimits(t.Context(), picodata.Limits{VdbeOpcodeMax: options.NoLimit, MotionRowMax: 100_000})
	for _, text := range []string{"select * from t where id = $1 ; ", "delete from t where id = $1 -- why"} {
		if _, err := db.ExecContext(ctx, text, 1); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	var got []string
	for _, s := range c.Statements() {
		if strings.Contains(s.SQL, "OPTION") {
			got = append(got, s.SQL)
		}
	}
	if want := []string{
		"select * from t where id = $1\nOPTION (sql_vdbe_opcode_max = 0, sql_motion_row_max = 100000)",
		"delete from t where id = $1\nOPTION (sql_vdbe_opcode_max = 0, sql_motion_row_max = 100000)",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := db.ExecContext(ctx, "drop table t"); err == nil || !strings.Contains(err.Error(), "WithLimits") {
		t.Errorf("DDL: %v", err)
	}
	if _, err := db.ExecContext(ctx, "select 1 option (sql_motion_row_max = 5)"); err == nil || !strings.Contains(err.Error(), "OPTION") {
		t.Errorf("two clauses: %v", err)
	}
	if err := db.PingContext(ctx); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

// limits-error: The error of a limit names the setting and how to raise it.
func TestLimitErrorsNameTheSetting(t *testing.T) {
	for setting, text := range map[string]string{
		"sql_vdbe_opcode_max": "sbroad: Reached a limit on max executed vdbe opcodes. Limit: 45000",
		"sql_motion_row_max":  "sbroad: Exceeded maximum number of rows (5000) in virtual table: 5001",
	} {
		c, db, _ := startDB(t, picotest.Config{})
		for _, n := range c.Nodes() {
			n.Inject(picotest.OnExecute(), picotest.ErrorMessage("XX000", text), picotest.SQL("4711"))
		}
		_, err := db.Exec("select $1::int + 4711", 1)
		if !picodata.IsLimit(err) || !strings.Contains(err.Error(), setting) || !strings.Contains(err.Error(), "picodata.WithLimits") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
