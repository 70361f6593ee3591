package rv

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/arch/riscv64/riscv64asm"
)

// The independent decoder names operations as the assembler does, with aq and rl as part of
// the name. It does not expand compressed instructions itself: it returns the base
// operation for those as well.
func reference(word uint32) (string, int, bool) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], word)
	inst, err := riscv64asm.Decode(b[:])
	if err != nil {
		return "", 0, false
	}
	name := strings.ToLower(inst.Op.String())
	for _, suffix := range []string{".aqrl", ".aq", ".rl"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name, inst.Len, true
}

func TestAgainstReferenceRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	wrong := map[string]int{}
	agreed := 0
	for range 400_000 {
		word := rng.Uint32()
		if rng.IntN(2) == 0 {
			// Close to a valid instruction: a few bits differ.
			op := 1 + Op(rng.IntN(int(NumOps)-1))
			word = table[op].match | word&^table[op].mask
		}
		compare(t, word, wrong, &agreed)
	}
	for low := range uint32(1 << 16) {
		if low&3 != 3 {
			compare(t, low, wrong, &agreed)
		}
	}
	for what, n := range wrong {
		t.Errorf("%s: %d times", what, n)
	}
	if agreed < 150_000 {
		t.Errorf("only %d words decode in both", agreed)
	}
}

// compare records in wrong what the two decoders disagree about. Operations of unsupported
// extensions count as illegal.
func compare(t *testing.T, word uint32, wrong map[string]int, agreed *int) {
	t.Helper()
	want, n, valid := reference(word)
	valid = valid && ours[want]
	got, ok := Decode(word)
	disagree := ""
	switch {
	case !ok && !valid:
		return
	case ok && (unreferenced[got.Op] || got.Len == 2 && zcb(word)): // see TestExtensions
		return
	case !ok && want == "csrrw" && word&0xffff == 0: // its notation for unimp
		return
	case ok && !valid && got.Len == 2 && hint(got): // legal, without effect
		return
	case !ok:
		disagree = "refused: " + want
	case !valid:
		disagree = "accepted: " + got.Op.String()
	case want != got.Op.String() || n != int(got.Len):
		disagree = "taken as " + got.Op.String() + ", not " + want
	}
	if disagree == "" {
		*agreed++
		return
	}
	if wrong[disagree]++; wrong[disagree] == 1 {
		t.Logf("%08x %s %+v", word, want, got)
	}
}

var ours = func() map[string]bool {
	names := map[string]bool{}
	for op := OpInvalid + 1; op < NumOps; op++ {
		names[op.String()] = true
	}
	return names
}()

// unreferenced are the operations that the independent decoder does not know.
var unreferenced = func() map[Op]bool {
	ops := map[Op]bool{}
	for op := OpInvalid + 1; op < NumOps; op++ {
		if name, _, ok := reference(table[op].match); !ok || name != op.String() {
			ops[op] = ok && name == "fence" || !ok
		}
	}
	return ops
}()

// zcb reports compressed encodings of Zcb and Zcmop, which the independent decoder does not
// know either.
func zcb(word uint32) bool {
	w := word & 0xffff
	return w&0xe003 == 0x8000 || w&0xfc63 == 0x9c41 || w&0xfc63 == 0x9c61 || w&0xf8ff == 0x6081
}

// hint reports the compressed encodings that the manual reserves for HINTs. The reference
// decoder rejects them.
func hint(i Inst) bool {
	switch i.Op {
	case OpSLLI, OpSRLI, OpSRAI, OpADDI:
		return i.Rd == 0 || i.Imm == 0
	}
	return i.Rd == 0
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(0x00000013))
	f.Add(uint32(0x0000))
	f.Add(uint32(0xffffffff))
	f.Add(uint32(0x9002))
	f.Fuzz(func(t *testing.T, word uint32) {
		i, ok := Decode(word)
		if ok == (i.Op == OpInvalid) || i.Len != Len(uint16(word)) || i.Op >= NumOps {
			t.Fatalf("%08x: %+v %v", word, i, ok)
		}
		if i.Uses().Has(0) || i.Defs().Has(0) {
			t.Fatalf("%08x: x0 used or defined", word)
		}
		_ = i.End()
		if target, ok := i.Target(0); ok && target%2 != 0 {
			t.Fatalf("%08x: jumps to the odd address %#x", word, target)
		}
		if _, size, ok := i.Mem(); ok && (size == 0 || size > 8) {
			t.Fatalf("%08x: accesses %d bytes", word, size)
		}
		if pred, succ, ok := i.Fence(); ok && (pred > 15 || succ > 15) {
			t.Fatalf("%08x: fence of %x and %x", word, pred, succ)
		}
	})
}
