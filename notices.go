package picodata

import (
	"sync"
	"sync/atomic"

	"github.com/picodata/go-picodata/options"
)

// noticeQueue is how many notices may wait for a slow handler; more are dropped and counted.
const noticeQueue = 1024

// notices hands the servers' notices to the user's handler on a goroutine of its own, which lives as long as
// there are some: a handler that blocks holds up no statement.
type notices struct {
	handler func(options.Notice)
	dropped atomic.Uint64

	mu      sync.Mutex
	waiting []options.Notice
	running bool
}

// put takes a notice. It never blocks.
func (q *notices) put(n options.Notice) {
	if q.handler == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= noticeQueue {
		q.dropped.Add(1)
		return
	}
	q.waiting = append(q.waiting, n)
	if !q.running {
		q.running = true
		go q.deliver()
	}
}

func (q *notices) deliver() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.waiting, q.running = nil, false
			q.mu.Unlock()
			return
		}
		n := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.handler(n)
	}
}
