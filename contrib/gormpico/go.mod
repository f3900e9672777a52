module github.com/picodata/go-picodata/contrib/gormpico

go 1.26.0

require (
	github.com/picodata/go-picodata v0.0.0-00010101000000-000000000000
	gorm.io/gorm v1.31.2
)

require (
	github.com/jackc/pgx/v5 v5.13.0 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	github.com/lib/pq v1.12.3 // indirect
	github.com/ncruces/go-sqlite3 v0.37.0 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.5.35401 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/picodata/go-picodata => ../../
