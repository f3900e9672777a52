// Command service is a small shop over HTTP: what a service on Picodata looks like when it is whole. README.md walks through it.
//
//	PICODATA_DSN='picodata://app@node-a,node-b/' PGPASSWORD=… go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", or(os.Getenv("LISTEN"), "127.0.0.1:8080"))
	if err == nil {
		err = run(ctx, logger, os.Getenv("PICODATA_DSN"), listener)
	}
	if err != nil {
		logger.Error("the service ends", "error", err)
		os.Exit(1)
	}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// stopWithin is how long requests that are under way may take when the service stops.
const stopWithin = 10 * time.Second

// run serves until ctx ends, lets requests finish, and closes what it opened, in the reverse order.
func run(ctx context.Context, logger *slog.Logger, dsn string, listener net.Listener) (err error) {
	if dsn == "" {
		return errors.New("PICODATA_DSN is not set: want picodata://app@node-a,node-b/")
	}
	telemetry, err := startTelemetry()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, telemetry.close()) }()
	store, err := openStore(dsn, logger, telemetry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	start, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := store.migrate(start); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	server := &http.Server{Handler: handler(store, telemetry, logger), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	logger.Info("serving", "address", listener.Addr().String())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// No new requests; those under way have their connections until they are done. Then the pool is closed.
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancelLast()
	if err := server.Shutdown(last); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
