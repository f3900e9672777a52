package options

// origin keeps where the settings that depend on each other came from, so that an error can name
// both places and a derived role can be derived anew when what it came from changes.
type origin struct {
	roleGiven      bool         // instance_role was given, even if as its default
	roleAt         string       // where
	derivedRole    InstanceRole // what Normalize set InstanceRole to while RoleDerived
	readPreference place[ReadPreference]
	forward        place[Forward]
	optionsAt      string // where ServerOptions were given
	maxEjection    bool   // instance_ejection_max_duration was given, even if as its default
}

// place is where a value was given. It holds for that value only: a program may have assigned
// another one to the field since.
type place[T comparable] struct {
	value T
	at    string
}

// of names where the current value came from.
func (p place[T]) of(current T, field string) string {
	if p.at != "" && p.value == current {
		return p.at
	}
	return "Config." + field
}
