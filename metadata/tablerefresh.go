package metadata

import (
	"errors"
	"time"

	"github.com/picodata/go-picodata/options"
)

// refreshTables reads _pico_table where sharding keys are to be known without the server's
// notices: with routing=keys, and on servers that send none.
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
	if w.loop.tablesTried && age < w.config.BucketFloor && !(asked && age >= 500*time.Millisecond) {
		return
	}
	w.mu.Lock()
	w.wantTables = false
	w.mu.Unlock()
	w.loop.tablesTried, w.loop.tablesAt = true, now
	tables, err := w.source.ReadTables(w.ctx, w.querier())
	var denied *DeniedError
	switch {
	case errors.As(err, &denied):
		w.setTablesDenied(true)
		w.tables.Store(nil)
		w.noteDenied(tableTable)
	case err != nil:
		w.log.Warn("picodata: tables can't be read, what is known of them stays in force", "address", w.loop.connTo.Address, "error", err)
		if !isServerError(err) && w.ctx.Err() == nil {
			w.leaveNode()
		}
	default:
		w.setTablesDenied(false)
		w.tables.Store(&tables)
		if w.config.OnTables != nil {
			w.config.OnTables(tables)
		}
	}
}

func (w *Watcher) setTablesDenied(denied bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tablesDenied = denied
}
