package rv

import "testing"

// TestPart: the bytes that atomic instructions on words are really about, in
// code as compilers write it.
func TestPart(t *testing.T) {
	testAndSet := []uint32{
		0x0037f713, // andi a4,a5,3
		0x0037171b, // slliw a4,a4,3
		0x00100693, // li a3,1
		0xffc7f793, // andi a5,a5,-4
		0x00e696bb, // sllw a3,a3,a4
		0x0f50000f, // fence iorw,ow
		0x44d7a52f, // amoor.w.aq a0,a3,(a5)
	}
	reused := append([]uint32{}, testAndSet...)
	reused[5] = 0x00000713 // li a4,0: the shift is gone
	add := []uint32{       // clang, a half-word: a2 holds the mask
		0x1005272f, // lr.w a4,(a0)
		0x00d707b3, // add a5,a4,a3
		0x00e7c7b3, // xor a5,a5,a4
		0x00c7f7b3, // and a5,a5,a2
		0x00e7c7b3, // xor a5,a5,a4
		0x18f527af, // sc.w a5,a5,(a0)
	}
	sync := []uint32{ // libgcc, a byte: a2 holds the mask, a3 its complement
		0x1405232f, // lr.w.aq t1,(a0)
		0x00b30e33, // add t3,t1,a1
		0x00ce7e33, // and t3,t3,a2
		0x00d37eb3, // and t4,t1,a3
		0x01ceeeb3, // or t4,t4,t3
		0x1bd52e2f, // sc.w.rl t3,t4,(a0)
	}
	word := []uint32{
		0x1006a7af, // lr.w a5,(a3)
		0x1cc6a5af, // sc.w.aq a1,a2,(a3)
	}
	or := []uint32{0x40d7a52f} // amoor.w a0,a3,(a5)
	const a2, a3, a4 = 12, 13, 14
	for _, test := range []struct {
		name         string
		code         []uint32
		at           int // the instruction
		regs         map[int]uint64
		offset, size uint32
	}{
		{"test and set, byte 0", testAndSet, 6, map[int]uint64{a4: 0, a3: 1}, 0, 1},
		{"test and set, byte 3", testAndSet, 6, map[int]uint64{a4: 24, a3: 1 << 24}, 3, 1},
		{"test and set, by its operand", reused, 6, map[int]uint64{a4: 0, a3: 1 << 16}, 2, 1},
		{"lower half", add, 0, map[int]uint64{a2: 0xffff}, 0, 2},
		{"upper half", add, 0, map[int]uint64{a2: 0xffffffff_ffff0000}, 2, 2},
		{"a mask of no part", add, 0, map[int]uint64{a2: 0xff8}, 0, 4},
		{"byte 1 and its complement", sync, 0, map[int]uint64{a2: 0xff00, a3: 0xffffffff_ffff00ff}, 1, 1},
		{"compare and swap of a word", word, 0, nil, 0, 4},
		{"or of a word", or, 0, map[int]uint64{a3: 0x100}, 0, 4},
	} {
		var x [32]uint64
		for r, v := range test.regs {
			x[r] = v
		}
		pc := 0x1000 + 4*uint64(test.at)
		p := PartAt(0x1000, pc, codeAt(test.code...))
		i, _ := Decode(test.code[test.at])
		if offset, size := p.Bytes(i.Op, uint32(x[i.Rs2]), &x); offset != test.offset || size != test.size {
			t.Errorf("%s: %d bytes at %d, want %d at %d (%+v)", test.name, size, offset, test.size, test.offset, p)
		}
	}
}
