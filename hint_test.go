package picodata

import (
	"reflect"
	"strings"
	"testing"
)

func TestIn(t *testing.T) {
	for _, tt := range []struct {
		first  int
		values []int
		list   string
		args   []any
	}{
		{1, nil, "(NULL)", nil},
		{1, []int{7}, "($1)", []any{7}},
		{2, []int{7, 8}, "($2,$3)", []any{7, 8}},
		{3, []int{7, 8, 9}, "($3,$4,$5,$6)", []any{7, 8, 9, 9}},
	} {
		list, args := In(tt.first, tt.values)
		if list != tt.list || !reflect.DeepEqual(args, tt.args) {
			t.Errorf("In(%d, %v) = %s, %v", tt.first, tt.values, list, args)
		}
	}
	texts := map[string]bool{}
	for n := 1; n <= 1000; n++ {
		list, args := In(1, make([]string, n))
		if strings.Count(list, "$") != len(args) || len(args) < n {
			t.Fatalf("%d values: %d places, %d arguments", n, strings.Count(list, "$"), len(args))
		}
		texts[list] = true
	}
	if len(texts) != 11 {
		t.Errorf("1000 lengths make %d texts", len(texts))
	}
	if _, args := In(10, make([]int, 40_000)); len(args) != 65_526 {
		t.Errorf("%d arguments, want what fits beside nine others", len(args))
	}
}
