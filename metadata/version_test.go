package metadata

import "testing"

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"25.6.0-a54cfb72b":               {25, 6, 0},
		"picodata 26.2.1-rc2-dcd72bc91":  {26, 2, 1},
		"26.1.6-0-gabc1234":              {26, 1, 6},
		"  Picodata 26.3.0-142-g812716f": {26, 3, 0},
		"25.2":                           {25, 2, 0},
		"25.5.7.1":                       {25, 5, 7},
		"26.2.1+build":                   {26, 2, 1},
	} {
		if got, ok := ParseVersion(text); !ok || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "picodata", "PostgreSQL 15.0 on x86", "26", "a.b.c", "26.x.1", "1.2.3.4.5", "-1.2.3", "99999999.1.1"} {
		if got, ok := ParseVersion(text); ok || got.Known() {
			t.Errorf("%q is taken for version %v", text, got)
		}
	}
}

func TestVersionFeatures(t *testing.T) {
	for _, c := range []struct {
		version                            string
		buckets, metadata, blocks, forward bool
	}{
		{"25.2.1", false, false, false, false},
		{"25.5.0", false, false, false, false},
		{"25.5.1", true, false, false, false},
		{"25.6.0-a54cfb72b", true, true, false, false},
		{"26.1.1", true, true, true, false},
		{"26.2.1-rc2", true, true, true, true},
		{"27.0.0", true, true, true, true},
	} {
		v, ok := ParseVersion(c.version)
		if !ok {
			t.Fatal(c.version)
		}
		if v.HasBucketFunction() != c.buckets || v.HasQueryMetadata() != c.metadata || v.HasBlocks() != c.blocks || v.HasForward() != c.forward {
			t.Errorf("%s: buckets %v, metadata %v, blocks %v, forward %v", c.version, v.HasBucketFunction(), v.HasQueryMetadata(), v.HasBlocks(), v.HasForward())
		}
		if !(Version{}).Less(v) || v.Less(v) || v.AtLeast(28, 0) {
			t.Errorf("%s: order", c.version)
		}
	}
}

func TestMinVersionOfMixedCluster(t *testing.T) {
	topo := Build(Topology{Instances: []Instance{
		{UUID: "a", State: Online, Version: "26.2.1"},
		{UUID: "b", State: Online, Version: "26.1.4-0-gabc"},
		{UUID: "c", State: Offline, Version: "25.2.1"},
		{UUID: "d", State: Expelled, Version: ""},
	}})
	if got := topo.MinVersion(); got != (Version{26, 1, 4}) {
		t.Errorf("%v, want that of the oldest that is Online", got)
	}
	topo = Build(Topology{Instances: []Instance{{UUID: "a", State: Online, Version: "26.2.1"}, {UUID: "b", State: Online, Version: "nightly"}}})
	if got := topo.MinVersion(); got.Known() {
		t.Errorf("%v, but nobody can say what nightly is", got)
	}
	if got := (*Topology)(nil).MinVersion(); got.Known() {
		t.Error(got)
	}
}
