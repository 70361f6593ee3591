package minimize

import (
	"fmt"
	"regexp"
	"slices"
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
