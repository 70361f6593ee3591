package minimize

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Story is what the turns of a run were, in order. [Story.Heard] collects it while the
// run is made; [Story.Lines] are one for each of the [Turns] of the run's schedule.
// The zero value is ready for use.
type Story struct {
	turns []told
	last  *mpsim.Hart
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

// Heard is for Config.Sliced of the run.
func (s *Story) Heard(h *mpsim.Hart) {
	if h != s.last {
		s.last = h
		s.turns = append(s.turns, told{thread: h.ID()})
	}
	t := &s.turns[len(s.turns)-1]
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
	addr, size, ok := h.Accesses()
	if !ok {
		return
	}
	t.addr, t.size, t.verb = addr, size, "change"
	if in, ok := h.Machine().Instruction(h.PC); ok {
		switch kind, _, plain := in.Mem(); {
		case plain && kind == event.Read:
			t.verb = "read"
		case plain:
			t.verb = "write"
		}
	}
}

// Lines are a sentence for each turn of the run, which was in img. place names a place
// in code.
func (s *Story) Lines(img *image.Space, place func(pc uint64) string) []string {
	seen := map[event.ThreadID]bool{}
	var lines []string
	for i := range s.turns {
		t := &s.turns[i]
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
		case i == len(s.turns)-1:
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
