package mirror

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"github.com/lib/pq"
	"github.com/picodata/go-picodata/options"
)

// identityTimeout bounds the questions of identify.
const identityTimeout = 5 * time.Second

// The questions that tell whose instance is at the other end. The first two need no privilege; the second
// is the first one's name before 25.3. The last one also finds an instance that the snapshot of the
// topology doesn't know yet; a user who may not ask it goes without.
var (
	whoAreYou  = []string{"SELECT pico_instance_uuid()", "SELECT instance_uuid()"}
	whoIsThere = "SELECT uuid FROM _pico_instance"
)

// identify turns mirroring off if the connection leads to the very cluster whose traffic is mirrored: every
// write would happen twice. A server that knows none of the functions isn't Picodata, so it is another one.
func (m *Mirror) identify(ctx context.Context, conn Conn) error {
	limit := m.clock.AfterFunc(identityTimeout, func() { _ = conn.Close() })
	defer limit.Stop()
	for _, sql := range whoAreYou {
		uuids, err := texts(ctx, conn, sql)
		if isAnswer(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := m.foreign(uuids); err != nil {
			return err
		}
		uuids, err = texts(ctx, conn, whoIsThere)
		if err != nil && !isAnswer(err) {
			return err
		}
		return m.foreign(uuids)
	}
	return nil
}

// foreign refuses instances of our own.
func (m *Mirror) foreign(uuids []string) error {
	for _, uuid := range uuids {
		if m.cfg.Ours(uuid) {
			err := SameCluster()
			m.TurnOff(err)
			return err
		}
	}
	return nil
}

// SameCluster is why a mirror is refused that is the cluster itself.
func SameCluster() error {
	return &options.ConfigError{Key: "mirror", Msg: "this is the very cluster whose traffic is to be mirrored, so every statement would run on it twice: name another cluster"}
}

func isAnswer(err error) bool {
	var p *pq.Error
	return errors.As(err, &p)
}

// texts reads the only column of a query.
func texts(ctx context.Context, conn Conn, sql string) ([]string, error) {
	rows, err := conn.Query(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	var all []string
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if err == io.EOF {
			return all, rows.Close()
		}
		if err != nil {
			_ = rows.Close() // the first error tells more
			return nil, err
		}
		if len(row) > 0 {
			switch v := row[0].(type) {
			case string:
				all = append(all, v)
			case []byte:
				all = append(all, string(v))
			}
		}
	}
}
