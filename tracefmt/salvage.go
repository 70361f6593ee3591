package tracefmt

import (
	"bufio"
	"hash/crc32"
	"io"
)

// salvage walks the blocks from the front and stops at the first one that is cut off or
// damaged. It only verifies the checksums of the payloads, in constant memory.
func (t *Reader) salvage() {
	in := bufio.NewReaderSize(io.NewSectionReader(t.r, headerSize, max(0, t.size-headerSize)), 1<<16)
	at := int64(headerSize)
	sum := crc32.New(castagnoli)
	head := make([]byte, blockHeaderSize)
	var blocks []Handle
	for len(blocks) < maxBlocks {
		if _, err := io.ReadFull(in, head); err != nil {
			break
		}
		h, want, err := parseBlockHeader(head, at)
		if err != nil || h.Kind == KindIndex {
			break
		}
		sum.Reset()
		if n, err := io.CopyN(sum, in, int64(h.Stored)); err != nil || n != int64(h.Stored) || sum.Sum32() != want {
			break
		}
		blocks = append(blocks, h)
		at += h.Size()
	}
	epochs, _, _ := committed(blocks)
	kept := blocks[:0]
	for _, h := range blocks {
		if h.Epoch == NoEpoch || h.Epoch < epochs {
			kept = append(kept, h)
		}
	}
	t.blocks, t.epochs = kept, epochs
}

// committed counts the epochs that are closed in order, each with as many blocks as its
// commit block says. usable is the number of blocks in these epochs. ok is false if a
// block is out of order.
func committed(blocks []Handle) (epochs uint32, usable int, ok bool) {
	var inEpoch uint32
	for i, h := range blocks {
		switch {
		case h.Kind == KindIndex:
			return epochs, usable, false
		case h.Kind.global():
			if h.Epoch != NoEpoch {
				return epochs, usable, false
			}
			if inEpoch == 0 {
				usable = i + 1
			}
		case h.Epoch != epochs:
			return epochs, usable, false
		case h.Kind == KindCommit:
			if h.Thread != inEpoch {
				return epochs, usable, false
			}
			epochs, inEpoch, usable = epochs+1, 0, i+1
		default:
			inEpoch++
		}
	}
	return epochs, usable, true
}
