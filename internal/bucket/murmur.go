// Package bucket computes which bucket a row lies in, as the server does: the values of the
// sharding key, as the server will see them after it has parsed the parameters that lib/pq
// sends as text, are encoded one after the other and hashed; the hash modulo the tier's number
// of buckets, plus one, is the bucket.
//
// What the server will make of a value isn't always certain. Such values aren't guessed: they
// are reported with a reason and the statement goes unrouted, which costs a hop at most.
package bucket

import "math/bits"

// seed is the seed of Tarantool's key hashes.
const seed = 13

const (
	c1 = 0xcc9e2d51
	c2 = 0x1b873593
)

// Key hashes the parts of a sharding key in the order of DISTRIBUTED BY. The zero value is
// an empty key; a Key is a plain value and never allocates.
//
// The hash is MurmurHash3 x86_32 with seed 13 over the parts' encodings without anything
// between them, so that ('ab', 'c') and ('a', 'bc') share a bucket.
type Key struct {
	h    uint32 // the state, xor seed, so that zero is the start
	tail uint32 // bytes not yet mixed in, the first one lowest
	n    uint32 // bytes so far; the lowest two bits say how many are in tail
}

func mix(h, k uint32) uint32 {
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	return bits.RotateLeft32(h, 13)*5 + 0xe6546b64
}

func (k *Key) writeByte(b byte) {
	k.tail |= uint32(b) << (8 * (k.n & 3))
	k.n++
	if k.n&3 == 0 {
		k.h = mix(k.h^seed, k.tail) ^ seed
		k.tail = 0
	}
}

func (k *Key) write(b []byte) {
	for k.n&3 != 0 && len(b) > 0 {
		k.writeByte(b[0])
		b = b[1:]
	}
	h := k.h ^ seed
	for len(b) >= 4 {
		h = mix(h, uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)
		k.n += 4
		b = b[4:]
	}
	k.h = h ^ seed
	for _, c := range b {
		k.writeByte(c)
	}
}

func (k *Key) writeString(s string) {
	for len(s) > 0 {
		if k.n&3 != 0 || len(s) < 4 {
			k.writeByte(s[0])
			s = s[1:]
			continue
		}
		k.h = mix(k.h^seed, uint32(s[0])|uint32(s[1])<<8|uint32(s[2])<<16|uint32(s[3])<<24) ^ seed
		k.n += 4
		s = s[4:]
	}
}

// Sum is the hash of what was added so far.
func (k Key) Sum() uint32 {
	h := k.h ^ seed
	if k.n&3 != 0 {
		h ^= bits.RotateLeft32(k.tail*c1, 15) * c2
	}
	h ^= k.n
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// Bucket is the bucket of the key in a tier of count buckets, from 1 to count. 0 if count is 0:
// a tier without buckets holds no sharded rows.
func (k Key) Bucket(count uint64) uint64 {
	if count == 0 {
		return 0
	}
	return uint64(k.Sum())%count + 1
}
