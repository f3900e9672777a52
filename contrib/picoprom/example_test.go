package picoprom_test

import (
	"database/sql"
	"log"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/picoprom"
	"github.com/picodata/go-picodata/options"
	"github.com/prometheus/client_golang/prometheus"
)

func Example() {
	statements := picoprom.NewStatements()
	cfg, err := picodata.ParseDSN("picodata://app:secret@node-a,node-b/")
	if err != nil {
		log.Fatal(err)
	}
	connector, err := picodata.NewConnector(cfg, options.WithTracers(statements))
	if err != nil {
		log.Fatal(err)
	}
	prometheus.MustRegister(statements, picoprom.New(connector))
	db := sql.OpenDB(connector)
	defer db.Close()
}
