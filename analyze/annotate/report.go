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

// Info is what a report says about itself.
type Info struct {
	Version      string // of the program that reports
	File         string // the trace
	Program      string
	Args         []string
	Threads      int
	Instructions uint64
	Seed         uint64
	Complete     bool
}

// Part is a slice of a report, with its part in it.
type Part struct {
	Role  string // RoleSlice and the like
	Title string // a line for people: what it is a slice of
	Slice *slice.Slice
}

// Roles of parts.
const (
	RoleSlice   = "slice"   // the only one
	RoleFirst   = "first"   // what led to a race's first access
	RoleSecond  = "second"  // what led to its second
	RoleCommon  = "common"  // what led to both
	RoleParting = "parting" // where the two part: the trouble's start
	RoleForward = "forward" // what followed from the racy value
)

// Report is one slice, or those around a race, with what names them.
type Report struct {
	Info    Info
	At      string // what was asked for: a specification, or a race
	Parts   []Part
	Impact  *slice.Impact // of a race; else nil
	Image   *image.Space
	Sources *Sources
}

// valueText writes a value of a statement for people: numbers of floating-point
// instructions as such, integers in decimal, what looks like an address in
// hexadecimal.
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

// rangeText writes what a row's values were: first, last, range.
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
		return fmt.Sprintf("first %s, last %s", text(x.First), text(x.Last)) // bits are in no order
	}
	return fmt.Sprintf("first %s, last %s, %s … %s", text(x.First), text(x.Last), text(low), text(high))
}

// nameOf refers to a row from a row of a file.
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

// threadsCrossed names the threads that a row's dependences can come from.
func crossText(r *row) string { return " in " + threadList(r.threads) }

// about says what a slice is, for people.
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

// threadsOf lists the threads with instances in a slice.
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

// instText is a statement as assembler, or what happened outside.
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
