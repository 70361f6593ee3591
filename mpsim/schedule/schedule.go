package schedule

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Kind says how long a step is.
type Kind uint8

const (
	Run   Kind = iota // for Count instructions
	To                // up to the instruction at PC, the Count-th time that the thread comes there
	Rest              // until the thread waits or ends
	Clock             // no thread runs: the time becomes Time, and what is due then happens
	// Until the thread has had Events events (event.Kind.IsStep) and executed Accesses
	// plain accesses to memory, since it began and outside of hooked calls. A hooked
	// call that had the last of the events ends, or waits. A sleep of the thread ends
	// early.
	Until
)

// Step is a stretch of a run in which one thread runs. The zero value lets T0 run
// no instruction.
type Step struct {
	Kind   Kind
	Thread event.ThreadID // of all kinds but Clock
	Count  uint64         // instructions of Run; times of To, from 1
	PC     uint64         // of To
	Time   uint64         // of Clock: nanoseconds since the run began
	// Of Until: since the thread began.
	Events, Accesses uint64
	// At is where the thread is after the step, of Run, Rest and Until; 0: unknown.
	At uint64
	// Waits says, of a run's own schedule, that the thread could not go on after the
	// step: it waited or had ended. The text form does not have it.
	Waits bool
	// Line is the line of the file that the step was read from, from 1; 0: none.
	Line int
}

// Schedule is the steps of a run, in order.
type Schedule struct {
	Name  string // of the file that it was read from, for messages; "": none
	Steps []Step
	// Lenient leaves out what cannot be followed: what a thread that waits has left
	// of a step with a count is added to its next step. Such a run does not diverge.
	Lenient bool
}

// Switches is how often another thread takes over.
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

// Insts is the sum of the instructions of the steps that count them.
func (s *Schedule) Insts() (n uint64) {
	for i := range s.Steps {
		if s.Steps[i].Kind == Run {
			n += s.Steps[i].Count
		}
	}
	return n
}

// Counts reports whether a step lasts until events and accesses. s may be nil.
func (s *Schedule) Counts() bool {
	return s != nil && slices.ContainsFunc(s.Steps, func(st Step) bool { return st.Kind == Until })
}
