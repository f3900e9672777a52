package bunpico

import (
	"context"
	"errors"
	"strings"

	"github.com/uptrace/bun"
)

// Placement says where a table lives. Its zero value leaves it to Picodata: sharded by the primary key, in the default
// tier.
type Placement struct {
	// By are the columns of the sharding key, in order.
	By []string
	// Tier is where the buckets live; it needs By.
	Tier string
	// Globally makes a copy on every instance; it goes with neither of the others.
	Globally bool
}

// CreateTable creates a model's table with a placement, which bun's own NewCreateTable can't express. change
// may be nil; it gets the query before it is written, for IfNotExists and the like.
func CreateTable(ctx context.Context, db *bun.DB, model any, p Placement, change func(*bun.CreateTableQuery)) error {
	switch {
	case p.Globally && (len(p.By) > 0 || p.Tier != ""):
		return errors.New("bunpico: Globally goes with neither By nor Tier")
	case p.Tier != "" && len(p.By) == 0:
		return errors.New("bunpico: a Tier needs By, the sharding key")
	}
	q := db.NewCreateTable().Model(model)
	if change != nil {
		change(q)
	}
	text, err := q.AppendQuery(db.QueryGen(), nil)
	if err != nil {
		return err
	}
	quote := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	tail := ""
	switch {
	case p.Globally:
		tail = " DISTRIBUTED GLOBALLY"
	case len(p.By) > 0:
		names := make([]string, len(p.By))
		for i, n := range p.By {
			names[i] = quote(n)
		}
		tail = " DISTRIBUTED BY (" + strings.Join(names, ", ") + ")"
		if p.Tier != "" {
			tail += " IN TIER " + quote(p.Tier)
		}
	}
	_, err = db.DB.ExecContext(ctx, string(text)+tail)
	return err
}
