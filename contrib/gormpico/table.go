package gormpico

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// placement is what a model's tags say about where its table lives.
type placement struct {
	by       []string // columns of the sharding key, in order
	globally bool
	tier     string
	engine   string
}

// placementOf reads the tags distributedBy, distributedGlobally, tier and engine.
func placementOf(s *schema.Schema) (placement, error) {
	type part struct {
		place  int
		column string
	}
	var (
		p     placement
		parts []part
	)
	once := func(into *string, name, value string) error {
		if *into != "" && *into != value {
			return fmt.Errorf("gormpico: %s: the tag %s is given twice: %s, %s", s.Name, name, *into, value)
		}
		*into = value
		return nil
	}
	for _, f := range s.Fields {
		if by, ok := f.TagSettings["DISTRIBUTEDBY"]; ok {
			place := len(parts) + 1
			if by != "DISTRIBUTEDBY" { // what GORM gives a tag without a value
				var err error
				if place, err = strconv.Atoi(by); err != nil {
					return p, fmt.Errorf("gormpico: %s.%s: distributedBy:%s: want a number, the column's place in the key", s.Name, f.Name, by)
				}
			}
			parts = append(parts, part{place, f.DBName})
		}
		if _, ok := f.TagSettings["DISTRIBUTEDGLOBALLY"]; ok {
			p.globally = true
		}
		for _, x := range []struct {
			name string
			into *string
		}{{"tier", &p.tier}, {"engine", &p.engine}} {
			if v, ok := f.TagSettings[strings.ToUpper(x.name)]; ok {
				if err := once(x.into, x.name, v); err != nil {
					return p, err
				}
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.place - b.place })
	for _, x := range parts {
		p.by = append(p.by, x.column)
	}
	if p.globally && (len(p.by) > 0 || p.tier != "") {
		return p, fmt.Errorf("gormpico: %s: distributedGlobally goes with neither distributedBy nor tier", s.Name)
	}
	if p.tier != "" && len(p.by) == 0 {
		for _, f := range s.PrimaryFields { // Picodata has no IN TIER without DISTRIBUTED BY
			p.by = append(p.by, f.DBName)
		}
	}
	return p, nil
}

// createTable is the statement that makes a model's table.
func createTable(m *Migrator, stmt *gorm.Statement) (string, []any, error) {
	s := stmt.Schema
	if s == nil {
		return "", nil, errors.New("gormpico: the model has no schema")
	}
	if len(s.PrimaryFields) == 0 {
		return "", nil, fmt.Errorf("gormpico: %s has no primary key, and Picodata has no table without one", s.Name)
	}
	if err := possible(s); err != nil {
		return "", nil, err
	}
	p, err := placementOf(s)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	vars := []any{m.CurrentTable(stmt)}
	b.WriteString("CREATE TABLE ? (")
	for _, name := range s.DBNames {
		if f := s.FieldsByDBName[name]; !f.IgnoreMigration {
			b.WriteString("? ?, ")
			vars = append(vars, clause.Column{Name: name}, m.FullDataTypeOf(f))
		}
	}
	columns := func(names []string) clause.Expr {
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = stmt.Quote(n)
		}
		return clause.Expr{SQL: "(" + strings.Join(quoted, ", ") + ")"}
	}
	var keys []string
	for _, f := range s.PrimaryFields {
		keys = append(keys, f.DBName)
	}
	b.WriteString("PRIMARY KEY ?)")
	vars = append(vars, columns(keys))
	if p.engine != "" {
		b.WriteString(" USING " + p.engine)
	}
	switch {
	case p.globally:
		b.WriteString(" DISTRIBUTED GLOBALLY")
	case len(p.by) > 0:
		b.WriteString(" DISTRIBUTED BY ?")
		vars = append(vars, columns(p.by))
		if p.tier != "" {
			b.WriteString(" IN TIER ?")
			vars = append(vars, clause.Column{Name: p.tier})
		}
	}
	if options, ok := m.DB.Get("gorm:table_options"); ok {
		fmt.Fprintf(&b, " %v", options)
	}
	return b.String(), vars, nil
}
