package servererr

import (
	"errors"
	"strings"
)

// answer is what *pq.Error offers.
type answer interface {
	error
	SQLState() string
	Get(field byte) string
}

// Of reads the server's error that err wraps. False: there is none, so the connection or the client failed.
func Of(err error) (Report, bool) {
	var a answer
	if !errors.As(err, &a) {
		return Report{}, false
	}
	return Read(a.SQLState(), a.Get('M')), true
}

// Ends reports whether a server's error is the end of the connection and not of the statement alone. Picodata
// says ERROR to everything and hangs up without a word, but proxies and PostgreSQL say FATAL, or that
// somebody shuts them down, whatever the statement has done by then.
func Ends(code, severity string) bool {
	switch code {
	case "57P01", "57P02", "57P03":
		return true
	}
	return FatalSeverity(severity)
}

// FatalSeverity reports whether a severity, the field V, means the end of the connection.
func FatalSeverity(severity string) bool { return severity == "FATAL" || severity == "PANIC" }

// Read says what a server's error means.
func Read(code, message string) Report {
	r := peelAll(message)
	r.Kind, r.Cause = classify(code, message)
	if r.Cause == NoCause {
		r.Cause, r.Object = detail(message)
	}
	return r
}

// classify says what a server's error means.
func classify(code, message string) (Kind, Cause) {
	switch code {
	case "42999":
		return Stale, PlanChanged
	case "28000":
		if strings.Contains(message, "ssl") {
			return Login, TLSRequired
		}
		return Login, NotAdmitted
	case "53300":
		return Capacity, NoCause
	case "0A000":
		if message == "cached plan must not change result type" {
			return Unsupported, PlanChanged
		}
		return Unsupported, NoCause
	case "22P02", "22P03", "08P01":
		return Parameters, NoCause
	case "26000":
		return LostStatement, StatementUnknown
	case "42P05":
		return LostStatement, StatementExists
	case "42P03":
		return LostStatement, NoCause
	case "42601":
		return Query, Syntax
	case "25006":
		// What PostgreSQL and proxies in front of it say of a write on a standby.
		return Switchover, ReadOnly
	}
	if strings.HasPrefix(code, "28") {
		return Login, NoCause
	}
	// A storage's message arrives as JSON inside the router's, its slashes and quotes escaped.
	text := strings.ReplaceAll(message, `\/`, "/")
	for _, r := range textRules {
		if strings.Contains(text, r.part) {
			return r.kind, r.cause
		}
	}
	return Other, NoCause
}

// detail finds what a message names.
func detail(text string) (Cause, string) {
	if _, rest, ok := strings.Cut(text, "ccess to space '"); ok && strings.Contains(rest, " is denied for user ") {
		if name, _, ok := strings.Cut(rest, "'"); ok {
			return AccessDenied, name
		}
	}
	if strings.Contains(text, "not found") {
		for _, name := range [...]string{"_pico_bucket", "pico_instance_uuid", "version"} {
			if strings.Contains(text, name) {
				return NoFunction, name
			}
		}
	}
	return NoCause, ""
}
