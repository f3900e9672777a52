package schema

import (
	"encoding/json"
	"errors"
	"fmt"
)

// KeyParam is one parameter of a statement that fills a column of the sharding key.
type KeyParam struct {
	Index int    // counted from 0
	OID   uint32 // the type by which the server will read the parameter, and so hash it
}

// KeyMeta is what is known of a statement's sharding key.
type KeyMeta struct {
	Table    string // "" if unknown
	Tier     string
	Params   []KeyParam // in the order of the sharding key; read only
	Routable bool       // Params are the whole key of the one row that the statement writes
}

// ErrOtherNotice: the notice is no PreparedStatementMetadata.
var ErrOtherNotice = errors.New("picodata: not a PreparedStatementMetadata notice")

// The bounds of a notice that makes sense.
const (
	maxNotice = 1 << 20
	maxParams = 1<<16 - 1 // of the protocol
)

// ParseNotice reads the message of the notice that a server sends at Parse if pico_query_metadata
// is on:
//
//	{"type":"PreparedStatementMetadata","query":"insert …","tier":"default","dk_meta":[[1,20]]}
//
// A statement without a tier or with an empty dk_meta is known and not Routable. Any other
// notice is ErrOtherNotice; a malformed one is an error of its own, and nothing may be learnt from it.
func ParseNotice(message string) (sql string, meta KeyMeta, err error) {
	if len(message) > maxNotice || len(message) == 0 || message[0] != '{' {
		return "", KeyMeta{}, ErrOtherNotice
	}
	var n struct {
		Type  string     `json:"type"`
		Query *string    `json:"query"`
		Tier  *string    `json:"tier"`
		Key   [][]uint64 `json:"dk_meta"`
	}
	if err := json.Unmarshal([]byte(message), &n); err != nil {
		var probe struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(message), &probe) != nil || probe.Type != "PreparedStatementMetadata" {
			return "", KeyMeta{}, ErrOtherNotice
		}
		return "", KeyMeta{}, fmt.Errorf("picodata: notice on a statement's key: %w", err)
	}
	if n.Type != "PreparedStatementMetadata" {
		return "", KeyMeta{}, ErrOtherNotice
	}
	if n.Query == nil || *n.Query == "" {
		return "", KeyMeta{}, errors.New("picodata: notice on a statement's key: it names no statement")
	}
	for _, part := range n.Key {
		if len(part) != 2 || part[0] < 1 || part[0] > maxParams || part[1] < 1 || part[1] > 1<<32-1 {
			return "", KeyMeta{}, fmt.Errorf("picodata: notice on a statement's key: %v is no parameter and type", part)
		}
		meta.Params = append(meta.Params, KeyParam{Index: int(part[0] - 1), OID: uint32(part[1])})
	}
	if n.Tier != nil {
		meta.Tier = *n.Tier
	}
	meta.Routable = meta.Tier != "" && len(meta.Params) > 0
	return *n.Query, meta, nil
}
