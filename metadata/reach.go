package metadata

import (
	"context"
	"errors"
	"fmt"

	"github.com/picodata/go-picodata/options"
)

// WrongInstanceError says that another instance answers at an address than the one looked for.
type WrongInstanceError struct {
	Address   string
	Want, Got string // instance uuids
}

func (e *WrongInstanceError) Error() string {
	return fmt.Sprintf("picodata: at %s answers instance %s, not %s", e.Address, e.Got, e.Want)
}

// Reach opens a connection to one node by the first of its addresses that serves: the
// advertised one first, the others beside it once it has been silent for DefaultStagger or has failed. Who
// answers at an alternate address is asked (whoIs, see Source.Identity) before it counts, for the
// address may be that of a load balancer, or another instance's by now. So a node whose
// advertised address is unreachable from here costs a stagger per dial, not a time-out. stop is as in Race.
func Reach[T any](ctx context.Context, clock options.Clock, instanceUUID, address string, alternates []string,
	dial func(ctx context.Context, address string) (T, error), whoIs func(ctx context.Context, conn T) (string, error),
	discard func(T), stop func(error) bool) (T, error) {
	if len(alternates) == 0 {
		return dial(ctx, address)
	}
	conn, _, err := Race(ctx, clock, DefaultStagger, 1+len(alternates), func(ctx context.Context, i int) (T, error) {
		if i == 0 {
			return dial(ctx, address)
		}
		var none T
		conn, err := dial(ctx, alternates[i-1])
		if err != nil {
			return none, err
		}
		got, err := whoIs(ctx, conn)
		if err == nil && got != instanceUUID {
			err = &WrongInstanceError{Address: alternates[i-1], Want: instanceUUID, Got: got}
		}
		if err != nil {
			discard(conn)
			return none, err
		}
		return conn, nil
	}, discard, func(err error) bool {
		var wrong *WrongInstanceError
		return !errors.As(err, &wrong) && stop != nil && stop(err)
	})
	return conn, err
}
