package annotate

import (
	"fmt"
	"math"
	"path"
	"strconv"

	"hindsight/analyze/slice"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Info is the head of a report.
type Info struct {
	Version      string // version of the program that reports
	File         string // name of the trace
	Program      string
	Args         []string
	Threads      int
	Instructions uint64
	Seed         uint64
	Complete     bool
}

// Part is a slice of a report, and its role there.
type Part struct {
	Role  string // RoleSlice and so on
	Title string // a line for people that says what it is a slice of
	Slice *slice.Slice
}

// The roles of parts.
const (
	RoleSlice   = "slice"   // the only part
	RoleFirst   = "first"   // what led to a race's first access
	RoleSecond  = "second"  // what led to a race's second access
	RoleCommon  = "common"  // what led to both
	RoleParting = "parting" // where the paths to the two diverge: the origin of the race
	RoleForward = "forward" // what followed from the racy value
)

// Report is one slice, or the slices around a race, with what is needed to name their
// parts.
type Report struct {
	Info    Info
	At      string // where the slice was to begin: a place, or a race
	Parts   []Part
	Impact  *slice.Impact // of a race; otherwise nil
	Image   *image.Space
	Sources *Sources
}

// valueText formats a value of a statement for people. Results of floating-point
// instructions are floating-point numbers, integers are decimal, and what looks like an
// address is hexadecimal.
func valueText(i rv.Inst, v uint64) string {
	if i.Defs().Regs >= 1<<rv.RegF {
		if v>>32 == math.MaxUint32 {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', 6, 32)
		}
		return strconv.FormatFloat(math.Float64frombits(v), 'g', 8, 64)
	}
	if n := int64(v); n >= math.MinInt32 && n <= math.MaxUint32 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%#x", v)
}

// rangeText describes the values of a row: first, last, range.
func (v *view) rangeText(r *row) string {
	if !r.known {
		return ""
	}
	in := v.Statements()[r.of].Inst
	x := r.values
	text := func(n uint64) string { return valueText(in, n) }
	switch {
	case x.Count == 1 || x.Min == x.Max:
		return text(x.First)
	case x.Count == 2:
		return text(x.First) + ", " + text(x.Last)
	}
	low, high := uint64(x.MinS), uint64(x.MaxS)
	if in.Defs().Regs >= 1<<rv.RegF {
		return fmt.Sprintf("first %s, last %s", text(x.First), text(x.Last)) // bits have no order
	}
	return fmt.Sprintf("first %s, last %s, %s … %s", text(x.First), text(x.Last), text(low), text(high))
}

// nameOf names a row as seen from a row of file from.
func (v *view) nameOf(r *row, file string) string {
	switch r.key.kind {
	case rowLine:
		if r.key.file == file {
			return strconv.Itoa(r.key.line)
		}
		return fmt.Sprintf("%s:%d", path.Base(r.key.file), r.key.line)
	case rowCode:
		return offsetText(v.img, r.key.pc)
	}
	return r.key.text
}

// crossText names the threads that a row's dependences can come from.
func crossText(r *row) string { return " in " + threadList(r.threads) }

// about describes a slice for people.
func about(s *slice.Slice) string {
	o := s.Options()
	deps := "data and control"
	switch o.Kinds {
	case slice.Data:
		deps = "data"
	case slice.Control:
		deps = "control"
	case slice.Both | slice.Sync:
		deps = "data, control and order"
	}
	text := o.Direction.String() + ", " + deps
	if o.OneThread {
		text += ", inside threads"
	}
	if o.Depth > 0 {
		text += fmt.Sprintf(", %d deep", o.Depth)
	}
	return text
}

// threadsOf returns the threads with instances in a slice.
func threadsOf(s *slice.Slice) []event.ThreadID {
	seen := map[event.ThreadID]bool{}
	var list []event.ThreadID
	for _, t := range s.Graph().Threads() {
		for n := range s.Statements() {
			for _, id := range s.Statements()[n].Threads {
				if id == t.ID && !seen[id] {
					seen[id] = true
					list = append(list, id)
				}
			}
		}
	}
	return list
}

// instText returns a statement in assembler syntax or, outside the code, what happened.
func instText(img *image.Space, s *slice.Statement) string {
	switch s.Kind {
	case wet.NodeStart:
		return "thread starts"
	case wet.NodeSignal:
		return "signal"
	case wet.NodeCall:
		if f, ok := img.Func(s.Callee); ok {
			return "call of " + f.Demangled()
		}
		return fmt.Sprintf("call of %#x", s.Callee)
	}
	return disassemble(img, s.PC)
}
