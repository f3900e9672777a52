package main

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and the precision of a histogram: two digits, so that a value is told to within 1 %.
const (
	histogramTop    = time.Hour
	histogramDigits = 2
)

// histogram counts durations. Its counts are HdrHistogram's, which are 1 % precise from nanoseconds to an hour; the
// extremes and the sum are exact. The zero histogram is empty and takes no memory.
type histogram struct {
	counts *hdrhistogram.Histogram
	total  uint64
	sum    time.Duration
	min    time.Duration
	max    time.Duration
}

func (h *histogram) hdr() *hdrhistogram.Histogram {
	if h.counts == nil {
		h.counts = hdrhistogram.New(1, int64(histogramTop), histogramDigits)
	}
	return h.counts
}

// add counts a duration; negative ones as 0, those above an hour as an hour.
func (h *histogram) add(d time.Duration) {
	d = min(max(d, 0), histogramTop)
	_ = h.hdr().RecordValue(int64(d)) // it refuses values above the range only
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
	h.hdr().Merge(o.counts)
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
	return min(time.Duration(h.counts.ValueAtQuantile(q*100)), h.max)
}

// mean is the average; 0 if there is none.
func (h *histogram) mean() time.Duration {
	if h.total == 0 {
		return 0
	}
	return h.sum / time.Duration(h.total)
}
