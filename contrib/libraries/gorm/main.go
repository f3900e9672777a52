// Command gorm uses Picodata through GORM.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/picodata/go-picodata/contrib/gormpico"
)

func main() {
	if err := run(context.Background(), os.Getenv("PICODATA_DSN"), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// City is sharded by Region; its key is made in the client when it is zero.
type City struct {
	ID        int64 `gorm:"primaryKey"`
	Region    int64 `gorm:"distributedBy;index:cities_region"`
	Name      string
	CreatedAt time.Time
	DeletedAt gorm.DeletedAt
	Streets   []Street
}

// Street is sharded by its primary key, a UUID.
type Street struct {
	ID     string `gorm:"type:uuid;primaryKey"`
	CityID int64
	Name   string
}

func run(ctx context.Context, dsn string, out io.Writer) error {
	// Picodata has no transactions, so Create, Update and Delete run without one.
	db, err := gorm.Open(gormpico.Open(dsn), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	if err != nil {
		return err
	}
	defer closed(db)
	db = db.WithContext(ctx)
	if err := db.AutoMigrate(&City{}, &Street{}); err != nil {
		return err
	}
	tver := City{Region: 69, Name: "Tver", Streets: []Street{{Name: "Soviet"}, {Name: "Trekhsvyatskaya"}}}
	if err := db.Create(&tver).Error; err != nil {
		return err
	}
	if err := db.Create(&[]City{{Region: 59, Name: "Perm"}, {Region: 55, Name: "Omsk"}}).Error; err != nil {
		return err
	}
	var got City
	if err := db.Preload("Streets").Where("name = ?", "Tver").First(&got).Error; err != nil {
		return err
	}
	fmt.Fprintln(out, got.Name, len(got.Streets), got.ID == tver.ID)

	if err := db.Model(&City{}).Where("region = ?", 59).Update("name", "Permian").Error; err != nil {
		return err
	}
	if err := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&City{ID: tver.ID, Region: 69, Name: "again"}).Error; err != nil {
		return err
	}
	// Instead of Offset: the page after the last row seen.
	var page []City
	if err := db.Where("name > ?", "Omsk").Order("name").Limit(2).Find(&page).Error; err != nil {
		return err
	}
	for _, c := range page {
		fmt.Fprintln(out, c.Name)
	}
	if err := db.Delete(&got).Error; err != nil { // soft: DeletedAt is set
		return err
	}
	var left int64
	if err := db.Model(&City{}).Count(&left).Error; err != nil {
		return err
	}
	fmt.Fprintln(out, left, "left")
	return withTransactions(ctx, dsn, out)
}

// withTransactions shows the other way, for code that can't do without db.Transaction: each statement takes effect by itself.
func withTransactions(ctx context.Context, dsn string, out io.Writer) error {
	db, err := gorm.Open(gormpico.Open(dsn+"&transactions=autocommit"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	defer closed(db)
	err = db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return tx.Create(&City{Region: 69, Name: "Rzhev"}).Error
	})
	fmt.Fprintln(out, "transaction:", err)
	return err
}

func closed(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		pool.Close()
	}
}
