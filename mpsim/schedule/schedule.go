package schedule

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Kind says how long a step is.
type Kind uint8

const (
	Run   Kind = iota // for Count instructions
	To                // up to the instruction at PC, when the thread reaches it for the Count-th time
	Rest              // until the thread waits or ends
	Clock             // no thread runs: the time becomes Time, and what is due happens
	// Until the thread has had Events events (event.Kind.IsStep) and executed Accesses
	// plain accesses to memory outside hooked calls, counted since it began. A hooked call
	// that had the last of the events runs to its end, or until it waits. A sleep of the
	// thread ends early.
	Until
)

// Step is a part of a run in which one thread runs. With the zero value, T0 runs no
// instruction.
type Step struct {
	Kind   Kind
	Thread event.ThreadID // of all kinds except Clock
	Count  uint64         // of Run: instructions; of To: how many times, from 1
	PC     uint64         // of To
	Time   uint64         // of Clock: nanoseconds since the run began
	// Of Until: counts since the thread began.
	Events, Accesses uint64
	// At is where the thread is after the step, for Run, Rest and Until; 0: unknown.
	At uint64
	// Waits says, in a run's own schedule, that the thread could not continue after the
	// step, because it waited or had ended. The text form does not contain it.
	Waits bool
	// Line is the number of the line that the step was read from, from 1; 0: none.
	Line int
}

// Schedule is the steps of a run, in order.
type Schedule struct {
	Name  string // of the file that it was read from, for messages; "": none
	Steps []Step
	// Lenient skips what cannot be followed: when a thread waits, the rest of its step, if
	// the step has a count, is added to its next step. Such a run does not diverge.
	Lenient bool
}

// Switches returns how many times another thread takes over.
func (s *Schedule) Switches() (n int) {
	last, any := event.ThreadID(0), false
	for i := range s.Steps {
		st := &s.Steps[i]
		if st.Kind == Clock {
			continue
		}
		if any && st.Thread != last {
			n++
		}
		last, any = st.Thread, true
	}
	return n
}

// Insts returns the sum of the instructions of the steps that count them.
func (s *Schedule) Insts() (n uint64) {
	for i := range s.Steps {
		if s.Steps[i].Kind == Run {
			n += s.Steps[i].Count
		}
	}
	return n
}

// Counts reports whether some step lasts until events and accesses. s may be nil.
func (s *Schedule) Counts() bool {
	return s != nil && slices.ContainsFunc(s.Steps, func(st Step) bool { return st.Kind == Until })
}
