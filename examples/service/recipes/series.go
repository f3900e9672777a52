package recipes

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Points is the table of the third recipe: a sensor's points lie together, in the order of time. The hour is a column of its own, to group by.
const Points = `CREATE TABLE points (sensor INTEGER NOT NULL, at DATETIME NOT NULL, hour INTEGER NOT NULL, value DOUBLE NOT NULL, PRIMARY KEY (sensor, at)) DISTRIBUTED BY (sensor)`

func hourOf(at time.Time) int64 { return at.Unix() / 3600 }

// Record stores a point. The same point twice is one.
func Record(ctx context.Context, db *sql.DB, sensor int64, at time.Time, value float64) error {
	_, err := db.ExecContext(ctx, `INSERT INTO points (sensor, at, hour, value) VALUES ($1, $2, $3, $4) ON CONFLICT DO REPLACE`, sensor, at.UTC(), hourOf(at), value)
	return err
}

// Hour is what a sensor did in an hour.
type Hour struct {
	Begin     time.Time
	Points    int64
	Low, High float64
	Sum       float64
}

// Hours sums a sensor's points up by the hour, oldest first.
func Hours(ctx context.Context, db *sql.DB, sensor int64, from, to time.Time) (list []Hour, err error) {
	rows, err := db.QueryContext(ctx, `SELECT hour, count(*), min(value), max(value), sum(value) FROM points
		WHERE sensor = $1 AND hour >= $2 AND hour < $3 GROUP BY hour ORDER BY hour`, sensor, hourOf(from), hourOf(to))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h Hour
		var hour int64
		if err := rows.Scan(&hour, &h.Points, &h.Low, &h.High, &h.Sum); err != nil {
			return nil, err
		}
		h.Begin = time.Unix(hour*3600, 0).UTC()
		list = append(list, h)
	}
	return list, rows.Err()
}

// Forget deletes a sensor's points before a time, hour by hour, so that no statement is larger than an hour.
func Forget(ctx context.Context, db *sql.DB, sensor int64, from, before time.Time) error {
	for hour := hourOf(from); hour < hourOf(before); hour++ {
		if _, err := db.ExecContext(ctx, `DELETE FROM points WHERE sensor = $1 AND hour = $2`, sensor, hour); err != nil {
			return err
		}
	}
	return nil
}
