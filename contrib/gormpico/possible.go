package gormpico

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

// possible reports what a model asks for that Picodata can't have. Leaving it out without a word would let an application rely on it.
func possible(s *schema.Schema) error {
	if s == nil {
		return errors.New("gormpico: the model has no schema")
	}
	for _, check := range s.ParseCheckConstraints() {
		return fmt.Errorf("gormpico: %s: check %s: %w", s.Name, check.Name, cannot("have check constraints; take the tag away and check in the program"))
	}
	for _, f := range s.Fields {
		computed := f.HasDefaultValue && f.DefaultValue != "" && f.DefaultValueInterface == nil && !strings.EqualFold(f.DefaultValue, "null")
		if computed && !(f.PrimaryKey && isUUID(f)) { // which the client fills in
			return fmt.Errorf("gormpico: %s.%s: default:%s: %w", s.Name, f.Name, f.DefaultValue, cannot("compute a default; use autoCreateTime, a BeforeCreate hook or a constant"))
		}
	}
	p, err := placementOf(s)
	if err != nil {
		return err
	}
	for _, idx := range s.ParseIndexes() {
		if !strings.EqualFold(idx.Class, "UNIQUE") {
			continue
		}
		var columns []string
		for _, f := range idx.Fields {
			if f.Expression != "" {
				return fmt.Errorf("gormpico: %s: index %s: %w", s.Name, idx.Name, cannot("index an expression"))
			}
			columns = append(columns, f.DBName)
		}
		if err := p.unique(s, "uniqueIndex "+idx.Name, columns); err != nil {
			return err
		}
	}
	for _, f := range uniqueFields(s) {
		if err := p.unique(s, f.Name+": unique", []string{f.DBName}); err != nil {
			return err
		}
	}
	return nil
}

// uniqueFields are those with the tag unique. The primary key has its index anyway.
func uniqueFields(s *schema.Schema) []*schema.Field {
	var list []*schema.Field
	for _, f := range s.Fields {
		if f.Unique && !f.PrimaryKey && !f.IgnoreMigration {
			list = append(list, f)
		}
	}
	return list
}

// unique checks the server's rule: each replicaset sees its own rows only, so a unique index of a sharded table must begin with the
// whole sharding key.
func (p placement) unique(s *schema.Schema, what string, columns []string) error {
	if p.globally {
		return nil
	}
	key := p.by
	if len(key) == 0 {
		for _, f := range s.PrimaryFields {
			key = append(key, f.DBName)
		}
	}
	if len(columns) >= len(key) && slices.Equal(columns[:len(key)], key) {
		return nil
	}
	return fmt.Errorf("gormpico: %s: %s (%s): a unique index of a sharded table must begin with the whole sharding key (%s), for each replicaset knows its own rows only; "+
		"shard by the unique columns (distributedBy), put the key in front, or make the table global (distributedGlobally)",
		s.Name, what, strings.Join(columns, ", "), strings.Join(key, ", "))
}
