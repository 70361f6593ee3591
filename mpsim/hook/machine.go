package hook

import (
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Hooks makes the [Table] known to a machine: it is the mpsim.Hooks of one run.
type Hooks struct {
	state *State
	calls map[event.ThreadID]*Call // the last of each thread
}

// New gives the hooks for a run of img and where they stand in it, for
// mpsim.Config.Hooks and HookAt.
func New(img *image.Image) (*Hooks, map[uint64]int) {
	at := map[uint64]int{}
	for fn := range Table {
		for _, name := range Table[fn].Names {
			if sym, ok := img.Lookup(name); ok {
				at[sym.Addr] = fn
			}
		}
	}
	return &Hooks{state: NewState(), calls: map[event.ThreadID]*Call{}}, at
}

// Enter implements [mpsim.Hooks]. Every function of the table hides.
func (k *Hooks) Enter(h *mpsim.Hart, fn int) bool {
	c := k.calls[h.ID()]
	if c == nil {
		c = new(Call)
		k.calls[h.ID()] = c
	}
	*c = Call{Thread: h}
	if begin := Table[fn].Begin; begin != nil {
		begin(k.state, c)
	}
	return true
}

// Exit implements [mpsim.Hooks].
func (k *Hooks) Exit(h *mpsim.Hart, fn int, result uint64) {
	if end := Table[fn].End; end != nil {
		end(k.state, k.calls[h.ID()], result)
	}
}

// Created implements [mpsim.Hooks].
func (k *Hooks) Created(h *mpsim.Hart, _ int, child event.ThreadID) {
	k.state.Created(k.calls[h.ID()], child)
}

// Waits implements [mpsim.Hooks].
func (k *Hooks) Waits(h *mpsim.Hart, fn int) string {
	if waits := Table[fn].Waits; waits != nil {
		return waits(k.state, k.calls[h.ID()])
	}
	return ""
}
