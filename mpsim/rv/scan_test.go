package rv

import (
	"testing"

	"hindsight/tracefmt/event"
)

// codeAt returns words as code starting at address 0x1000.
func codeAt(words ...uint32) Code {
	return func(addr uint64) (uint16, bool) {
		n := (addr - 0x1000) / 4
		if addr < 0x1000 || n >= uint64(len(words)) {
			return 0, false
		}
		return uint16(words[n] >> (8 * (addr & 2))), true
	}
}

// Encodings from riscv64-linux-gnu-as.
const (
	lwA5      = 0x0007a783 // lw a5,0(a5)
	swA4      = 0x00e7a023 // sw a4,0(a5)
	fldFa5    = 0x0007b787 // fld fa5,0(a5)
	addiA5    = 0x00178793 // addi a5,a5,1
	fenceRRW  = 0x0230000f // fence r,rw
	fenceRWRW = 0x0330000f
	fenceRWW  = 0x0310000f // fence rw,w
	fenceWW   = 0x0110000f // fence w,w
	fenceIRW  = 0x0aa0000f // fence ir,ir
	amoswapAq = 0x0ce7a02f // amoswap.w.aq x0,a4,(a5)
	lrAqRl    = 0x1607a72f // lr.w.aqrl a4,(a5)
	ret       = 0x00008067
	jalRA     = 0x100000ef // jal ra,0x100
	beqA4A5   = 0x00f70463 // beq a4,a5,8
)

func TestScan(t *testing.T) {
	for _, test := range []struct {
		name  string
		code  []uint32
		at    uint64 // offset of the block
		insts int
		end   event.End
		mode  event.Mode
		sites int
	}{
		{"plain load", []uint32{lwA5, addiA5, ret}, 0, 3, event.EndReturn, 0, 1},
		{"acquire load", []uint32{addiA5, lwA5, fenceRRW, ret}, 0, 2, event.EndAtomic, event.Acquire, 0},
		{"sequentially consistent load", []uint32{fenceRWRW, lwA5, fenceRWRW, ret}, 0, 2, event.EndAtomic, event.Acquire, 0},
		{"load and a weaker fence", []uint32{lwA5, fenceWW, ret}, 0, 3, event.EndReturn, 0, 1},
		{"fence that orders no writes behind", []uint32{lwA5, fenceIRW, ret}, 0, 3, event.EndReturn, 0, 1},
		{"floating-point load, fence", []uint32{fldFa5, fenceRRW, ret}, 0, 2, event.EndFall, 0, 1},
		{"fence on its own", []uint32{addiA5, fenceRWW, lwA5, swA4, ret}, 0, 2, event.EndFall, 0, 0},
		{"full fence before a word", []uint32{fenceRWRW, swA4, ret}, 0, 1, event.EndFall, 0, 0},
		{"release store behind an addition", []uint32{fenceRWW, addiA5, swA4, ret}, 0, 3, event.EndAtomic, event.Release, 0},
		{"sequentially consistent store, then a plain one", []uint32{fenceRWW, swA4, fenceRWRW, swA4, ret}, 8, 1, event.EndFall, 0, 0},
		{"store behind a sequentially consistent store", []uint32{fenceRWW, swA4, fenceRWRW, swA4, ret}, 12, 2, event.EndReturn, 0, 1},
		{"release store", []uint32{fenceRWW, swA4, ret}, 0, 2, event.EndAtomic, event.Release, 0},
		{"release store, entered at the store", []uint32{fenceRWW, swA4, ret}, 4, 1, event.EndAtomic, event.Release, 0},
		{"store behind a weaker fence", []uint32{fenceWW, swA4, ret}, 0, 3, event.EndReturn, 0, 1},
		{"amoswap", []uint32{amoswapAq, ret}, 0, 1, event.EndAtomic, event.Acquire, 0},
		{"fence and amoswap", []uint32{fenceRWW, amoswapAq, ret}, 0, 2, event.EndAtomic, event.Acquire | event.Release, 0},
		{"lr", []uint32{lrAqRl, ret}, 0, 1, event.EndAtomic, event.Acquire | event.Release, 0},
		{"call", []uint32{jalRA}, 0, 1, event.EndCall, 0, 0},
		{"branch", []uint32{swA4, beqA4A5, ret}, 0, 2, event.EndBranch, 0, 1},
		{"end of the segment", []uint32{lwA5, addiA5}, 0, 2, event.EndFall, 0, 1},
		{"illegal", []uint32{lwA5, 0}, 0, 2, event.EndTrap, 0, 1},
		{"nothing there", nil, 0, 0, event.EndFall, 0, 0},
	} {
		b := Scan(0x1000+test.at, codeAt(test.code...), 0)
		if len(b.Insts) != test.insts || b.End != test.end || b.Mode != test.mode || len(b.Sites()) != test.sites {
			t.Errorf("%s: %d instructions, end %v, mode %d, %d sites; want %d, %v, %d, %d", test.name,
				len(b.Insts), b.End, b.Mode, len(b.Sites()), test.insts, test.end, test.mode, test.sites)
		}
	}
}

func TestScanLimit(t *testing.T) {
	words := make([]uint32, 100)
	for n := range words {
		words[n] = addiA5
	}
	if b := Scan(0x1000, codeAt(words...), 0); len(b.Insts) != MaxBlock || b.End != event.EndFall || b.Bytes != 4*MaxBlock {
		t.Errorf("%d instructions, end %v", len(b.Insts), b.End)
	}
	if b := Scan(0x1000, codeAt(jalRA), 0); b.Target != 0x1100 {
		t.Errorf("target %#x", b.Target)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte{0x83, 0xa7, 0x07, 0x00, 0x0f, 0x00, 0x30, 0x02}, uint8(0))
	f.Add([]byte{0x01}, uint8(0))
	f.Fuzz(func(t *testing.T, code []byte, at uint8) {
		b := Scan(uint64(at), func(addr uint64) (uint16, bool) {
			if addr+1 < addr || addr+1 >= uint64(len(code)) {
				return 0, false
			}
			return uint16(code[addr]) | uint16(code[addr+1])<<8, true
		}, 0)
		var bytes uint32
		for n, i := range b.Insts {
			bytes += uint32(i.Len)
			if n < len(b.Insts)-1 && i.End() != event.EndFall {
				t.Fatalf("%v inside a block", i.Op)
			}
		}
		if bytes != b.Bytes || len(b.Insts) > MaxBlock {
			t.Fatalf("%d bytes in %d instructions, said to be %d", bytes, len(b.Insts), b.Bytes)
		}
	})
}
