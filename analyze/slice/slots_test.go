package slice_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// slots is a log that tells dependences by slots: what a block's code says
// about its registers, a slot for each register that is live in, for each
// access and for each static block's control dependence.
type slots struct {
	*slicetest.Log
	wires map[wet.NodeID]*wires
}

type wires struct {
	inputs [][]wet.Input
	owner  []uint32 // of each slot, a statement that uses it
	key    []wet.Input
}

func (g *slots) wire(n wet.NodeID) *wires {
	if w := g.wires[n]; w != nil {
		return w
	}
	node := g.Node(n)
	w := &wires{inputs: make([][]wet.Input, len(node.Stmts))}
	slotOf := map[wet.Input]int32{}
	use := func(s uint32, in wet.Input) {
		key := in
		if in.Kind == wet.DepControl {
			key.Stmt = int32(node.Stmts[s].Block)
		}
		if in.Kind == wet.DepMemory || in.Kind == wet.DepSync || node.Stmts[s].Inst.Op == rv.OpECALL {
			key.Stmt = int32(s)
		}
		slot, ok := slotOf[key]
		if !ok {
			slot = int32(len(w.owner))
			slotOf[key] = slot
			w.owner = append(w.owner, s)
			w.key = append(w.key, in)
		}
		in.Stmt, in.Slot = -1, slot
		w.inputs[s] = append(w.inputs[s], in)
	}
	last := map[uint8]int32{}
	for s, st := range node.Stmts {
		uses := st.Inst.Uses().Regs
		if st.Inst.Op == rv.OpECALL {
			uses = 1<<17 | 63<<10
		}
		if node.Kind == wet.NodeCall {
			uses = (1<<node.Args - 1) << 10
		}
		for r := range uint8(64) {
			if uses>>r&1 == 0 {
				continue
			}
			if st.Inst.Op == rv.OpECALL && r != 17 {
				use(uint32(s), wet.Input{Kind: wet.DepRegister, Reg: r}) // the code does not tell which it takes
			} else if d, ok := last[r]; ok {
				w.inputs[s] = append(w.inputs[s], wet.Input{Kind: wet.DepRegister, Reg: r, Stmt: d})
			} else {
				use(uint32(s), wet.Input{Kind: wet.DepRegister, Reg: r})
			}
		}
		use(uint32(s), wet.Input{Kind: wet.DepMemory})
		use(uint32(s), wet.Input{Kind: wet.DepSync})
		use(uint32(s), wet.Input{Kind: wet.DepControl})
		for r := range uint8(64) {
			if st.Inst.Defs().Regs>>r&1 != 0 {
				last[r] = int32(s)
			}
		}
	}
	g.wires[n] = w
	return w
}

func (g *slots) Inputs(n wet.NodeID, stmt uint32) []wet.Input { return g.wire(n).inputs[stmt] }
func (g *slots) Slots(n wet.NodeID) int                       { return len(g.wire(n).owner) }

func (g *slots) Labels(th event.ThreadID, n wet.NodeID, k uint64, list []int32, tell func(int, wet.Instance) error) error {
	w := g.wire(n)
	for i, slot := range list {
		for d, err := range g.Deps(wet.Instance{Thread: th, Node: n, Stmt: w.owner[slot], K: k}) {
			if err != nil {
				return err
			}
			if d.Kind == w.key[slot].Kind && d.Reg == w.key[slot].Reg {
				if err := tell(i, d.From); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (g *slots) HasReaders(event.ThreadID, wet.NodeID, uint32) (bool, error) { return true, nil }

func (g *slots) Readers(i wet.Instance, dst []wet.Reader) ([]wet.Reader, error) {
	seen := map[wet.Reader]bool{}
	for d, err := range g.Users(i) {
		if err != nil {
			return nil, err
		}
		for _, in := range g.Inputs(d.To.Node, d.To.Stmt) {
			r := wet.Reader{Thread: d.To.Thread, Node: d.To.Node, Slot: in.Slot, K: d.To.K}
			if in.Kind == d.Kind && in.Reg == d.Reg && in.Stmt < 0 && !seen[r] {
				seen[r] = true
				dst = append(dst, r)
			}
		}
	}
	return dst, nil
}

var _ slice.Slotted = (*slots)(nil)

// TestSlots: slices by slots are those by instances, with the same counts.
func TestSlots(t *testing.T) {
	slices := 0
	for seed := range uint64(60) {
		l, _ := logged(t, randomShape(seed))
		g := &slots{l, map[wet.NodeID]*wires{}}
		rng := rand.New(rand.NewPCG(seed, 17))
		for range 12 {
			o := randomOptions(rng, l)
			o.Depth = 0
			var criterion []wet.Instance
			for range 1 + rng.IntN(2) {
				criterion = append(criterion, l.Instance(rng.IntN(len(l.Statements()))))
			}
			want, err := slice.Compute(context.Background(), l, criterion, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := slice.Compute(context.Background(), g, criterion, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := sameSlices(got, want); err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, o, err)
			}
			slices++
		}
	}
	t.Logf("%d slices", slices)
}
