module github.com/picodata/go-picodata/contrib/goosepico

go 1.26.0

require (
	github.com/picodata/go-picodata v0.0.0-00010101000000-000000000000
	github.com/pressly/goose/v3 v3.30.0
)

require (
	github.com/jackc/pgx/v5 v5.13.0 // indirect
	github.com/lib/pq v1.12.3 // indirect
	github.com/mfridman/interpolate v0.0.2 // indirect
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	github.com/sethvargo/go-retry v0.5.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/picodata/go-picodata => ../../
