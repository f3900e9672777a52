package recipes

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Jobs is the table of the fourth recipe. A queue's jobs lie together; several queues spread over the cluster. until is when a job may be taken: at once,
// or when whoever has it must have died.
const Jobs = `CREATE TABLE jobs (queue INTEGER NOT NULL, id INTEGER NOT NULL, until INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (queue, id)) DISTRIBUTED BY (queue)`

// Job is a row that somebody has taken. until is what proves that it is still his.
type Job struct {
	Queue, ID int64
	Body      string
	until     int64
}

// Push adds a job under an id that the caller makes; the same one twice is one.
func Push(ctx context.Context, db *sql.DB, queue, id int64, body string) error {
	_, err := db.ExecContext(ctx, `INSERT INTO jobs (queue, id, until, body) VALUES ($1, $2, 0, $3) ON CONFLICT DO NOTHING`, queue, id, body)
	return err
}

// Take gives the caller the oldest job that nobody has, for a lease, or nil if there is none. There are no row locks: the UPDATE asks for the value that was read, so
// of two who want a job one changes the row, and the other, who changed none, looks for the next.
func Take(ctx context.Context, db *sql.DB, queue int64, now time.Time, lease time.Duration) (*Job, error) {
	rows, err := db.QueryContext(ctx, `SELECT id, until, body FROM jobs WHERE queue = $1 AND until <= $2 ORDER BY id LIMIT 10`, queue, now.UnixNano())
	if err != nil {
		return nil, err
	}
	var free []Job
	for rows.Next() {
		j := Job{Queue: queue}
		if err := rows.Scan(&j.ID, &j.until, &j.Body); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		free = append(free, j)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, j := range free {
		until := now.Add(lease).UnixNano()
		result, err := db.ExecContext(ctx, `UPDATE jobs SET until = $1 WHERE queue = $2 AND id = $3 AND until = $4`, until, queue, j.ID, j.until)
		if err != nil {
			return nil, err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			j.until = until
			return &j, err
		}
	}
	return nil, nil
}

// Done removes a job. It is false if the lease had ended and somebody else has the job now.
func Done(ctx context.Context, db *sql.DB, j *Job) (bool, error) {
	result, err := db.ExecContext(ctx, `DELETE FROM jobs WHERE queue = $1 AND id = $2 AND until = $3`, j.Queue, j.ID, j.until)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}
