package wire

import (
	"database/sql/driver"
	"time"
	"unsafe"
)

// boxMost is how many values share an allocation at most: who keeps one of them as an interface keeps its neighbours alive.
const boxMost = 64

// boxes are a result's values as interfaces, many to an allocation. The first row makes do without: most results have one.
type boxes struct {
	ints    box[int64]
	floats  box[float64]
	strings box[string]
	times   box[time.Time]
}

// box makes interfaces of values of one type. Go's own conversion allocates for each of them, which is most of what a
// long result costs a client.
type box[T int64 | float64 | string | time.Time] struct {
	typ  unsafe.Pointer // of the first value's interface
	free []T
	size int
}

// iface is how an interface without methods lies in memory; TestBoxesAreInterfaces looks whether it does.
type iface struct{ typ, data unsafe.Pointer }

func (b *box[T]) value(v T) (boxed driver.Value) {
	if b.typ == nil {
		boxed = v
		b.typ = (*iface)(unsafe.Pointer(&boxed)).typ
		return boxed
	}
	if len(b.free) == 0 {
		b.size = min(max(2*b.size, 8), boxMost)
		b.free = make([]T, b.size)
	}
	b.free[0] = v // once: what an interface holds never changes
	*(*iface)(unsafe.Pointer(&boxed)) = iface{b.typ, unsafe.Pointer(&b.free[0])}
	b.free = b.free[1:]
	return boxed
}
