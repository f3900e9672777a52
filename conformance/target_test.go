package conformance

import (
	"net"
	"strconv"
	"testing"
)

func TestTargetsFollowTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		image, dsn, admin string
		want              string // the first target's name; "" = an error
		count             int
	}{
		{"", "", "", "picotest-" + simulated[0], len(simulated)},
		{"", "picodata://a@b/", "", "dsn", 1},
		{"", "picodata://a@b/", "picodata://admin@b/", "dsn", 1},
		{"picodata:26.2.1", "", "", "container", 1},
		{"picodata:26.2.1", "picodata://a@b/", "", "", 0},
		{"", "", "picodata://admin@b/", "", 0},
	} {
		t.Setenv("PICODATA_IMAGE", c.image)
		t.Setenv("PICODATA_DSN", c.dsn)
		t.Setenv("PICODATA_ADMIN_DSN", c.admin)
		got, err := Targets()
		if (err != nil) != (c.want == "") || len(got) != c.count || len(got) > 0 && got[0].Name != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

func TestSplitImage(t *testing.T) {
	for image, want := range map[string][2]string{
		"picodata":                           {"picodata", "latest"},
		"picodata:26.2.1":                    {"picodata", "26.2.1"},
		"registry.example:5000/picodata":     {"registry.example:5000/picodata", "latest"},
		"registry.example:5000/picodata:dev": {"registry.example:5000/picodata", "dev"},
	} {
		if r, tag := splitImage(image); r != want[0] || tag != want[1] {
			t.Errorf("%s: %s, %s", image, r, tag)
		}
	}
}

func TestFreePortsAreConsecutiveAndFree(t *testing.T) {
	ports, err := freePorts(8)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range ports {
		if p != ports[0]+i {
			t.Errorf("%v", ports)
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[3])))
	if err != nil {
		t.Skip("somebody took the port meanwhile")
	}
	defer l.Close()
	again, err := freePorts(8)
	if err != nil || again[0] <= ports[3] && ports[3] <= again[7] {
		t.Errorf("%v hold %d, which is taken (%v)", again, ports[3], err)
	}
}
