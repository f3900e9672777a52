package picoprom

import _ "embed"

// Dashboard is a dashboard for Grafana, the file dashboard.json: import it, or provision it, and choose the data source.
//
//go:embed dashboard.json
var Dashboard []byte
