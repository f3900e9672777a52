package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"
)

// raw is the limit: it writes a Bind, Execute and Sync built beforehand and reads to
// ReadyForQuery, decoding nothing.
type raw struct {
	conn  net.Conn
	r     *bufio.Reader
	frame []byte
}

// openRaw logs in without a password or with a clear one and prepares the statement.
func openRaw(ctx context.Context, t target, sql string) (*raw, error) {
	conn, err := t.dial(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	fe := pgproto3.NewFrontend(conn, conn)
	fe.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": t.user, "database": t.database}})
	if err := fe.Flush(); err != nil {
		return nil, err
	}
	if err := toReady(fe); err != nil {
		return nil, err
	}
	fe.Send(&pgproto3.Parse{Name: "s", Query: sql})
	fe.Send(&pgproto3.Sync{})
	if err := fe.Flush(); err != nil {
		return nil, err
	}
	if err := toReady(fe); err != nil {
		return nil, err
	}
	return &raw{conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func toReady(fe *pgproto3.Frontend) error {
	for {
		m, err := fe.Receive()
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			return errors.New(m.Message)
		case *pgproto3.AuthenticationMD5Password, *pgproto3.AuthenticationSASL:
			return errors.New("the raw loop logs in with trust only")
		case *pgproto3.ReadyForQuery:
			return nil
		}
	}
}

// build makes the frames of one execution.
func (r *raw) build(args []any) error {
	bind := &pgproto3.Bind{PreparedStatement: "s", ResultFormatCodes: []int16{0}}
	for _, a := range args {
		bind.Parameters = append(bind.Parameters, fmt.Append(nil, a))
	}
	var err error
	if r.frame, err = bind.Encode(r.frame[:0]); err != nil {
		return err
	}
	if r.frame, err = (&pgproto3.Execute{}).Encode(r.frame); err != nil {
		return err
	}
	r.frame, err = (&pgproto3.Sync{}).Encode(r.frame)
	return err
}

// run makes one flight.
func (r *raw) run() error {
	if _, err := r.conn.Write(r.frame); err != nil {
		return err
	}
	for {
		header, err := r.r.Peek(5)
		if err != nil {
			return err
		}
		typ, length := header[0], int(binary.BigEndian.Uint32(header[1:]))
		if _, err := r.r.Discard(length + 1); err != nil {
			return err
		}
		switch typ {
		case 'E':
			return errors.New("the server answered with an error")
		case 'Z':
			return nil
		}
	}
}

var _ io.Closer = (*raw)(nil)

// Close closes the socket.
func (r *raw) Close() error { return r.conn.Close() }
