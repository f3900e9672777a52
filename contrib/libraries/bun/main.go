// Command bun uses Picodata through bun.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"crypto/rand"
	"database/sql"
	"math"
	"math/big"

	"github.com/uptrace/bun"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/bunpico"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// City makes its own key: Picodata has no sequences.
type City struct {
	bun.BaseModel `bun:"table:cities,alias:c"`

	ID     int64 `bun:",pk"`
	Region int64
	Name   string
}

// BeforeAppendModel gives a new row its key.
func (c *City) BeforeAppendModel(_ context.Context, q bun.Query) error {
	if _, insert := q.(*bun.InsertQuery); insert && c.ID == 0 {
		n, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
		if err != nil {
			return err
		}
		c.ID = n.Int64() + 1
	}
	return nil
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	pool, err := sql.Open("picodata", dsn)
	if err != nil {
		return err
	}
	db := bunpico.NewDB(pool)
	defer db.Close()
	if err := bunpico.CreateTable(ctx, db, (*City)(nil), bunpico.Placement{By: []string{"region"}}, nil); err != nil {
		return err
	}
	// bun writes values into the text, where the driver doesn't look for a sharding key; a hint says where the row goes.
	tver := &City{Region: 69, Name: "Tver"}
	if _, err := db.NewInsert().Model(tver).Exec(picodata.ShardKey(ctx, "default", tver.Region)); err != nil {
		return err
	}
	more := []*City{{Region: 59, Name: "Perm"}, {Region: 55, Name: "Omsk"}}
	if _, err := db.NewInsert().Model(&more).Exec(ctx); err != nil {
		return err
	}
	if _, err := db.NewUpdate().Model(tver).Set("name = ?", "Тверь").WherePK().Exec(ctx); err != nil {
		return err
	}
	var cities []City
	if err := db.NewSelect().Model(&cities).Where("region > ?", 55).Order("region").Limit(10).Scan(ctx); err != nil {
		return err
	}
	for _, c := range cities {
		fmt.Fprintln(out, c.Region, c.Name)
	}
	n, err := db.NewSelect().Model((*City)(nil)).Count(ctx)
	fmt.Fprintln(out, n)
	return err
}
