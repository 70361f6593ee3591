package gorun

import (
	"slices"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Hooks implements [mpsim.FiberHooks].
type Hooks struct {
	img       *image.Image
	table     []probe
	layout    layout
	functions map[uint64]*function // by address
	atomics   map[uint64]meaning   // by instruction

	goroutines map[uint64]*goroutine         // by address of the runtime's g
	running    map[event.ThreadID]*goroutine // nil: the thread runs the scheduler
	system     map[event.ThreadID]*goroutine // the scheduler of each thread
	strands    uint64                        // number of strands so far
	channels   map[uint64]*channel           // by address
	locks      map[uint64]*channel           // by address of the lock
	timers     map[uint64]uint64             // by address: handle of the goroutine that set it
	bubbles    map[uint64]uint64             // by address of a synctest bubble: handle of the goroutines that stopped in it
	finalizers []uint64                      // handles of the goroutines that set finalizers
	switcher   uint64                        // address of coroswitch_m
	tiny       map[uint64]uint8              // by address of a granule: offset of the last object that shares it
	signatures map[uint64]mpsim.Signature    // by address
	lastUses   uint64                        // handle of the goroutines that may have used an object last; 0: no object has a finalizer
}

// call is a call in progress of a hooked function whose return is awaited.
type call struct {
	*mpsim.Hart
	g  *goroutine
	op *operation // channel operation
	// a and b are for use by the probe.
	a, b uint64
}

// probe is a row of the table of hooked functions.
type probe struct {
	names []string // a * at the end matches anything
	enter func(k *Hooks, c *call) (await bool)
	exit  func(k *Hooks, c *call, result uint64)
	// drop is called instead of exit when a panic left the function.
	drop func(k *Hooks, c *call)
}

// New returns the hooks for a run of img, which is a Go program, and the numbers of the
// hooked functions by address.
func New(img *image.Image) (*Hooks, map[uint64]int) {
	k := &Hooks{
		img: img, table: table, layout: layoutOf(img),
		functions: map[uint64]*function{}, atomics: map[uint64]meaning{},
		goroutines: map[uint64]*goroutine{}, running: map[event.ThreadID]*goroutine{}, system: map[event.ThreadID]*goroutine{},
		channels: map[uint64]*channel{}, locks: map[uint64]*channel{}, timers: map[uint64]uint64{}, bubbles: map[uint64]uint64{}, tiny: map[uint64]uint8{},
		signatures: map[uint64]mpsim.Signature{},
	}
	if s, ok := img.Lookup("runtime.coroswitch_m"); ok {
		k.switcher = s.Addr
	}
	exact, prefixes := map[string]int{}, map[string]int{}
	for n, p := range k.table {
		for _, name := range p.names {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				prefixes[prefix] = n
			} else {
				exact[name] = n
			}
		}
	}
	at := map[uint64]int{}
	for _, s := range img.Symbols() {
		name, jumps := trampoline(s.Name)
		if jumps {
			continue
		}
		name = strings.TrimSuffix(name, ".abi0")
		if n, ok := exact[name]; ok {
			at[s.Addr] = n
			continue
		}
		for prefix, n := range prefixes {
			if strings.HasPrefix(name, prefix) {
				at[s.Addr] = n
			}
		}
	}
	return k, at
}

// Enter implements [mpsim.Hooks].
func (k *Hooks) Enter(h *mpsim.Hart, fn int) mpsim.Follow {
	g := k.actor(h)
	c := call{Hart: h, g: g}
	if !k.table[fn].enter(k, &c) {
		return mpsim.Pass
	}
	g.calls = append(g.calls, c)
	return mpsim.Watch
}

// ended returns the call that is ending.
func (k *Hooks) ended(h *mpsim.Hart) *call {
	g := k.actor(h)
	if len(g.calls) == 0 {
		return nil
	}
	c := g.calls[len(g.calls)-1]
	g.calls = g.calls[:len(g.calls)-1]
	c.Hart = h
	return &c
}

// Exit implements [mpsim.Hooks].
func (k *Hooks) Exit(h *mpsim.Hart, fn int, result uint64) {
	if c := k.ended(h); c != nil {
		k.table[fn].exit(k, c, result)
	}
}

// Abandon implements [mpsim.Hooks].
func (k *Hooks) Abandon(h *mpsim.Hart, fn int) {
	if c := k.ended(h); c != nil && k.table[fn].drop != nil {
		k.table[fn].drop(k, c)
	}
}

// Kernel implements [mpsim.FiberHooks]. What a system call does concerns the program if a
// goroutine makes the call through package syscall.
func (k *Hooks) Kernel(h *mpsim.Hart, _ *event.Event) bool {
	const ecallBytes = 4
	if k.running[h.ID()] == nil || !strings.HasPrefix(k.function(h.PC-ecallBytes).pkg, "internal/runtime/syscall") {
		return false
	}
	ret, ok := h.Return(0)
	return ok && k.Code(ret-1) == mpsim.Recorded
}

// Created, Loaded, Started, Silent, Promises, Waits, Args and Copies implement
// [mpsim.Hooks].
func (k *Hooks) Created(*mpsim.Hart, int, *mpsim.Hart)   {}
func (k *Hooks) Gone(event.ThreadID)                     {}
func (k *Hooks) Loaded(*image.Image) map[uint64]int      { return nil }
func (k *Hooks) Started(uint64)                          {}
func (k *Hooks) Silent(*mpsim.Hart, uint64, uint64) bool { return false }
func (k *Hooks) Promises(uint64) bool                    { return false }
func (k *Hooks) Waits(*mpsim.Hart, int) string           { return "" }
func (k *Hooks) Args(int) int                            { return 1 }
func (k *Hooks) Copies(int) bool                         { return false }

// systemCall is the signature of the assembler function that calls the kernel for package
// syscall: it takes the number of the call and six arguments, and returns two results and
// an error.
var systemCall = mpsim.Signature{Known: true, Args: 7, Ints: 3}

// Signature implements [mpsim.FiberHooks]. Nothing is known about other assembler
// functions.
func (k *Hooks) Signature(pc uint64) mpsim.Signature {
	if s, ok := k.signatures[pc]; ok {
		return s
	}
	at := pc
	if s, ok := k.img.Func(pc); ok {
		if name, jumps := trampoline(s.Name); jumps {
			if to, ok := k.img.Lookup(name); ok {
				at = to.Addr
			}
		}
	}
	args, results, ok := k.img.GoRegisters(at)
	s := mpsim.Signature{Known: ok, Args: args.Ints, Ints: results.Ints, Floats: results.Floats}
	if f := k.function(at); strings.HasSuffix(f.name, ".Syscall6") && strings.HasPrefix(f.pkg, "internal/runtime/syscall") {
		s = systemCall
	}
	k.signatures[pc] = s
	return s
}

// word reads eight bytes of the program's memory. It returns 0 if they cannot be read.
func word(h *mpsim.Hart, addr uint64) uint64 {
	v, _ := h.Load(addr, 8)
	return v
}

// emit records an event of the goroutine, at the place where it left the program's code.
func emit(c *call, kind event.Kind, obj uint64) { c.EmitEvent(event.Event{Kind: kind, Obj: obj}) }

// publish publishes what the goroutine has done so far, under a new handle.
func publish(c *call) uint64 {
	handle := c.Handle()
	emit(c, event.Publish, handle)
	return handle
}

// observe observes a handle. A handle that is published once and observed once is then
// forgotten.
func observe(c *call, handle uint64) {
	if handle != 0 {
		emit(c, event.Observe, handle)
	}
}

func observeAll(c *call, handles []uint64) {
	slices.Sort(handles)
	for _, h := range slices.Compact(handles) {
		observe(c, h)
	}
}
