package picotel_test

import (
	"database/sql"
	"log"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/contrib/picotel"
	"github.com/picodata/go-picodata/options"
)

func Example() {
	tracer, err := picotel.New() // of OpenTelemetry's global providers
	if err != nil {
		log.Fatal(err)
	}
	cfg, err := picodata.ParseDSN("picodata://app:secret@node-a,node-b/")
	if err != nil {
		log.Fatal(err)
	}
	connector, err := picodata.NewConnector(cfg, options.WithTracers(tracer))
	if err != nil {
		log.Fatal(err)
	}
	registration, err := picotel.Observe(connector)
	if err != nil {
		log.Fatal(err)
	}
	defer registration.Unregister()
	db := sql.OpenDB(connector)
	defer db.Close()
}
