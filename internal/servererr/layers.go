package servererr

import (
	"encoding/json"
	"strings"
)

// peelAll peels the wrappings off a message: "sbroad: box error: ProcLua: {json}", whose
// "message" begins "Error on replicaset <uuid>: Failed to execute '.proc_sql_execute': sbroad: …".
// What it doesn't understand it leaves as it is.
func peelAll(message string) Report {
	m := Report{Message: message}
	// Each turn peels one layer; the bound only keeps a hostile message from costing much.
	for range 16 {
		next, rs, ok := peel(m.Message)
		if rs != "" {
			m.Replicaset = rs
		}
		if !ok {
			break
		}
		m.Message = next
	}
	return m
}

// wrappings are prefixes that add nothing for a reader.
var wrappings = []string{
	"sbroad: ", "box error: ProcLua: ", "box error: ", "invalid transaction: ", "transaction rolled-back: ", "invalid box: ",
}

func peel(s string) (rest, replicaset string, ok bool) {
	for _, w := range wrappings {
		if r, found := strings.CutPrefix(s, w); found && r != "" {
			return r, "", true
		}
	}
	if strings.HasPrefix(s, "{") {
		var body struct {
			Message string `json:"message"`
		}
		if json.Unmarshal([]byte(s), &body) == nil && body.Message != "" {
			return body.Message, "", true
		}
		return s, "", false
	}
	if r, found := strings.CutPrefix(s, "Error on replicaset "); found {
		if uuid, after, found := strings.Cut(r, ": "); found && len(uuid) == 36 && after != "" {
			return after, uuid, true
		}
	}
	if r, found := strings.CutPrefix(s, "Failed to execute '"); found {
		if _, after, found := strings.Cut(r, "': "); found && after != "" {
			return after, "", true
		}
	}
	return s, "", false
}
