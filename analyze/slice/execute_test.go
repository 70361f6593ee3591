package slice_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/wet"
)

// executor executes statements of a run again, using only their dependences. What comes
// from outside (the registers of a new thread, results of the kernel and of hidden calls,
// whether a store-conditional stored) is used as recorded.
type executor struct {
	t      testing.TB
	stmts  []slicetest.Statement
	img    *image.Space
	within map[int]bool   // statements that may be used; nil: all
	value  map[int]uint64 // results so far
	stored map[int]uint64
	given  int // loads of bytes that came from outside
	done   int
}

func newExecutor(t testing.TB, l *slicetest.Log, img *image.Space, within map[int]bool) *executor {
	return &executor{t: t, stmts: l.Statements(), img: img, within: within, value: map[int]uint64{}, stored: map[int]uint64{}}
}

// producer checks that statement by may use statement n.
func (e *executor) producer(n, by int) *slicetest.Statement {
	if e.within != nil && !e.within[n] {
		e.t.Fatalf("statement %d at %#x needs %d at %#x, which is not in the slice", by, e.stmts[by].PC, n, e.stmts[n].PC)
	}
	return &e.stmts[n]
}

func external(s *slicetest.Statement) bool { return s.Kind != wet.NodePath || s.Inst.Op == rv.OpECALL }

// register returns the value of register r for statement n.
func (e *executor) register(n int, r uint8) uint64 {
	for _, d := range e.stmts[n].Deps {
		if d.Kind != wet.DepRegister || d.Reg != r {
			continue
		}
		p := e.producer(d.From, n)
		if !external(p) {
			return e.value[d.From]
		}
		v := uint64(0)
		for _, told := range p.Regs {
			if told.Reg == r {
				v = told.Value
			}
		}
		return v
	}
	return 0
}

// memory returns the bytes that statement n read. ok is false if some came from outside.
func (e *executor) memory(n int) (v uint64, ok bool) {
	s := &e.stmts[n]
	for k := range uint64(s.Size) {
		addr := s.Addr + k
		latest := -1
		for _, d := range s.Deps {
			if d.Kind == wet.DepMemory && d.From > latest && wrote(e.producer(d.From, n), addr) {
				latest = d.From
			}
		}
		var b byte
		switch {
		case latest < 0:
			if c := e.img.Bytes(addr, 1); len(c) == 1 {
				b = c[0]
			}
		case external(&e.stmts[latest]):
			return 0, false
		default:
			b = byte(e.stored[latest] >> (8 * (addr - e.stmts[latest].Addr)))
		}
		v |= uint64(b) << (8 * k)
	}
	return v, true
}

func wrote(s *slicetest.Statement, addr uint64) bool {
	for _, r := range s.Wrote {
		if addr-r.Addr < r.Bytes {
			return true
		}
	}
	return s.Stores && addr-s.Addr < uint64(s.Size)
}

// execute executes statement n and compares the result with the record.
func (e *executor) execute(n int) {
	s := &e.stmts[n]
	if external(s) {
		return
	}
	i := s.Inst
	o := eval.Operands{PC: s.PC}
	uses := i.Uses().Regs
	for _, x := range []struct {
		r  uint8
		to *uint64
	}{{i.Rs1, &o.Rs1}, {i.Rs2, &o.Rs2}, {i.Rs3, &o.Rs3}} {
		// Which file a register is of: the one whose register is used; of both,
		// a base is integer and what is stored floating-point.
		switch integer, float := uses>>x.r&1 != 0, uses>>(32+x.r)&1 != 0; {
		case float && (!integer || x.to != &o.Rs1):
			*x.to = e.register(n, 32+x.r)
		case integer:
			*x.to = e.register(n, x.r)
		}
	}
	known := true
	if s.Size > 0 {
		if addr, ok := asm.Address(i, o.Rs1); !ok || addr != s.Addr {
			e.t.Fatalf("statement %d, %v at %#x: address %#x, recorded %#x", n, i.Op, s.PC, addr, s.Addr)
		}
		o.Mem, known = e.memory(n)
	}
	conditional := i.Op == rv.OpSCW || i.Op == rv.OpSCD
	v, ok := eval.Result(i, o)
	if conditional || !known { // as recorded
		v, ok = s.Value, s.HasValue
		e.given++
	}
	if ok != s.HasValue || ok && v != s.Value {
		e.t.Fatalf("statement %d, %v at %#x of %+v: %#x %v, recorded %#x %v", n, i.Op, s.PC, o, v, ok, s.Value, s.HasValue)
	}
	e.value[n] = v
	if s.Stores {
		if !known { // as recorded
			o.Mem = s.Value
		}
		e.stored[n], _ = asm.Stored(i, o)
	}
	e.done++
}

// TestReference executes every statement of logged runs again from its dependences, and
// compares the results with the recorded ones. This checks the log's dependences on
// values, and package eval for every instruction that occurs.
func TestReference(t *testing.T) {
	done, given := 0, 0
	for seed := range uint64(60) {
		l, img := logged(t, randomShape(seed))
		e := newExecutor(t, l, img, nil)
		for n := range l.Statements() {
			e.execute(n)
		}
		done, given = done+e.done, given+e.given
	}
	if done < 20000 || given > done/10 {
		t.Errorf("%d statements, %d values taken as they were", done, given)
	}
	t.Logf("%d statements, %d values taken as they were", done, given)
}

// TestSufficient checks that a value that is recomputed from its backward data slice
// alone is the recorded one.
func TestSufficient(t *testing.T) {
	slices, instances := 0, uint64(0)
	for seed := range uint64(40) {
		s := randomShape(seed)
		s.opts.Straight = seed%2 == 0
		if s.opts.Straight {
			s.opts = asm.RandomOptions{Functions: 1, Statements: 10 + int(seed), Straight: true}
		}
		l, img := logged(t, s)
		rng := rand.New(rand.NewPCG(seed, 12))
		stmts := l.Statements()
		for range 25 {
			n := rng.IntN(len(stmts))
			sl, err := slice.Compute(context.Background(), l, []wet.Instance{l.Instance(n)}, slice.Options{Kinds: slice.Data})
			if err != nil {
				t.Fatal(err)
			}
			within := map[int]bool{}
			for i := range sl.Instances() {
				at, err := l.Find(i)
				if err != nil {
					t.Fatal(err)
				}
				within[at] = true
			}
			e := newExecutor(t, l, img, within)
			for at := range stmts {
				if within[at] {
					e.execute(at)
				}
			}
			slices, instances = slices+1, instances+sl.Len()
		}
	}
	t.Logf("%d slices, %d instances executed again", slices, instances)
}
