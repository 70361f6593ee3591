package app

import (
	"encoding/binary"
	"hash/crc32"
)

// sealed returns a stream with corrected checksums, as far as it can be parsed, so that
// other damage is not hidden by them.
func sealed(data []byte) []byte {
	out := append([]byte(nil), data...)
	put := func(start, end int) bool {
		if start > end || end+4 > len(out) {
			return false
		}
		binary.LittleEndian.PutUint32(out[end:], crc32.ChecksumIEEE(out[start:end]))
		return true
	}
	at := 10
	number := func() uint64 {
		v, n := binary.Uvarint(out[min(at, len(out)):])
		at += max(n, 1)
		return v
	}
	number()
	for range min(number(), 100) {
		number()
	}
	if !put(0, at) {
		return out
	}
	at += 4
	for at < len(out) && out[at] == 1 {
		at++
		n := number()
		if n > uint64(len(out)) || !put(at, at+int(n)) {
			return out
		}
		at += int(n) + 4
	}
	start := at
	number()
	number()
	for range min(2*number(), 1000) {
		number()
	}
	put(start, at)
	return out
}
