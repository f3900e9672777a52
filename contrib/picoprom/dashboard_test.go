package picoprom

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		RefID string `json:"refId"`
		Expr  string
	}
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
}

type dashboard struct {
	Title         string
	UID           string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct {
			Name  string
			Query any
		}
	}
}

func load(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(Dashboard, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) < 10 || d.Title == "" || d.UID == "" {
		t.Fatalf("no dashboard: %d panels, title %q, uid %q", len(d.Panels), d.Title, d.UID)
	}
	return d
}

func TestDashboardPanels(t *testing.T) {
	d := load(t)
	ids := map[int]string{}
	cells := map[[2]int]string{}
	for _, p := range d.Panels {
		if other, twice := ids[p.ID]; twice || p.ID == 0 {
			t.Errorf("panel %q has the id %d, as %q", p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		if p.Title == "" || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q lies at %+v", p.ID, p.Title, p.GridPos)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[cell]; taken {
					t.Fatalf("%q lies on %q", p.Title, other)
				}
				cells[cell] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%q asks for nothing", p.Title)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] || q.Expr == "" {
				t.Errorf("%q: target %q is there twice, or empty", p.Title, q.RefID)
			}
			refs[q.RefID] = true
			for open, closing := range map[string]string{"(": ")", "{": "}", "[": "]"} {
				if strings.Count(q.Expr, open) != strings.Count(q.Expr, closing) {
					t.Errorf("%q: %s doesn't close", p.Title, q.Expr)
				}
			}
		}
	}
}

var (
	metricName  = regexp.MustCompile(prefix + `[a-z_]+`)
	grouping    = regexp.MustCompile(`by \(([a-z, ]+)\)`)
	selector    = regexp.MustCompile(`(` + prefix + `[a-z_]+)\{([^}]*)\}`)
	labelInside = regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)`)
)

// TestDashboardMetrics: it asks for metrics that there are, by labels that they have, and all that there are show.
func TestDashboardMetrics(t *testing.T) {
	d := load(t)
	known := map[string]Metric{}
	for _, m := range Metrics() {
		if m.Type == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				h := m
				h.Labels = append(slices.Clone(m.Labels), "le")
				known[m.Name+suffix] = h
			}
			continue
		}
		known[m.Name] = m
	}
	shown := map[string]bool{}
	var queries []string
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			queries = append(queries, q.Expr)
		}
	}
	for _, v := range d.Templating.List {
		queries = append(queries, fmt.Sprint(v.Query))
	}
	for _, q := range queries {
		for _, name := range metricName.FindAllString(q, -1) {
			m, ok := known[name]
			if !ok {
				t.Errorf("%s: nobody exports %s", q, name)
				continue
			}
			shown[m.Name] = true
			if m.Type != "gauge" && strings.Contains(q, name+"{") && !strings.Contains(q, "rate(") && !strings.Contains(q, "increase(") {
				t.Errorf("%s: %s is a %s and needs a rate", q, name, m.Type)
			}
			for _, g := range grouping.FindAllStringSubmatch(q, -1) {
				for _, label := range strings.Split(g[1], ", ") {
					if !slices.Contains(m.Labels, label) {
						t.Errorf("%s: %s has no label %s", q, name, label)
					}
				}
			}
		}
		for _, s := range selector.FindAllStringSubmatch(q, -1) {
			for _, l := range labelInside.FindAllStringSubmatch(s[2], -1) {
				if l[1] != "job" && !slices.Contains(known[s[1]].Labels, l[1]) {
					t.Errorf("%s: %s has no label %s", q, s[1], l[1])
				}
			}
		}
	}
	for _, m := range Metrics() {
		if !shown[m.Name] {
			t.Errorf("%s isn't shown", m.Name)
		}
	}
}
