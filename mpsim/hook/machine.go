package hook

import (
	"maps"
	"slices"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Hooks connects a machine with the tables [Table], [Runtime] and [LibAtomic]. It is the
// mpsim.Hooks of one run. Functions are numbered in that order.
type Hooks struct {
	state *State
	table []Func
	calls map[event.ThreadID]*hiddenCalls
	// watched contains, for each function of the tables, the number of its variant that
	// watches the program's own function; 0: there is none yet.
	watched []int
	passing Call // of a function whose end is not hooked
}

// hiddenCalls are the calls of a thread that have not ended, innermost last. There is more
// than one when a signal handler runs in the middle of a call. Call structures are reused.
type hiddenCalls struct {
	list []*Call
	open int
}

func (s *hiddenCalls) begin(c Call) *Call {
	if s.open == len(s.list) {
		s.list = append(s.list, new(Call))
	}
	s.open++
	*s.top() = c
	return s.top()
}

func (s *hiddenCalls) top() *Call { return s.list[s.open-1] }

// New returns the hooks for a run of img, and the numbers of the hooked functions by
// address, for mpsim.Config.Hooks and HookAt.
func New(img *image.Space) (*Hooks, map[uint64]int) {
	k := &Hooks{state: NewState(), table: slices.Concat(Table, Runtime, LibAtomic), calls: map[event.ThreadID]*hiddenCalls{}}
	k.watched = make([]int, len(k.table))
	k.state.whose = newWhose(img)
	k.state.passed = img.Passed
	at := map[uint64]int{}
	for _, m := range img.Images() {
		maps.Copy(at, k.Loaded(m))
	}
	return k, at
}

// Loaded implements [mpsim.Hooks].
func (k *Hooks) Loaded(m *image.Image) map[uint64]int {
	k.state.whose.loaded(m)
	at := map[uint64]int{}
	for fn := range k.watched {
		for _, name := range k.table[fn].Names {
			switch sym, ok := m.Lookup(name); {
			case !ok || sym.Kind != image.FuncSymbol:
			case k.ofLibrary(sym):
				at[sym.Addr] = fn
			case k.table[fn].Replaceable && sym.Global:
				at[sym.Addr] = k.watching(fn)
			}
		}
		if part := k.table[fn].Part; part != Library {
			for _, sym := range m.Outlined(part == Copy) {
				at[sym.Addr] = fn
			}
		}
	}
	return at
}

// watching returns the number of function fn for the case that the program has its own
// function instead.
func (k *Hooks) watching(fn int) int {
	if k.watched[fn] == 0 {
		k.watched[fn] = len(k.table)
		own := k.table[fn]
		own.Watch = true
		k.table = append(k.table, own)
	}
	return k.watched[fn]
}

// ofLibrary reports whether a function is a library's, and not the program's own function
// of the same name. If the C library itself has debug information, the name decides.
func (k *Hooks) ofLibrary(sym image.Symbol) bool {
	img := k.state.whose.img
	start, ok := img.Lookup("__libc_start_main")
	return !img.User(sym.Addr) || ok && img.User(start.Addr)
}

// Enter implements [mpsim.Hooks].
func (k *Hooks) Enter(h *mpsim.Hart, fn int) mpsim.Follow {
	f := &k.table[fn]
	if f.Pass {
		k.passing = Call{Thread: h, fn: f}
		f.Begin(k.state, &k.passing)
		return mpsim.Pass
	}
	var c *Call
	follow := mpsim.Hide
	if f.Watch {
		c = &Call{Thread: h, fn: f}
		t := k.state.omp.thread(h.ID())
		t.open = append(t.open, c)
		follow = mpsim.Watch
	} else {
		calls := k.calls[h.ID()]
		if calls == nil {
			calls = new(hiddenCalls)
			k.calls[h.ID()] = calls
		}
		c = calls.begin(Call{Thread: h, fn: f})
	}
	if f.Waits != nil {
		h.SwitchPoint(c.Arg(0)) // another thread may be faster
	}
	own := k.state.whose
	switch {
	case f.Object > 0:
		object := c.Arg(f.Object - 1)
		c.muted = own.silent(h.CallPC(), object)
		if c.muted && own.ofRequest(h, h.CallPC()) {
			own.exemptFrom(object, mutexBytes)
			c.muted = false
		}
	case f.ForCaller:
		c.kept = own.at(h.CallPC()).inLibrary
	case f.Allocates:
		c.kept, c.mode = own.allocation(h, h.CallPC())
	}
	if c.muted {
		return follow
	}
	if f.Begin != nil {
		f.Begin(k.state, c)
	}
	return follow
}

// Gone implements [mpsim.Hooks].
func (k *Hooks) Gone(t event.ThreadID) {
	delete(k.calls, t)
	delete(k.state.omp.threads, t)
	delete(k.state.asking, t)
}

// ended returns the call of fn by h that is ending.
func (k *Hooks) ended(h *mpsim.Hart, fn int) *Call {
	if !k.table[fn].Watch {
		calls := k.calls[h.ID()]
		calls.open--
		return calls.list[calls.open]
	}
	t := k.state.omp.thread(h.ID())
	c := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	return c
}

// Exit implements [mpsim.Hooks].
func (k *Hooks) Exit(h *mpsim.Hart, fn int, result uint64) {
	c := k.ended(h, fn)
	if end := k.table[fn].End; end != nil && !c.muted {
		end(k.state, c, result)
	}
}

// Abandon implements [mpsim.Hooks].
func (k *Hooks) Abandon(h *mpsim.Hart, fn int) {
	c := k.ended(h, fn)
	if abandon := k.table[fn].Abandon; abandon != nil && !c.muted {
		abandon(k.state, c)
	}
}

// Created implements [mpsim.Hooks].
func (k *Hooks) Created(h *mpsim.Hart, _ int, child *mpsim.Hart) {
	k.state.Created(k.calls[h.ID()].top(), child.ID(), child.TP())
}

// Copies implements [mpsim.Hooks].
func (k *Hooks) Copies(fn int) bool { return k.table[fn].Copies }

// Housekeeping implements [mpsim.SharedHooks].
func (k *Hooks) Housekeeping() int {
	return slices.IndexFunc(k.table, func(f Func) bool { return slices.Contains(f.Names, "__libc_thread_freeres") })
}

// Linked implements [mpsim.SharedHooks].
func (k *Hooks) Linked(h *mpsim.Hart) { k.state.mainThread(&Call{Thread: h}) }

// Started implements [mpsim.Hooks].
func (k *Hooks) Started(tp uint64) { k.state.whose.thread(tp) }

// Silent implements [mpsim.Hooks].
func (k *Hooks) Silent(h *mpsim.Hart, pc, addr uint64) bool { return k.state.silent(h.ID(), pc, addr) }

// Promises implements [mpsim.Hooks].
func (k *Hooks) Promises(pc uint64) bool { return k.state.whose.at(pc).forCaller }

// Args implements [mpsim.Hooks].
func (k *Hooks) Args(fn int) int { return max(k.table[fn].Args, 1) }

// Waits implements [mpsim.Hooks].
func (k *Hooks) Waits(h *mpsim.Hart, fn int) string {
	if waits := k.table[fn].Waits; waits != nil {
		return waits(k.state, k.calls[h.ID()].top())
	}
	return ""
}
