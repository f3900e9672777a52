// Package schema is what ent generates its code from: go run -mod=mod entgo.io/ent/cmd/ent generate --target ./store ./schema
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// City's key is given by the program: Picodata has no sequences.
type City struct{ ent.Schema }

// Fields of the City.
func (City) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("name"),
		field.Int64("region").Optional(),
		field.Time("founded"),
	}
}
