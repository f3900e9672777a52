package conformance

import (
	"context"
	"fmt"
	"os"

	"github.com/picodata/go-picodata/picotest"
)

// Target is a cluster that the suite runs against.
type Target struct {
	// Name is picotest-VERSION, dsn or container.
	Name string
	// DSN is that of a user who may create tables and read the cluster's system tables; AdminDSN that of the administrator, "" if
	// nobody gave one.
	DSN, AdminDSN string
	// Close removes what was started for the target.
	Close func() error
}

// Opener names a target and starts it.
type Opener struct {
	Name string
	Open func(context.Context) (*Target, error)
}

// simulated are the versions that the suite simulates if nothing else is asked for: with and without
// blocks, forward, metadata notices and functions that name the instance.
var simulated = []string{"25.2", "25.5", "26.1", "26.2"}

// Targets reads the environment: PICODATA_IMAGE, else PICODATA_DSN, else simulations.
func Targets() ([]Opener, error) {
	image, dsn, admin := os.Getenv("PICODATA_IMAGE"), os.Getenv("PICODATA_DSN"), os.Getenv("PICODATA_ADMIN_DSN")
	switch {
	case image != "" && dsn != "":
		return nil, fmt.Errorf("PICODATA_IMAGE and PICODATA_DSN are both set: which target is meant?")
	case image != "":
		return []Opener{{"container", func(ctx context.Context) (*Target, error) { return startImage(ctx, image) }}}, nil
	case dsn != "":
		return []Opener{{"dsn", func(context.Context) (*Target, error) {
			return &Target{Name: "dsn", DSN: dsn, AdminDSN: admin, Close: func() error { return nil }}, nil
		}}}, nil
	case admin != "":
		return nil, fmt.Errorf("PICODATA_ADMIN_DSN is set without PICODATA_DSN")
	}
	var list []Opener
	for _, v := range simulated {
		list = append(list, Opener{"picotest-" + v, func(context.Context) (*Target, error) { return simulate(v) }})
	}
	return list, nil
}

func simulate(version string) (*Target, error) {
	c, err := picotest.New(picotest.Config{Version: version, Scale: 0.05})
	if err != nil {
		return nil, err
	}
	return &Target{
		Name: "picotest-" + version, DSN: c.AdminDSN(), AdminDSN: c.AdminDSN(),
		Close: func() error { c.Close(); return nil },
	}, nil
}
