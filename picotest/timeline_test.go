package picotest_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picodata/go-picodata/picotest"
)

// The timelines of testdata/live/failover-*.txt: what an instance saw in the system tables after each blow. What
// is compared is where each row stands when all has settled, and whether a restart went by way of the same states.

var (
	timelineEvent   = regexp.MustCompile(`\[i\d sees\] (instance|replicaset|tier) (\w+): (\(.*\)) -> (\(.*\))$`)
	timelineMasters = regexp.MustCompile(`'(\w+_\d)': '(i\d)'`)
	timelineItem    = regexp.MustCompile(`'([^']*)'`)
	timelineSeconds = regexp.MustCompile(`[\d.]+s$`)
)

// tableRow is a row as the recorder printed it. Numbers count from where the row was before a blow.
type tableRow []string

func recordedRow(text string) tableRow {
	var row tableRow
	for _, m := range timelineItem.FindAllStringSubmatch(text, -1) {
		row = append(row, timelineSeconds.ReplaceAllString(m[1], "N s"))
	}
	return row
}

// since writes a row with its versions and incarnations relative to an older one.
func (r tableRow) since(old tableRow) string {
	out := make([]string, len(r))
	for i, v := range r {
		out[i] = v
		n, errN := number(v)
		o, errO := number(old[i])
		switch {
		case errN != nil || errO != nil:
		case strings.HasPrefix(v, "["):
			out[i] = fmt.Sprintf("%s%+d", v[:strings.Index(v, ",")+1], n-o)
		default:
			out[i] = fmt.Sprintf("%+d", n-o)
		}
	}
	return strings.Join(out, " ")
}

// number is that of a version, or the incarnation of a state.
func number(v string) (int, error) {
	if strings.HasPrefix(v, "[") {
		v = strings.Trim(v[strings.Index(v, ",")+1:], "] ")
	}
	return strconv.Atoi(v)
}

// simulatedRows are all rows of a cluster, in the recorder's form.
func simulatedRows(t *testing.T, c *picotest.Cluster) map[string]tableRow {
	t.Helper()
	rows := map[string]tableRow{}
	for kind, sql := range map[string]string{
		"instance": "select name, current_state, target_state, target_state_reason from _pico_instance",
		"replicaset": "select name, current_master_name, target_master_name, master_change_counter, state, " +
			"current_config_version, target_config_version from _pico_replicaset",
		"tier": "select name, current_vshard_config_version, target_vshard_config_version from _pico_tier",
	} {
		list, err := c.Query(sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, values := range list {
			var row tableRow
			for _, v := range values[1:] {
				row = append(row, timelineSeconds.ReplaceAllString(fmt.Sprint(v), "N s"))
			}
			rows[kind+" "+fmt.Sprint(values[0])] = row
		}
	}
	return rows
}

// phase is what followed one blow.
type phase struct {
	blow        string
	first, last map[string]tableRow // of the rows that changed: before, and when all had settled
	target      map[string]bool     // instances that were seen Offline with the target Online
}

func readTimeline(t *testing.T, name string) (masters map[string]string, phases []*phase) {
	t.Helper()
	text, err := os.ReadFile("../testdata/live/" + name)
	if err != nil {
		t.Fatal(err)
	}
	masters = map[string]string{}
	observer := ""
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSpace(l)
		if strings.Contains(l, " masters") && len(masters) == 0 {
			for _, m := range timelineMasters.FindAllStringSubmatch(l, -1) {
				masters[m[1]] = m[2]
			}
		}
		if _, blow, ok := strings.Cut(l, "### "); ok {
			phases = append(phases, &phase{blow: blow, first: map[string]tableRow{}, last: map[string]tableRow{}, target: map[string]bool{}})
		}
		m := timelineEvent.FindStringSubmatch(l)
		if m == nil || len(phases) == 0 {
			continue
		}
		if who := l[strings.Index(l, "[") : strings.Index(l, "]")+1]; observer == "" || observer == who {
			observer = who
		} else {
			continue // one observer is enough, and two are never in step
		}
		p, key := phases[len(phases)-1], m[1]+" "+m[2]
		if p.first[key] == nil {
			p.first[key] = recordedRow(m[3])
		}
		p.last[key] = recordedRow(m[4])
		if m[1] == "instance" && strings.Contains(m[4], `'["Offline",`) && strings.Contains(m[4], `'["Online",`) {
			p.target[m[2]] = true
		}
	}
	return masters, phases
}

func TestTimelines(t *testing.T) {
	for _, name := range []string{
		"failover-cold-kill.txt", "failover-expel.txt", "failover-master2-kill-60s-client-timeout.txt", "failover-master2-kill.txt",
		"failover-master2-stop.txt", "failover-master2-term.txt", "failover-raftleader-kill.txt", "failover-raftleader-term.txt",
		"failover-replica2-kill.txt", "failover-replica2-term.txt",
	} {
		t.Run(name, func(t *testing.T) {
			masters, phases := readTimeline(t, name)
			if len(phases) != 2 || len(masters) != 3 {
				t.Fatalf("%d blows and %d leaders were read", len(phases), len(masters))
			}
			clock := picotest.NewManualClock(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
			c := picotest.Start(t, picotest.Config{Version: "25.6", Clock: clock, StartWindow: -1, Tiers: []picotest.Tier{
				{Name: "default", Replicasets: 2, ReplicationFactor: 2}, {Name: "cold"},
			}})
			for rs, leader := range masters {
				c.SwitchLeader(rs, leader).Finish()
			}
			for _, p := range phases {
				before := simulatedRows(t, c)
				var during map[string]tableRow
				words := strings.Fields(p.blow)
				node := func() *picotest.Node { return c.Node(words[1]) }
				switch words[0] {
				case "SIGKILL":
					node().Kill()
				case "SIGTERM":
					node().Stop()
				case "SIGSTOP":
					node().Freeze()
				case "SIGCONT":
					c.Node("i4").Thaw()
				case "restart":
					node().Start()
					during = simulatedRows(t, c)
					node().Online()
				case "switchover:":
					if err := c.Exec("update _pico_replicaset set target_master_name = 'i4' where name = 'default_2'"); err != nil {
						t.Fatal(err)
					}
					clock.Advance(time.Second) // nothing began yet, or it ends
					c.SwitchLeader("default_2", "i4").Finish()
				case "picodata":
					if err := c.Expel(words[2]); err != nil {
						t.Fatal(err)
					}
				default:
					t.Fatalf("blow %q", p.blow)
				}
				clock.Advance(40 * time.Second)
				after := simulatedRows(t, c)
				got, want := map[string]string{}, map[string]string{}
				for key, row := range after {
					if !slices.Equal(row, before[key]) {
						got[key] = row.since(before[key])
					}
				}
				for key, row := range p.last {
					want[key] = row.since(p.first[key])
				}
				if !maps.Equal(got, want) {
					t.Errorf("%s\n got %v\nwant %v", p.blow, got, want)
				}
				for name := range p.target {
					row := during["instance "+name]
					if row == nil || !strings.HasPrefix(row[0], `["Offline",`) || !strings.HasPrefix(row[1], `["Online",`) || row[2] != "wakeup" {
						if words[0] == "restart" {
							t.Errorf("%s: %s was %v on its way", p.blow, name, row)
						}
					}
				}
			}
		})
	}
}
