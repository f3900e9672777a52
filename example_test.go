package picodata_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	picodata "github.com/picodata/go-picodata"
	"github.com/picodata/go-picodata/options"
	"github.com/picodata/go-picodata/picotest"
)

// exampleCluster starts a simulated cluster of two replicasets of two instances; a program would have
// the DSN of a real one.
func exampleCluster() (dsn string, stop func()) {
	c, err := picotest.New(picotest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	return c.AdminDSN(), c.Close
}

func Example() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE cities (id INTEGER PRIMARY KEY, name TEXT) DISTRIBUTED BY (id)`); err != nil {
		log.Fatal(err)
	}
	// Each INSERT goes straight to the leader that owns its row.
	for id, name := range []string{"Tver", "Perm", "Omsk"} {
		if _, err := db.Exec(`INSERT INTO cities VALUES ($1, $2)`, id, name); err != nil {
			log.Fatal(err)
		}
	}
	var name string
	if err := db.QueryRow(`SELECT name FROM cities WHERE id = $1`, 1).Scan(&name); err != nil {
		log.Fatal(err)
	}
	fmt.Println(name)
	// Output: Perm
}

func ExampleNewConnector() {
	dsn, stop := exampleCluster()
	defer stop()

	cfg, err := picodata.ParseDSN(dsn)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := picodata.NewConnector(cfg,
		options.WithInstanceRole(options.RoleLeader),
		options.WithMaxConnsPerInstance(10),
		options.WithPasswordFunc(func(context.Context) (string, error) { return "T0psecret", nil }), // asked per dial
	)
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(conn)
	defer db.Close()
	fmt.Println(db.Ping())
	// Output: <nil>
}

func ExampleParseDSN() {
	cfg, err := picodata.ParseDSN("picodata://app:secret@node-a,[::1]:4329/?instance_role=leader&node_weights=tier:cold=0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cfg.Hosts[0].Address(), cfg.Hosts[1].Address(), cfg.InstanceRole)

	_, err = picodata.ParseDSN("picodata://app@node-a/?instance_rol=leader")
	var fault *picodata.ConfigError
	fmt.Println(errors.As(err, &fault), fault.Key)
	// Output:
	// node-a:4327 [::1]:4329 leader
	// true instance_rol
}

func ExampleUnwrap() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(); err != nil {
		log.Fatal(err)
	}
	conn, err := picodata.Unwrap(db)
	if err != nil {
		log.Fatal(err)
	}
	for _, in := range conn.Topology().Instances {
		fmt.Println(in.Tier, in.ReplicasetName, in.Name, in.Role)
	}
	// Output:
	// default default_1 i1 leader
	// default default_1 i2 replica
	// default default_2 i3 leader
	// default default_2 i4 replica
}

func ExampleConnector_Stats() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for range 100 {
		if _, err := db.Exec(`SELECT 1`); err != nil {
			log.Fatal(err)
		}
	}
	conn, err := picodata.Unwrap(db)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range conn.Stats().Nodes {
		fmt.Println(n.Name, n.Leases, n.InUse)
	}
	// Output:
	// i1 25 0
	// i2 25 0
	// i3 25 0
	// i4 25 0
}

func ExampleConnector_Explain() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT) DISTRIBUTED BY (id)`); err != nil {
		log.Fatal(err)
	}
	conn, err := picodata.Unwrap(db)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := conn.Explain(context.Background(), `INSERT INTO notes VALUES ($1, $2)`, 42, "x")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Reason, plan.Tier, plan.Bucket)
	// Output: routed default 2426
}

func ExampleToInstance() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := picodata.ToInstance(context.Background(), "i3")
	var name string
	if err := db.QueryRowContext(ctx, `SELECT pico_instance_name(pico_instance_uuid())`).Scan(&name); err != nil {
		log.Fatal(err)
	}
	fmt.Println(name)
	// Output: i3
}

func ExampleIdempotent() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, total DECIMAL) DISTRIBUTED BY (id)`); err != nil {
		log.Fatal(err)
	}
	// Running this statement twice is the same as running it once, so the driver may do so after a lost connection.
	ctx := picodata.Idempotent(context.Background())
	res, err := db.ExecContext(ctx, `INSERT INTO orders VALUES ($1, $2) ON CONFLICT DO NOTHING`, 1, "9.90")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.RowsAffected())
	// Output: 1 <nil>
}

func ExampleIsUniqueViolation() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`CREATE TABLE users (id INTEGER PRIMARY KEY) DISTRIBUTED BY (id)`,
		`INSERT INTO users VALUES (1)`,
	} {
		if _, err := db.Exec(q); err != nil {
			log.Fatal(err)
		}
	}
	_, err = db.Exec(`INSERT INTO users VALUES (1)`)
	fmt.Println(picodata.IsUniqueViolation(err))
	// Output: true
}

func ExampleConn() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// Everything in a sql.Conn stays on one physical connection.
	conn, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := conn.PingContext(picodata.ToInstance(ctx, "i2")); err != nil {
		log.Fatal(err)
	}
	err = conn.Raw(func(dc any) error {
		fmt.Println(dc.(picodata.Conn).Node().Name)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: i2
}

func Example_transactions() {
	dsn, stop := exampleCluster()
	defer stop()

	db, err := sql.Open("picodata", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = db.Begin()
	fmt.Println(errors.Is(err, picodata.ErrTxUnsupported))
	// Output: true
}
