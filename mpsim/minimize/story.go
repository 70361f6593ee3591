package minimize

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Story is what the turns of a run were, in order. [Story.Heard] collects it while the
// run is made; [Story.Lines] are one for each of the [Turns] of the run's schedule.
// The zero value is ready for use.
type Story struct {
	turns []told // but for the last
	last  *mpsim.Hart
	now   told // the last turn
}

// told is how a turn ended.
type told struct {
	thread event.ThreadID
	pc     uint64 // the program's own place
	waits  string // what the thread waits for; "": it could go on
	ended  bool
	// The access that the thread is about to make at pc; verb is "" if it makes none.
	verb       string
	addr, size uint64
}

// Appended implements rewind.Appended: checkpoints do not copy the turns.
func (told) Appended() {}

// Copy is the story so far; what is heard later is not in it.
func (s *Story) Copy() *Story { return &Story{turns: slices.Clip(s.turns), last: s.last, now: s.now} }

// all are the turns, the last too.
func (s *Story) all() []told {
	if s.last == nil {
		return nil
	}
	return append(slices.Clip(s.turns), s.now)
}

// Heard is for Config.Sliced of the run.
func (s *Story) Heard(h *mpsim.Hart) {
	if h != s.last {
		if s.last != nil {
			s.turns = append(s.turns, s.now)
		}
		s.last = h
	}
	t := &s.now
	*t = told{thread: h.ID(), pc: h.UserPC()}
	switch {
	case h.Dead():
		t.ended = true
	case !h.Runnable():
		t.waits = h.WaitsFor()
	case t.pc == h.PC:
		t.accesses(h)
	}
}

// accesses takes note of the access that the thread is about to make.
func (t *told) accesses(h *mpsim.Hart) {
	in, addr, ok := upcoming(h)
	if !ok {
		return
	}
	kind, size, plain := in.Mem()
	switch {
	case !plain:
		t.verb, size = "change", in.AtomicSize()
	case kind == event.Read:
		t.verb = "read"
	default:
		t.verb = "write"
	}
	t.addr, t.size = addr, uint64(size)
}

// upcoming is the next access of a thread to something else than its stack, and its
// address, if a few more instructions in straight line come to it.
func upcoming(h *mpsim.Hart) (in rv.Inst, addr uint64, ok bool) {
	const most, frames = 16, 64 << 10 // instructions; bytes around the stack pointer
	const sp = 2
	x, pc := h.X, h.PC
	stored := map[uint64]bool{}
	for range most {
		if in, ok = h.Machine().Instruction(pc); !ok {
			return in, 0, false
		}
		kind, size, plain := in.Mem()
		addr = x[in.Rs1&31]
		if plain {
			addr += uint64(int64(in.Imm))
		}
		local := addr-x[sp]+frames < 2*frames
		switch {
		case in.Atomic(), plain && !local:
			return in, addr, true
		case in.End() != event.EndFall, plain && kind == event.Read && stored[addr]:
			return in, 0, false
		case plain && kind != event.Read:
			stored[addr] = true
		default:
			o := eval.Operands{PC: pc, Rs1: x[in.Rs1&31], Rs2: x[in.Rs2&31]}
			if plain && !value(h, addr, size, &o.Mem) || !compute(&x, in, o) {
				return in, 0, false
			}
		}
		pc += uint64(in.Len)
	}
	return in, 0, false
}

// value reads size bytes of memory.
func value(h *mpsim.Hart, addr uint64, size uint8, into *uint64) bool {
	var b [8]byte
	if int(size) > len(b) || h.Machine().Space().Peek(addr, b[:size]) != nil {
		return false
	}
	*into = binary.LittleEndian.Uint64(b[:])
	return true
}

// compute does what an instruction does to the integer registers; false if that is not
// known.
func compute(x *[32]uint64, in rv.Inst, o eval.Operands) bool {
	to, writes := in.Dest()
	if !writes || to == 0 || int(to) >= len(x) { // nothing, or a floating-point register
		return true
	}
	if in.Op >= rv.OpFLW { // takes floating-point registers
		return false
	}
	v, ok := eval.Result(in, o)
	x[to] = v
	return ok
}

// Lines are a sentence for each turn of the run, which was in img. place names a place
// in code.
func (s *Story) Lines(img *image.Space, place func(pc uint64) string) []string {
	seen := map[event.ThreadID]bool{}
	var lines []string
	turns := s.all()
	for i := range turns {
		t := &turns[i]
		verb := "runs"
		if seen[t.thread] {
			verb = "goes on"
		}
		seen[t.thread] = true
		text := fmt.Sprintf("T%d %s", t.thread, verb)
		at := place(t.pc)
		if at != "" {
			at = " at " + at
		}
		switch {
		case t.ended:
			text += " until it ends"
		case t.waits != "":
			text += fmt.Sprintf(" until it waits%s for %s", at, named(img, t.waits))
		case i == len(turns)-1:
			text += " until the run ends"
		default:
			text += " and is stopped" + at
			if name := img.ObjectPathSize(t.addr, t.size); t.verb != "" && name != "" {
				text += fmt.Sprintf(", about to %s %s", t.verb, name)
			}
		}
		lines = append(lines, text)
	}
	return lines
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

// named replaces addresses of variables by their names.
func named(img *image.Space, text string) string {
	return address.ReplaceAllStringFunc(text, func(word string) string {
		addr, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 64)
		if err == nil {
			if name := img.ObjectPath(addr); name != "" {
				return name
			}
		}
		return word
	})
}
