package servererr

import (
	"errors"
	"strings"
)

// Evidence is what the connection saw of the flight that the server answered with an error. It overrules the
// server's words.
type Evidence struct {
	Simple bool // the statement went as a Query message: nothing was parsed or bound under a name
	Bound  bool // BindComplete came: the statement was being executed
	Row    bool // a row of the answer came
}

// answer is what *pq.Error offers.
type answer interface {
	error
	SQLState() string
	Get(field byte) string
}

// witness is an error that tells what the connection saw.
type witness interface {
	error
	Evidence() Evidence
}

// Of reads the server's error that err wraps, and believes of it what the evidence that err tells allows. False:
// there is none, so the connection or the client failed.
func Of(err error) (Report, bool) {
	var a answer
	if !errors.As(err, &a) {
		return Report{}, false
	}
	r := Read(a.SQLState(), a.Get('M'))
	var w witness
	if errors.As(err, &w) {
		r = r.Given(w.Evidence())
	}
	return r, true
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

// FatalSeverity reports whether a severity means the end of the connection. It reads the field V where the server
// sends one; S may be in any language.
func FatalSeverity(severity string) bool { return severity == "FATAL" || severity == "PANIC" }

// Given is the report as far as the evidence allows it. A refusal of a prepared statement or its parameters comes
// before BindComplete, if at all; after a row, something ran. Words that say otherwise were quoted from
// somewhere.
func (r Report) Given(e Evidence) Report {
	impossible := false
	switch r.Kind {
	case Stale, LostStatement, Parameters:
		impossible = e.Simple || e.Bound || e.Row
	case Capacity:
		impossible = e.Bound || e.Row
	case Schema, Switchover, Route, Forward, Unreachable, TableBusy:
		impossible = e.Row
	}
	if impossible {
		r.Kind = Other
		if r.Cause != PlanChanged { // of use to whoever keeps the plan
			r.Cause, r.Object = NoCause, ""
		}
	}
	return r
}

// Read says what a server's error means: by its SQLSTATE, and by its message where the SQLSTATE says nothing.
func Read(code, message string) Report {
	inner, replicaset := peel(message)
	r := Report{Message: inner, Replicaset: replicaset}
	core := innermost(inner)
	f, object, shown := formOf(core)
	if f != nil {
		r.Message = inner[:len(inner)-len(core)] + shown
	}
	if code == internalError {
		if f != nil {
			r.Kind, r.Cause, r.Object = f.kind, f.cause, object
		}
		return r
	}
	r.Kind, r.Cause = byCode(code, message)
	return r
}

// internalError is the SQLSTATE of nearly everything that Picodata says.
const internalError = "XX000"

// byCode says what the other SQLSTATEs mean: Picodata's, and those of proxies and of PostgreSQL.
func byCode(code, message string) (Kind, Cause) {
	switch code {
	case "42999":
		return Stale, PlanChanged
	case "28000":
		if message == "this server requires the client to use ssl" {
			return Login, TLSRequired
		}
		return Login, NotAdmitted
	case "53300":
		return Capacity, NoCause
	case "0A000":
		if message == "cached plan must not change result type" {
			return Stale, PlanChanged
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
	case "42883":
		return Query, NoFunction
	case "23505":
		return UniqueViolation, NoCause
	case "42501":
		return Permission, NoCause
	case "25006":
		// What PostgreSQL and proxies in front of it say of a write on a standby.
		return Switchover, ReadOnly
	}
	if strings.HasPrefix(code, "28") {
		return Login, NoCause
	}
	return Other, NoCause
}

// formOf finds the form of a message, all layers taken off. nil: it has none.
func formOf(message string) (f *form, object, shown string) {
	for _, list := range [...][]form{forms[:], queryForms[:]} {
		for i := range list {
			if object, shown, ok := list[i].text.match(message); ok {
				return &list[i], object, shown
			}
		}
	}
	return nil, "", message
}
