package picodata

import (
	"context"
	"database/sql/driver"
	"strconv"
	"strings"

	"github.com/picodata/go-picodata/internal/bulk"
	"github.com/picodata/go-picodata/internal/exec"
	"github.com/picodata/go-picodata/internal/route"
	"github.com/picodata/go-picodata/internal/sqltext"
)

// splitInsert runs an INSERT of rows of several owners as statements of one owner each, under split_inserts. split: it
// did; otherwise the statement goes as it is.
func (s *session) splitInsert(ctx context.Context, query string, args []driver.NamedValue) (affected int64, split bool, err error) {
	c := s.c
	info := &s.checkout.Text(query).Info
	if info.Class != sqltext.Insert || info.Rows < 2 || info.RowValues == nil || s.checkout.Tx != nil {
		return 0, false, nil
	}
	if h := exec.HintOf(ctx); h != nil && (h.Placed || h.NoRetry || h.Limits != (exec.Limits{})) {
		return 0, false, nil
	}
	for _, ref := range info.RowValues {
		if ref.Param < 0 || ref.Param >= len(args) || ref.Cast != "" {
			return 0, false, nil
		}
	}
	head, tail, ok := sqltext.SplitValues(query)
	if !ok || sqltext.HasOption(tail) {
		return 0, false, nil
	}
	if p, err := c.exec.Plan(ctx, query, args); err != nil || p.Reason != route.SeveralOwners {
		return 0, false, nil // whatever is wrong will show where the statement runs
	}
	columns := info.Columns
	if columns == nil {
		columns = c.exec.Columns(info.Table)
	}
	width := len(info.RowValues) / info.Rows
	if len(columns) != width || width > maxChunkParams {
		return 0, false, nil
	}
	into, err := c.exec.LoadInto(ctx, info.Table, columns)
	if err != nil {
		return 0, true, err
	}
	res, err := bulk.Run(ctx, bulk.Config{
		Text: rowsText(head, tail, width, into.ForwardOff()), Columns: width,
		ChunkRows: min(info.Rows, maxChunkRows, maxChunkParams/width), ChunkSize: chunkBytes, InFlight: defaultInFlight,
		Skips: true, Now: c.exec.Clock.Now, Pause: into.Pause,
		Convert: func(v any) (driver.Value, error) { return v, nil }, // database/sql has
	}, insertTarget{into}, func(yield func([]any) bool) {
		for row := range info.Rows {
			values := make([]any, width)
			for i, ref := range info.RowValues[row*width : (row+1)*width] {
				values[i] = args[ref.Param].Value
			}
			if !yield(values) {
				return
			}
		}
	})
	if err != nil {
		// All rows are there, so the account is of all of them: what wasn't looked at any more wasn't sent.
		for row := res.Rows; row < int64(info.Rows); row++ {
			res.Unsent++
			res.UnsentRows = append(res.UnsentRows, row)
		}
		res.Rows = int64(info.Rows)
		return 0, true, &InsertError{Result: resultOf(&res), Err: err}
	}
	return res.Inserted, true, nil
}

// rowsText gives the INSERT of so many rows between a head and a tail. Rows of one owner must not be forwarded where the
// server can hold that.
func rowsText(head, tail string, columns int, forwardOff bool) func(owned bool, rows int) string {
	return func(owned bool, rows int) string {
		var b strings.Builder
		b.Grow(len(head) + rows*columns*6 + len(tail) + 32)
		b.WriteString(head)
		b.WriteByte(' ')
		n := 0
		for r := range rows {
			if r > 0 {
				b.WriteByte(',')
			}
			for i := range columns {
				n++
				b.WriteByte("(,"[min(i, 1)])
				b.WriteByte('$')
				b.WriteString(strconv.Itoa(n))
			}
			b.WriteByte(')')
		}
		b.WriteString(tail)
		if owned && forwardOff {
			b.WriteString(" OPTION (forward = off)")
		}
		return b.String()
	}
}
