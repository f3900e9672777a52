// Package recipes are four things that services do, in forms that a cluster of Picodata runs well. docs/recipes.md explains them.
package recipes

import (
	"context"
	"database/sql"

	"github.com/picodata/go-picodata"
)

// Counters is the table of the first recipe.
const Counters = `CREATE TABLE counters (page INTEGER NOT NULL, hits INTEGER NOT NULL, PRIMARY KEY (page)) DISTRIBUTED BY (page)`

// Hit adds one to a counter, which begins with it. ON CONFLICT DO UPDATE exists inside blocks only (from 26.2 on), and computes from the column itself.
func Hit(ctx context.Context, db *sql.DB, page int64) error {
	_, err := picodata.Block(picodata.ShardKey(ctx, "default", page), db, picodata.Stmt{
		SQL:  `INSERT INTO counters (page, hits) VALUES ($1, 1) ON CONFLICT (page) DO UPDATE SET hits = hits + 1`,
		Args: []any{page},
	})
	return err
}
