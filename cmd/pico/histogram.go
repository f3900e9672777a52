package main

import (
	"math/bits"
	"time"
)

// subBits is the precision of a histogram: 64 steps for each doubling, so that a value is told to within 1/64.
const subBits = 6

// histogram counts durations in buckets that grow with what they count, as HDR histograms do: 1.6 % precise
// from nanoseconds to hours, and as large as its largest value needs. The zero histogram is empty.
type histogram struct {
	counts []uint64
	total  uint64
	sum    time.Duration
	min    time.Duration
	max    time.Duration
}

// bucketOf is the position of a value: values below 2·64 have one each, then each doubling has 64.
func bucketOf(v uint64) int {
	shift := bits.Len64(v) - subBits - 1
	if shift <= 0 {
		return int(v)
	}
	return shift<<subBits + int(v>>shift)
}

// topOf is the largest value of a bucket.
func topOf(bucket int) uint64 {
	shift := bucket>>subBits - 1
	if shift <= 0 {
		return uint64(bucket)
	}
	return (uint64(bucket-shift<<subBits)+1)<<shift - 1
}

// add counts a duration; negative ones as 0.
func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	at := bucketOf(uint64(d))
	if at >= len(h.counts) {
		h.counts = append(h.counts, make([]uint64, at+1-len(h.counts))...)
	}
	h.counts[at]++
	if h.total == 0 || d < h.min {
		h.min = d
	}
	h.total++
	h.sum += d
	h.max = max(h.max, d)
}

// merge adds what another histogram counted.
func (h *histogram) merge(o *histogram) {
	if o.total == 0 {
		return
	}
	if len(o.counts) > len(h.counts) {
		h.counts = append(h.counts, make([]uint64, len(o.counts)-len(h.counts))...)
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	if h.total == 0 || o.min < h.min {
		h.min = o.min
	}
	h.total += o.total
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// quantile is the value that the share q (0 to 1) of all values doesn't exceed; 0 if there are none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(1, uint64(q*float64(h.total)+0.999999))
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(time.Duration(topOf(i)), h.max)
		}
	}
	return h.max
}

// mean is the average; 0 if there is none.
func (h *histogram) mean() time.Duration {
	if h.total == 0 {
		return 0
	}
	return h.sum / time.Duration(h.total)
}
