package mpsim

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/mpsim/rv"
)

// The generated program consists of sequences of straight-line code. Before each sequence
// all registers are loaded; after it, they and the scratch memory are written to standard
// output.
const (
	sequences = 200
	perSeq    = 250
	stateSize = 8 * (32 + 32 + 1) // x, f, fcsr
	scratch   = 8192
)

// Registers that point into the scratch memory and are never written.
var bases = map[uint8]bool{2: true, 8: true, 31: true}

// TestRandomInstructionsAgainstQemu executes random instructions of every operation that
// qemu knows and that neither jumps nor traps, including compressed ones, on random
// operands. It compares all registers, fcsr and the memory they accessed.
func TestRandomInstructionsAgainstQemu(t *testing.T) {
	need(t, compiler)
	rng := rand.New(rand.NewPCG(2003, 10))
	covered := map[rv.Op]int{}
	reservation := rv.OpInvalid
	var asm strings.Builder
	asm.WriteString(".option norelax\n.globl _start\n_start:\n")
	for n := range sequences {
		emitSequence(&asm, rng, n, covered, &reservation)
	}
	asm.WriteString("li a0, 0\nli a7, 94\necall\n.bss\n.balign 16\nstate: .space " + fmt.Sprint(stateSize) + "\nscratch: .space " + fmt.Sprint(scratch) + "\n")
	source := filepath.Join(t.TempDir(), "random.S")
	if err := os.WriteFile(source, []byte(asm.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for op := rv.OpInvalid + 1; op < rv.NumOps; op++ {
		if straight(rv.Inst{Op: op}) && covered[op] < 20 {
			t.Errorf("%v executed only %d times", op, covered[op])
		}
	}
	program := compile(t, source, "-nostdlib", "-nostartfiles")
	want := runQemu(t, program, "")
	_, got := run(t, Config{Image: load(t, program)})
	if got == want {
		return
	}
	t.Errorf("status %d, qemu %d; %d bytes, qemu %d", got.status, want.status, len(got.stdout), len(want.stdout))
	for at := 0; at+8 <= min(len(got.stdout), len(want.stdout)); at += 8 {
		a, b := got.stdout[at:at+8], want.stdout[at:at+8]
		if a != b {
			in := at % (stateSize + scratch)
			t.Fatalf("sequence %d, doubleword %d (x0–31, f0–31, fcsr, memory): %#x, qemu %#x", at/(stateSize+scratch), in/8,
				binary.LittleEndian.Uint64([]byte(a)), binary.LittleEndian.Uint64([]byte(b)))
		}
	}
}

// straight reports instructions that only compute.
func straight(i rv.Inst) bool {
	switch i.Op {
	case rv.OpBEQ, rv.OpBNE, rv.OpBLT, rv.OpBGE, rv.OpBLTU, rv.OpBGEU, rv.OpJAL, rv.OpJALR, rv.OpECALL, rv.OpEBREAK, rv.OpInvalid,
		rv.OpCTZW: // versions of qemu before 8 look at all 64 bits
		return false
	}
	return !beyondQemu(i.Op)
}

// reserved reports compressed instructions that neither RV64GC nor qemu has: those of Zcb
// and Zcmop.
func reserved(word uint16) bool {
	return word&0xe003 == 0x8000 || word&0xfc43 == 0x9c41 || word&0xf8ff == 0x6081
}

func emitSequence(asm *strings.Builder, rng *rand.Rand, n int, covered map[rv.Op]int, reservation *rv.Op) {
	fmt.Fprintf(asm, ".data\n.balign 8\nin%d:\n", n)
	for r := range 64 {
		fmt.Fprintf(asm, ".8byte %#x\n", operand(rng, r >= 32))
	}
	fmt.Fprintf(asm, ".text\nli x1, %d\nfscsr x1\nla x31, in%d\n", rng.IntN(5)<<5|rng.IntN(32), n)
	for r := range 32 {
		fmt.Fprintf(asm, "fld f%d, %d(x31)\n", r, 8*(32+r))
	}
	for r := 1; r < 31; r++ {
		fmt.Fprintf(asm, "ld x%d, %d(x31)\n", r, 8*r)
	}
	asm.WriteString("lla x31, scratch+4096\nmv x2, x31\nmv x8, x31\n")
	for range perSeq {
		emitRandom(asm, rng, covered, reservation)
	}
	asm.WriteString("lla x31, state\n")
	for r := range 31 {
		fmt.Fprintf(asm, "sd x%d, %d(x31)\nfsd f%d, %d(x31)\n", r, 8*r, r, 8*(32+r))
	}
	asm.WriteString("fsd f31, 504(x31)\nfrcsr x1\nsd x1, 512(x31)\n")
	fmt.Fprintf(asm, "li a0, 1\nmv a1, x31\nli a2, %d\nli a7, 64\necall\n", stateSize+scratch)
}

// operand returns a random value, often an edge case.
func operand(rng *rand.Rand, float bool) uint64 {
	edges := []uint64{0, 1, math.MaxUint64, 1 << 63, math.MaxInt64, 0x80000000, 0x7fffffff, 0xffffffff_80000000, 63, 32}
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, 0x1p-1022, math.MaxFloat64, 0.1, 1e10, -2147483648.5, 9.3e18}
	switch k := rng.IntN(4); {
	case k == 0 && !float:
		return edges[rng.IntN(len(edges))]
	case k == 0:
		return math.Float64bits(floats[rng.IntN(len(floats))])
	case k == 1 && float:
		return boxed | uint64(math.Float32bits(float32(floats[rng.IntN(len(floats))])))
	case k == 2 && float:
		return boxed | rng.Uint64()&0xffffffff
	case k == 3 && float:
		return math.Float64bits(rng.NormFloat64() * 1000)
	}
	return rng.Uint64()
}

// emitRandom appends one random instruction. An SC whose width differs from that of the
// preceding LR is left out, because its behaviour is up to the implementation.
func emitRandom(asm *strings.Builder, rng *rand.Rand, covered map[rv.Op]int, reservation *rv.Op) {
	for {
		var word uint32
		if rng.IntN(4) == 0 {
			word = rng.Uint32() & 0xffff
		} else {
			match, mask := (1 + rv.Op(rng.IntN(int(rv.NumOps)-1))).Encoding()
			word = match | rng.Uint32()&^mask
		}
		i, ok := rv.Decode(word)
		if !ok || !straight(i) || i.Len == 2 && reserved(uint16(word)) || !reaches(&word, &i) {
			continue
		}
		if defs := i.Defs(); defs.Has(2) || defs.Has(8) || defs.Has(31) {
			continue
		}
		switch i.Op {
		case rv.OpLRW, rv.OpLRD:
			*reservation = i.Op
		case rv.OpSCW, rv.OpSCD:
			if i.Op != *reservation+1 {
				continue
			}
		}
		if i.RM == 5 || i.RM == 6 {
			continue
		}
		if i.Op >= rv.OpCSRRW && i.Op <= rv.OpCSRRCI {
			// The exceptions can be anything. The rounding mode is written only by an
			// immediate that is a valid mode.
			switch i.CSR {
			default:
				word = word&^(0xfff<<20) | 1<<20
			case 2:
				if i.Op != rv.OpCSRRWI || i.Imm > 4 {
					continue
				}
			}
		}
		covered[i.Op]++
		if i.Len == 2 {
			fmt.Fprintf(asm, ".2byte %#x\n", word)
		} else {
			fmt.Fprintf(asm, ".4byte %#x\n", word)
		}
		return
	}
}

// reaches redirects accesses to the scratch memory. It reports false if that is impossible.
func reaches(word *uint32, i *rv.Inst) bool {
	_, _, access := i.Mem()
	if !access && !i.Atomic() {
		return true
	}
	if i.Len == 4 {
		*word = *word&^(31<<15) | 31<<15
		decoded, _ := rv.Decode(*word)
		*i = decoded
	}
	return bases[i.Rs1]
}
