package tracefmt

import (
	"encoding/binary"
	"fmt"
)

func appendIndex(dst []byte, blocks []Handle) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(blocks)))
	for _, h := range blocks {
		dst = append(dst, byte(h.Kind), byte(h.Codec))
		dst = binary.AppendUvarint(dst, uint64(h.Epoch+1)) // NoEpoch becomes 0
		dst = binary.AppendUvarint(dst, uint64(h.Thread))
		dst = binary.AppendUvarint(dst, uint64(h.Raw))
		dst = binary.AppendUvarint(dst, uint64(h.Stored))
	}
	return dst
}

// parseIndex rebuilds the handles. end is the offset of the index block, up to which the
// blocks must fill the file exactly.
func parseIndex(b []byte, end int64) ([]Handle, error) {
	bad := func(what string) ([]Handle, error) {
		return nil, Corrupt(end, KindIndex, fmt.Errorf("%s: %w", what, ErrMalformed))
	}
	n, b, ok := uvarint(b)
	if !ok || n > maxBlocks || n > uint64(len(b))/6 || n > uint64(end)/blockHeaderSize {
		return bad("number of blocks")
	}
	blocks := make([]Handle, n)
	at := int64(headerSize)
	for i := range blocks {
		if len(b) < 2 {
			return bad("entry")
		}
		h := Handle{Offset: at, Kind: Kind(b[0]), Codec: Codec(b[1])}
		b = b[2:]
		for _, field := range [...]*uint32{&h.Epoch, &h.Thread, &h.Raw, &h.Stored} {
			var v uint64
			v, b, ok = uvarint(b)
			if !ok || v > 1<<32-1 {
				return bad("entry")
			}
			*field = uint32(v)
		}
		h.Epoch--
		at += h.Size()
		if at > end {
			return bad("block lengths")
		}
		blocks[i] = h
	}
	if len(b) != 0 || at != end {
		return bad("block lengths")
	}
	return blocks, nil
}

func uvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, b, false
	}
	return v, b[n:], true
}
