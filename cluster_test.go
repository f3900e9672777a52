package picodata

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/metadata"
)

// A fixed list's servers are judged by those that answered before. Each step is a login, in order.
func TestKin(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	cluster := func(members ...string) func(string) (string, error) {
		return func(sql string) (string, error) {
			n := 0
			for _, m := range members {
				if strings.Contains(sql, "'"+m+"'") {
					n++
				}
			}
			return fmt.Sprint(n), nil
		}
	}
	fails := func(err error) func(string) (string, error) {
		return func(string) (string, error) { return "", err }
	}
	denied := &pq.Error{Code: "XX000", Message: "AccessDenied: Read access to space '_pico_instance' is denied for user 'u'"}
	type login struct {
		uuid string
		ask  func(string) (string, error)
		want string // "": taken; "stranger"; "error"; "unasked"
	}
	for name, logins := range map[string][]login{
		"one cluster":             {{id(1), nil, ""}, {id(1), nil, ""}, {id(2), cluster(id(1), id(2)), ""}, {id(2), nil, ""}},
		"all replaced one by one": {{id(1), nil, ""}, {id(2), cluster(id(1), id(2)), ""}, {id(3), cluster(id(2), id(3)), ""}, {id(4), cluster(id(3), id(4)), ""}},
		"another cluster":         {{id(1), nil, ""}, {id(7), cluster(id(7), id(8)), "stranger"}, {id(2), cluster(id(1), id(2)), ""}, {id(7), cluster(id(7), id(8)), "stranger"}},
		"PostgreSQL in a cluster": {{id(1), nil, ""}, {"", nil, "stranger"}},
		"PostgreSQL":              {{"", nil, ""}, {"", nil, "unasked"}, {id(1), nil, "unasked"}},
		"may not ask":             {{id(1), nil, ""}, {id(2), fails(denied), ""}, {id(2), nil, ""}},
		"lost while asked":        {{id(1), nil, ""}, {id(2), fails(io.EOF), "error"}, {id(2), cluster(id(1), id(2)), ""}},
		"words for a uuid":        {{"x') OR true --", nil, "stranger"}, {id(1), nil, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var k kin
			for i, l := range logins {
				judge := k.identify("h:1")
				if (judge == nil) != (l.want == "unasked") {
					t.Fatalf("login %d: asked %v", i, judge != nil)
				}
				if judge == nil {
					continue
				}
				ask := l.ask
				if ask == nil {
					ask = func(sql string) (string, error) { t.Errorf("login %d: asked %q", i, sql); return "", nil }
				}
				err := judge(l.uuid, ask)
				var stranger *metadata.IdentityError
				switch l.want {
				case "":
					if err != nil {
						t.Errorf("login %d: %v", i, err)
					}
				case "stranger":
					if !errors.As(err, &stranger) || stranger.Got != l.uuid || stranger.Address != "h:1" {
						t.Errorf("login %d: %v", i, err)
					}
				case "error":
					if err == nil || errors.As(err, &stranger) {
						t.Errorf("login %d: %v", i, err)
					}
				}
			}
		})
	}
	t.Run("bounded", func(t *testing.T) {
		var k kin
		for i := range 3 * mostKin {
			if err := k.identify("h:1")(id(i), func(string) (string, error) { return "1", nil }); err != nil {
				t.Fatal(err)
			}
		}
		if len(k.known) != mostKin || !slices.Contains(k.known, id(3*mostKin-1)) {
			t.Errorf("%d known", len(k.known))
		}
	})
}
