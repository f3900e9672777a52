package metadata

import (
	"errors"
	"time"

	"github.com/picodata/go-picodata/options"
)

// refreshTables reads _pico_table where sharding keys are to be known without the server's
// notices: with routing=keys, and on servers that send none. At each refresh a small question tells
// whether anything about tables has changed.
func (w *Watcher) refreshTables() {
	w.mu.Lock()
	asked := w.wantTables
	w.mu.Unlock()
	t := w.Topology()
	wanted := w.options.Routing == options.RoutingKeys ||
		w.options.Routing == options.RoutingInsert && !t.MinVersion().HasQueryMetadata()
	if !wanted || t.Static || !t.RolesKnown {
		return
	}
	now := w.clock.Now()
	age := now.Sub(w.loop.tablesAt)
	due := !w.loop.tablesTried || age >= w.config.BucketFloor || w.loop.tablesPending || asked && age >= 500*time.Millisecond
	mark, ok := w.readTablesMark()
	if !due && (!ok || mark == w.loop.tablesMark) || w.loop.conn == nil {
		return
	}
	w.mu.Lock()
	w.wantTables = false
	w.mu.Unlock()
	// The mark was read first: what changes between the two readings changes it again.
	w.loop.tablesTried, w.loop.tablesAt, w.loop.tablesMark = true, now, mark
	tables, err := w.source.ReadTables(w.ctx, w.querier())
	var denied *DeniedError
	switch {
	case errors.As(err, &denied):
		w.setTablesDenied(true)
		w.noteDenied(tableTable)
		if w.tables.Swap(nil) != nil && w.config.OnTables != nil {
			w.config.OnTables(nil)
		}
	case err != nil:
		w.log.Warn("picodata: tables can't be read, what is known of them stays in force", "address", w.loop.connTo.Address, "error", err)
		w.loop.tablesMark = tablesMark{} // try again
		if !isServerError(err) && w.ctx.Err() == nil {
			w.leaveNode()
		}
	default:
		w.setTablesDenied(false)
		w.loop.tablesPending = false
		for _, t := range tables {
			w.loop.tablesPending = w.loop.tablesPending || !t.Operable // its DDL ends without another mark
		}
		w.tables.Store(&tables)
		if w.config.OnTables != nil {
			w.config.OnTables(tables)
		}
	}
}

// readTablesMark reads the mark where tables are known. What goes wrong is no worse than not
// knowing: the tables are read anew after BucketFloor, or when a statement asks.
func (w *Watcher) readTablesMark() (tablesMark, bool) {
	mark, ok, err := w.source.readTablesMark(w.ctx, w.querier())
	if err != nil && !isServerError(err) && w.ctx.Err() == nil {
		w.leaveNode()
	}
	return mark, ok && err == nil
}

func (w *Watcher) setTablesDenied(denied bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tablesDenied = denied
}
