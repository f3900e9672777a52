package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	picodata "github.com/picodata/go-picodata"
)

// unlimited lifts the server's limits for a statement that reads the whole table: 45,000 executed
// opcodes and 5,000 rows moved between instances.
const unlimited = ` OPTION (sql_vdbe_opcode_max = 0, sql_motion_row_max = 0)`

// aggregates reads the cities back and checks them against the file.
func aggregates(ctx context.Context, out io.Writer, db *sql.DB, cities []city) error {
	var want int64
	for _, c := range cities {
		want += c.population
	}
	var count, people int64
	if err := db.QueryRowContext(ctx, `SELECT count(*), sum(population) FROM quickstart_cities`+unlimited).Scan(&count, &people); err != nil {
		return err
	}
	if count != int64(len(cities)) || people != want {
		return fmt.Errorf("read back %d cities with %d people, inserted %d with %d", count, people, len(cities), want)
	}
	fmt.Fprintf(out, "Read back: %d cities, %d people.\n\n", count, people)

	// The casts are for the server: ORDER BY over a bare count or sum fails in its SQL engine.
	rows, err := db.QueryContext(ctx, `SELECT country, cast(count(*) AS int) AS cities, cast(sum(population) AS int) AS people, max(latitude) AS north
		FROM quickstart_cities GROUP BY country ORDER BY people DESC LIMIT 5`+unlimited)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "country\tcities\tpeople\tnorthernmost\t")
	for rows.Next() {
		var country string
		var n, people int64
		var north float64
		if err := rows.Scan(&country, &n, &people, &north); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f°\t\n", country, n, people, north)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.Flush()
}

// report shows what each node did and holds.
func report(ctx context.Context, out io.Writer, db *sql.DB, conn *picodata.Connector) error {
	held, err := rowsByReplicaset(ctx, db, conn)
	if err != nil {
		return err
	}
	stats := conn.Stats()
	topo := conn.Topology()
	leases := make(map[string]uint64)
	left := stats.Total.Leases // of nodes that have left the set: the total still counts them
	for _, n := range stats.Nodes {
		leases[n.ID] = n.Leases
		left -= n.Leases
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tier\treplicaset\tnode\trole\tstate\tstatements\tshare\trows held\t")
	for i := range topo.Instances {
		in := &topo.Instances[i]
		n, known := leases[in.UUID]
		if !known {
			n, left = left, 0
		}
		share := 0.0
		if stats.Total.Leases > 0 {
			share = 100 * float64(n) / float64(stats.Total.Leases)
		}
		rows := "unknown" // without the right to read _pico_tier nobody's buckets are
		if len(held) > 0 {
			rows = strconv.FormatInt(held[in.ReplicasetUUID], 10)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%.1f %%\t%s\t\n", in.Tier, in.ReplicasetName, in.Name, in.Role, in.State, n, share, rows)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s := stats.Statements
	fmt.Fprintf(out, "\n%d statements, %d of them sent straight to the leader that owns the row; %d retries that nobody saw, %d failures.\n",
		s.Succeeded+s.Failed, stats.Routing["routed"], s.Retries, s.Failed)
	return nil
}

// rowsByReplicaset counts the rows that each replicaset holds, by the buckets that it owns.
func rowsByReplicaset(ctx context.Context, db *sql.DB, conn *picodata.Connector) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, `SELECT bucket_id, count(*) FROM quickstart_cities GROUP BY bucket_id`+unlimited)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tier := "default"
	topo := conn.Topology()
	for i := range topo.Tiers {
		if topo.Tiers[i].IsDefault {
			tier = topo.Tiers[i].Name
		}
	}
	held := map[string]int64{}
	for rows.Next() {
		var bucket uint64
		var n int64
		if err := rows.Scan(&bucket, &n); err != nil {
			return nil, err
		}
		if uuid, ok := conn.Buckets().Lookup(tier, bucket); ok {
			held[uuid] += n
		}
	}
	return held, rows.Err()
}
