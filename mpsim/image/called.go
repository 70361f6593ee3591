package image

import (
	"encoding/binary"
	"slices"
	"sync"
)

// called has the addresses of functions that have no symbol.
type called struct {
	once  sync.Once
	addrs []uint64
}

// Called returns the addresses in code without symbols that the code of the image calls
// directly, in order. These are functions of a stripped shared object, or of a stripped
// executable that uses shared objects. For other images, Called returns nil. The slice is
// shared and must not be changed.
func (m *Image) Called() []uint64 {
	if !m.stripped || m.Path == "" && m.Interp == "" {
		return nil
	}
	m.called.once.Do(func() { m.called.addrs = m.findCalled() })
	return m.called.addrs
}

func (m *Image) findCalled() []uint64 {
	found := map[uint64]bool{}
	for _, r := range m.CodeRanges() {
		for pc := r.Low; pc < r.High; {
			b := m.Code(pc, 4)
			if len(b) < 2 {
				break
			}
			if b[0]&3 != 3 {
				pc += 2
				continue
			}
			if len(b) < 4 {
				break
			}
			const jalRA, opcodeAndRd = 0x0ef, 0xfff // JAL x1
			if in := binary.LittleEndian.Uint32(b); in&opcodeAndRd == jalRA {
				if to := pc + jumpOffset(in); m.Exec(to) {
					found[to] = true
				}
			}
			pc += 4
		}
	}
	var addrs []uint64
	for addr := range found {
		if _, named := m.Func(addr); !named {
			addrs = append(addrs, addr)
		}
	}
	slices.Sort(addrs)
	return addrs
}

// jumpOffset returns the immediate of a JAL.
func jumpOffset(in uint32) uint64 {
	imm := in>>21&0x3ff<<1 | in>>20&1<<11 | in&0xff000
	return uint64(int64(int32(imm|in>>31<<20) << 11 >> 11))
}
