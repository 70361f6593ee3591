package slice

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Verdict says how far a racy value got.
type Verdict uint8

const (
	DiesUnused         Verdict = iota // it decided nothing and was not output
	ReachesControlFlow                // a branch or a jump depended on it, but no output did
	ReachesOutput                     // bytes of the output, or the exit status, depended on it
)

var verdictNames = [...]string{"dies unused", "reaches control flow", "reaches output"}

func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "verdict?"
}

// Impact says what a value reached: what the instances in its forward slice along data
// dependences did.
type Impact struct {
	Verdict     Verdict
	Instances   uint64 // of the forward slice
	OutputCalls uint64 // write(2) and similar calls with bytes, a descriptor, an address or a length in the slice
	OutputBytes uint64 // bytes of these that a store in the slice left
	ExitStatus  bool   // the exit status depended on it
	Branches    uint64 // instances of branches and computed jumps in the slice
	BranchSites int    // number of their statements
	Syscalls    uint64 // other environment calls in the slice
	Variables   []Variable
}

// Variable is a global variable that stores in a slice wrote to.
type Variable struct {
	Name   string
	Addr   uint64
	Stores uint64
}

// Numbers of the system calls that write output or end the program.
const (
	sysWrite     = 64
	sysWritev    = 66
	sysPwrite    = 68
	sysSendto    = 206
	sysExit      = 93
	sysExitGroup = 94
)

// ImpactOf returns what a forward slice reached. It is meant for slices along data
// dependences. img names the variables and may be nil.
func ImpactOf(ctx context.Context, s *Slice, img *image.Space) (Impact, error) {
	m := Impact{Instances: s.Len()}
	variables := map[uint64]*Variable{}
	for n := range s.stmts {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		st := &s.stmts[n]
		if err := m.calls(s, n, img); err != nil {
			return m, err
		}
		if st.Kind != wet.NodePath {
			continue
		}
		switch st.Inst.End() {
		case event.EndBranch, event.EndIndirect, event.EndCallInd, event.EndReturn:
			m.Branches += st.Count
			m.BranchSites++
		}
		if stores(st.Inst) && img != nil {
			if err := stored(s, n, img, variables); err != nil {
				return m, err
			}
		}
	}
	for _, v := range variables {
		m.Variables = append(m.Variables, *v)
	}
	slices.SortFunc(m.Variables, func(a, b Variable) int { return cmp.Compare(a.Addr, b.Addr) })
	switch {
	case m.OutputCalls > 0 || m.ExitStatus:
		m.Verdict = ReachesOutput
	case m.Branches > 0:
		m.Verdict = ReachesControlFlow
	}
	return m, nil
}

// calls examines the system calls of statement n, if it makes any.
func (m *Impact) calls(s *Slice, n int, img *image.Space) error {
	st := &s.stmts[n]
	if _, ok := printer(img, st.Kind, st.Callee); ok {
		m.OutputCalls += st.Count
		return nil
	}
	if endsGo(img, st.Kind, st.Callee) { // the exit status is its only argument
		m.ExitStatus = true
		return nil
	}
	at, ok := conventionOf(img, st.Kind, st.Inst, st.Callee)
	if !ok {
		return nil
	}
	for i := range s.Of(n) {
		c, err := readCall(s, i, at)
		if err != nil {
			return err
		}
		switch c.number {
		case sysExit, sysExitGroup:
			m.ExitStatus = m.ExitStatus || c.reached&1 != 0
		case sysWrite, sysWritev, sysPwrite, sysSendto:
			// The last registers are left over from something else.
			if c.memory || c.reached&(1|1<<1|1<<2) != 0 {
				m.OutputCalls++
				m.OutputBytes += c.bytes()
			}
		default:
			m.Syscalls++
		}
	}
	return nil
}

// call is a system call that is in a slice.
type call struct {
	number    uint64
	reached   uint64 // arguments whose producers are in the slice, as bits
	addr, len uint64 // the second argument and the third
	memory    bool   // bytes that it reads are from the slice
	vector    bool   // further bytes are not from addr on
	found     []extent
}

type extent struct{ low, high uint64 }

// readCall examines the dependences of a system call.
func readCall(s *Slice, i wet.Instance, at convention) (c call, err error) {
	for d, err := range s.g.Deps(i) {
		if err != nil {
			return c, err
		}
		switch d.Kind {
		case wet.DepRegister:
			if s.Has(d.From) {
				c.reached |= 1 << (d.Reg - at.first)
			}
			v, ok, err := s.g.Value(d.From)
			if err != nil {
				return c, err
			}
			if !ok {
				continue
			}
			switch d.Reg {
			case at.first + 1:
				c.addr = v
			case at.first + 2:
				c.len = v
			case at.number:
				c.number = v
			}
		case wet.DepMemory:
			if !s.Has(d.From) {
				continue
			}
			c.memory = true
			addr, size, ok, err := s.g.Addr(d.From)
			if err != nil {
				return c, err
			}
			if ok {
				c.found = append(c.found, extent{addr, addr + uint64(size)})
			}
		}
	}
	c.vector = c.number == sysWritev
	return c, nil
}

// bytes counts, among the bytes that the call wrote, those that stores in the slice left.
func (c *call) bytes() (n uint64) {
	slices.SortFunc(c.found, func(a, b extent) int { return cmp.Compare(a.low, b.low) })
	end := uint64(0)
	for _, e := range c.found {
		low, high := max(e.low, end), e.high
		if !c.vector {
			low, high = max(low, c.addr), min(high, c.addr+c.len)
		}
		if high > low {
			n += high - low
			end = high
		}
	}
	return n
}

// stored counts the stores of statement n to global variables.
func stored(s *Slice, n int, img *image.Space, variables map[uint64]*Variable) error {
	for i := range s.Of(n) {
		addr, _, ok, err := s.g.Addr(i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		sym, _, ok := img.Object(addr)
		if !ok || !img.UserObject(addr) {
			continue
		}
		v := variables[sym.Addr]
		if v == nil {
			v = &Variable{Name: sym.Demangled(), Addr: sym.Addr}
			variables[sym.Addr] = v
		}
		v.Stores++
	}
	return nil
}

// RaceSlices has the slices around a race.
type RaceSlices struct {
	A, B   *Slice // what led to each access
	Common *Slice // what led to both
	// Parting is where the causes diverge: the common causes on which something depends
	// that led to only one of the accesses, and the accesses themselves if one led to the
	// other.
	Parting *Slice
	// Forward is what followed from the value that the racy read obtained (for two
	// writes, from the written value), along data dependences.
	Forward *Slice
	Impact  Impact
}

// Race slices around two racing accesses. opts applies to the backward slices; its
// direction is ignored.
func Race(ctx context.Context, g Graph, img *image.Space, a, b wet.Instance, opts Options) (*RaceSlices, error) {
	opts.Direction = Backward
	r := &RaceSlices{}
	var err error
	if r.A, err = Compute(ctx, g, []wet.Instance{a}, opts); err != nil {
		return nil, fmt.Errorf("first access: %w", err)
	}
	if r.B, err = Compute(ctx, g, []wet.Instance{b}, opts); err != nil {
		return nil, fmt.Errorf("second access: %w", err)
	}
	r.Common = Intersect(r.A, r.B)
	if r.Parting, err = parting(ctx, r); err != nil {
		return nil, err
	}
	r.Forward, r.Impact, err = Poisoned(ctx, g, img, a, b)
	return r, err
}

// parting returns the common causes at which the two slices diverge.
func parting(ctx context.Context, r *RaceSlices) (*Slice, error) {
	g, opts := r.Common.g, r.Common.opts
	var edge []wet.Instance
	seen := map[wet.Instance]bool{}
	add := func(i wet.Instance) {
		if !seen[i] {
			seen[i] = true
			edge = append(edge, i)
		}
	}
	looked := 0
	for _, s := range []*Slice{r.A, r.B} {
		for _, i := range s.criterion {
			if r.Common.Has(i) {
				add(i)
			}
		}
		for i := range s.Instances() {
			looked++
			if looked%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if r.Common.Has(i) {
				continue
			}
			for d, err := range g.Deps(i) {
				if err != nil {
					return nil, err
				}
				if opts.Kinds.follows(d.Kind) && r.Common.Has(d.From) {
					add(d.From)
				}
			}
		}
	}
	opts.Depth = 0
	out := &Slice{g: g, opts: opts, criterion: edge, index: map[home]int{}}
	w := newWalk(out)
	for _, i := range edge {
		w.found(w.state(placeOf(i)), i.K)
	}
	out.finish()
	return out, nil
}

// Poisoned returns the forward slice of a race along data dependences, and what it
// reached. It is the cheaper half of [Race].
func Poisoned(ctx context.Context, g Graph, img *image.Space, a, b wet.Instance) (*Slice, Impact, error) {
	var racy []wet.Instance
	for _, i := range []wet.Instance{a, b} {
		if err := valid(g, i); err != nil {
			return nil, Impact{}, err
		}
		if reads(g.Node(i.Node).Stmts[i.Stmt].Inst) {
			racy = append(racy, i)
		}
	}
	if racy == nil {
		racy = []wet.Instance{a, b}
	}
	s, err := Compute(ctx, g, racy, Options{Direction: Forward, Kinds: Data})
	if err != nil {
		return nil, Impact{}, err
	}
	m, err := ImpactOf(ctx, s, img)
	return s, m, err
}

// reads reports whether an instruction loads.
func reads(i rv.Inst) bool {
	if i.Atomic() {
		return i.Op != rv.OpSCW && i.Op != rv.OpSCD
	}
	access, _, ok := i.Mem()
	return ok && access == event.Read
}
