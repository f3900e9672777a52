package picotel

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	picodata "github.com/picodata/go-picodata"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// scope is the name of the instrumentation.
const scope = "github.com/picodata/go-picodata/contrib/picotel"

// system is db.system.name. The conventions have no word for Picodata yet; they allow others.
const system = "picodata"

// clusterPool is the pool name of what belongs to no node in particular.
const clusterPool = "cluster"

// otherError is the conventions' word for an error that there is no word for.
const otherError = "_OTHER"

// The attributes that the conventions don't know.
const (
	keyNode     = attribute.Key("picodata.node")               // name of the instance
	keyReason   = attribute.Key("picodata.route.reason")       // why that node, see the driver's Plan.Reason
	keyAttempts = attribute.Key("picodata.statement.attempts") // how often the statement was handed to a node, if more than once
)

// verbs are the first words of statements that may become part of a metric: texts are the user's, and
// there must not be as many time series as there are typing errors.
var verbs = map[string]bool{
	"SELECT": true, "VALUES": true, "WITH": true, "EXPLAIN": true, "INSERT": true, "UPDATE": true, "DELETE": true, "TRUNCATE": true,
	"CREATE": true, "ALTER": true, "DROP": true, "GRANT": true, "REVOKE": true, "DO": true, "CALL": true, "BACKUP": true,
	"BEGIN": true, "COMMIT": true, "ROLLBACK": true, "SET": true, "SHOW": true, "AUDIT": true,
}

// operationName is db.operation.name: the statement's first word, or what else is done.
func operationName(s *picodata.StatementStart, fingerprint string) string {
	switch s.Operation {
	case "ping", "prepare":
		return strings.ToUpper(s.Operation)
	}
	word := fingerprint
	if i := strings.IndexFunc(word, func(r rune) bool { return r < 'A' || r > 'Z' && r < 'a' || r > 'z' }); i >= 0 {
		word = word[:i]
	}
	if word = strings.ToUpper(word); verbs[word] {
		return word
	}
	return "OTHER"
}

// serverAttributes are where a node is.
func serverAttributes(attrs []attribute.KeyValue, address string) []attribute.KeyValue {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if address == "" {
			return attrs
		}
		return append(attrs, semconv.ServerAddress(address))
	}
	attrs = append(attrs, semconv.ServerAddress(host))
	if n, err := strconv.Atoi(port); err == nil {
		attrs = append(attrs, semconv.ServerPort(n))
	}
	return attrs
}

// poolName is the name of the pool that belongs to a node.
func poolName(name, address string) string {
	if name != "" {
		return name
	}
	return address
}

// errorType is error.type: a word of a short list. Its second result is the SQLSTATE, if a server answered.
func errorType(err error) (kind, code string) {
	var (
		server  *picodata.Error
		unknown *picodata.OutcomeUnknownError
		timeout *picodata.AcquireTimeoutError
		noNode  *picodata.NoNodeError
		auth    *picodata.AuthError
		dial    *picodata.DialError
	)
	if errors.As(err, &server) {
		code = server.Code
		kind = strings.ReplaceAll(server.Kind.String(), " ", "_")
	}
	switch {
	case errors.As(err, &unknown): // whatever the cause: this is what somebody has to look into
		kind = "outcome_unknown"
	case kind != "":
	case errors.Is(err, context.DeadlineExceeded):
		kind = "timeout"
	case errors.Is(err, context.Canceled):
		kind = "cancelled"
	case errors.As(err, &timeout):
		kind = "acquire_timeout"
	case errors.As(err, &auth):
		kind = "login_refused"
	case errors.As(err, &noNode):
		kind = "no_node"
	case errors.As(err, &dial):
		kind = "dial"
	case errors.Is(err, picodata.ErrNoShard):
		kind = "no_shard"
	default:
		kind = otherError
	}
	return kind, code
}
