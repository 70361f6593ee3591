package raw

import (
	"fmt"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// loadEntry is an entry in event.Batch.Values that comes from a load. at is its index in
// its block.
type loadEntry struct {
	at uint32
	pc uint64
}

// blockLoads are the loads of a block, and its total number of entries.
type blockLoads struct {
	loads   []loadEntry
	entries int
}

// WantsValues implements event.ValueObserver.
func (r *Recorder) WantsValues() bool { return kinds[r.kind].values }

// loadsOf finds the loads among the instructions of a block.
func (r *Recorder) loadsOf(b *event.Block) (blockLoads, error) {
	var out blockLoads
	raw := r.code(b.PC, int(b.Bytes))
	if len(raw) != int(b.Bytes) {
		return out, fmt.Errorf("the code at %#x is not in the program file, so its values are not known", b.PC)
	}
	var insts []rv.Inst
	for pc := b.PC; len(raw) >= 2; {
		word := uint32(raw[0]) | uint32(raw[1])<<8
		if len(raw) >= 4 {
			word |= uint32(raw[2])<<16 | uint32(raw[3])<<24
		}
		in, ok := rv.Decode(word)
		if !ok || int(in.Len) > len(raw) {
			break
		}
		atomic := b.End == event.EndAtomic && int(in.Len) == len(raw)
		from := rv.Values(insts, event.EndFall)
		insts = append(insts, in)
		to := rv.Values(insts, event.EndFall)
		if atomic {
			from, to = from+1, rv.Values(insts, event.EndAtomic) // after the address
		}
		access, _, mem := in.Mem()
		if loads := mem && access == event.Read || in.Atomic() && in.Op != rv.OpSCW && in.Op != rv.OpSCD; loads && to > from {
			out.loads = append(out.loads, loadEntry{uint32(from), pc})
		}
		pc, raw = pc+uint64(in.Len), raw[in.Len:]
	}
	out.entries = rv.Values(insts, b.End)
	return out, nil
}

// valuesOf records the values of a block's loads.
func (r *Recorder) valuesOf(_ *thread, b *event.Block, _ []uint64) {
	l := &r.loads[b.ID]
	for _, e := range l.loads {
		r.record(e.pc, r.values[e.at])
	}
	r.values = r.values[l.entries:]
}
