package servererr

import (
	"encoding/json"
	"strings"
)

// maxLayers bounds what a hostile message may cost.
const maxLayers = 16

// wrappings are layers that add nothing for a reader. They stand in front of what they wrap.
var wrappings = [...]pattern{
	"sbroad: ", "box error: ProcLua: ", "box error: ", "invalid transaction: ", "transaction rolled-back: ", "invalid box: ",
	"Failed to execute '{f}': ",
}

// contexts are layers that tell a reader something, and nothing of what the innermost message is.
var contexts = [...]pattern{
	"failed to {w} space: ", "server responded with error: ", "Query {n} from EXPLAIN (RAW): ", "vshard error: ",
	"unexpected number of values: ", "io error: ", `[string "{f}"]:{n}: `, "{f}:{n}: ",
	// Names of Tarantool's and Picodata's error types.
	"AccessDenied: ", "ConnectionFailed: ", "FieldType: ", "LeaderUnknown: ", "LuaError: ", "NoSuchSpace: ", "NotALeader: ", "Other: ", "ProcC: ",
	"ProcLua: ", "Readonly: ", "ShardingError: ", "SocketError: ", "System: ", "SystemError: ",
	"TermMismatch: ", "Timeout: ", "TupleFound: ",
}

// onReplicaset is the layer that names who refused.
const onReplicaset pattern = "Error on replicaset {u}: "

// peel takes the wrappings off a message: "sbroad: box error: ProcLua: {json}", whose "message" begins
// "Error on replicaset <uuid>: Failed to execute '.proc_sql_execute': sbroad: …". What it doesn't understand it
// leaves as it is.
func peel(message string) (inner, replicaset string) {
	for range maxLayers {
		if n, ok := segmentAt(string(onReplicaset), message); ok && n < len(message) {
			replicaset, message = message[len("Error on replicaset "):n-len(": ")], message[n:]
			continue
		}
		rest, ok := peelFirst(message, wrappings[:])
		if !ok {
			rest, ok = jsonMessage(message)
		}
		if !ok {
			break
		}
		message = rest
	}
	return message, replicaset
}

// innermost takes the contexts off as well.
func innermost(message string) string {
	for range maxLayers {
		rest, ok := peelFirst(message, contexts[:])
		if !ok {
			rest, ok = peelFirst(message, wrappings[:])
		}
		if !ok {
			break
		}
		message = rest
	}
	return message
}

func peelFirst(s string, layers []pattern) (rest string, ok bool) {
	for _, l := range layers {
		if n, ok := segmentAt(string(l), s); ok && n < len(s) {
			return s[n:], true
		}
	}
	return s, false
}

// jsonMessage gives the "message" of an error object as vshard encodes it.
func jsonMessage(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "{")
	if !ok {
		return s, false
	}
	var body struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(s), &body) == nil {
		return body.Message, body.Message != ""
	}
	// Long errors are cut. A few numbers and names come first, then the message.
	for {
		n, ok := segmentAt(`"{w}":`, rest)
		if !ok {
			return s, false
		}
		key := rest[1 : n-2]
		rest = rest[n:]
		if key == "message" {
			text, ok := cutString(rest)
			return text, ok && text != ""
		}
		if n, ok = segmentAt("{w},", rest); !ok {
			n, ok = segmentAt(`"{f}",`, rest)
		}
		if !ok {
			return s, false
		}
		rest = rest[n:]
	}
}

// cutString decodes the JSON string that s begins with, up to its end or the end of s.
func cutString(s string) (text string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", false
	}
	end := 1
	for end < len(s) && s[end] != '"' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end < len(s) {
		return text, json.Unmarshal([]byte(s[:end+1]), &text) == nil
	}
	s = strings.Map(func(r rune) rune { // what no JSON string holds came with the cut
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	// Up to the last whole escape.
	for cut := len(s); cut > max(0, len(s)-len(`\u0000\u0000`)); cut-- {
		if json.Unmarshal([]byte(s[:cut]+`"`), &text) == nil {
			return text, true
		}
	}
	return "", false
}
