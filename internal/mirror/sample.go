package mirror

import (
	"math"
	"sync/atomic"
)

// sampleBlock is the number of statements within which the share is exact.
const sampleBlock = 64

// sampler picks a share of the statements: exactly so many of every block, at places that differ from
// block to block. Every tenth statement would be the same one of a program that runs ten in a circle.
type sampler struct {
	ratio float64
	seed  uint64
	n     atomic.Uint64
}

// take decides about the next statement.
func (s *sampler) take() bool {
	return s.ratio >= 1 || s.picks(s.n.Add(1)-1)
}

// picks decides about the i-th statement, counted from 0.
func (s *sampler) picks(i uint64) bool {
	block, at := i/sampleBlock, i%sampleBlock
	// The block's places in an order of its own: an odd factor permutes the numbers below a power of two.
	h := mix(s.seed + block*0x9e3779b97f4a7c15)
	place := (at*(h|1) + h>>32) % sampleBlock
	return place < s.upTo(block+1)-s.upTo(block)
}

// upTo is how many statements of the first so many blocks are picked.
func (s *sampler) upTo(blocks uint64) uint64 {
	return uint64(math.Floor(float64(blocks*sampleBlock) * s.ratio))
}

// mix is the finalizer of splitmix64.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
