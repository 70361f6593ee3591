package rv

import "testing"

// TestSource checks that the single operands together are the set of all operands.
func TestSource(t *testing.T) {
	for op := Op(0); op <= NumOps; op++ {
		i := Inst{Op: op, Rd: 3, Rs1: 8, Rs2: 0, Rs3: 9}
		var uses, defs RegSet
		for n := range 5 {
			if r, ok := i.Source(n); ok {
				uses.Regs |= 1 << r
			}
		}
		if r, ok := i.Dest(); ok {
			defs.Regs |= 1 << r
		}
		if uses.Regs != i.Uses().Regs || defs.Regs != i.Defs().Regs {
			t.Errorf("%v: sources %x, uses %x; destination %x, defines %x", op, uses.Regs, i.Uses().Regs, defs.Regs, i.Defs().Regs)
		}
	}
}
