package metadata

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// parseState reads current_state or target_state. Servers write ["Online",5], variant and
// incarnation; some are said to write {"Online":5}. A bare "Online" is understood too. What follows
// the incarnation is ignored. An unknown variant is kept as it is.
func parseState(raw string) (State, uint64, error) {
	if state, n, ok := plainState(raw); ok {
		return state, n, nil
	}
	return parseAnyState(raw)
}

// plainState reads the form that every known server writes, ["Online",5] without a space,
// at a fraction of the cost: a thousand instances have two thousand states at each refresh.
func plainState(raw string) (State, uint64, bool) {
	rest, ok := strings.CutPrefix(raw, `["`)
	name, rest, closed := strings.Cut(rest, `",`)
	digits, ended := strings.CutSuffix(rest, "]")
	if !ok || !closed || !ended || name == "" || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return "", 0, false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "", 0, false
		}
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return "", 0, false
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return State(name), n, err == nil
}

func parseAnyState(raw string) (State, uint64, error) {
	bad := func() (State, uint64, error) {
		return "", 0, fmt.Errorf("state %q is not of the form [\"Online\",1]", clip(raw))
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) == nil {
		var name string
		if len(list) == 0 || json.Unmarshal(list[0], &name) != nil || name == "" {
			return bad()
		}
		var n uint64
		if len(list) > 1 && json.Unmarshal(list[1], &n) != nil {
			n = 0 // the variant alone decides
		}
		return State(name), n, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) == nil {
		if len(object) != 1 {
			return bad()
		}
		for name, v := range object {
			var n uint64
			if name == "" {
				return bad()
			}
			if json.Unmarshal(v, &n) != nil {
				n = 0
			}
			return State(name), n, nil
		}
	}
	var name string
	if json.Unmarshal([]byte(raw), &name) == nil && name != "" {
		return State(name), 0, nil
	}
	return bad()
}

// clip shortens what a server sent for an error text.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
