package picodata

import "errors"

// ErrLastInsertID is what LastInsertId gives: Picodata has no sequences.
var ErrLastInsertID = errors.New("picodata: LastInsertId isn't supported: Picodata has no sequences; make the key in the client (a UUID, for instance)")

// result is what an Exec gives.
type result struct{ affected int64 }

// LastInsertId is refused.
func (result) LastInsertId() (int64, error) { return 0, ErrLastInsertID }

// RowsAffected is the number of rows that the statement touched.
func (r result) RowsAffected() (int64, error) { return r.affected, nil }
