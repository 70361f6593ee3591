// Package replay walks a recorded run once along S_synch, in the order that
// docs/semantics.md defines, and tells those who ask what happens: segments,
// events, the accesses that events are, new lives of memory. It alone knows
// that page's rules about runs: in which order units are taken, what
// happens-before is at each of them, what lies in memory, what an event does to
// memory and how far, which strand a thread acts as, what a thread has for
// itself, whose business an access is, and the constants of all that. The
// analyses are its clients; a rule of the page that changes is changed here.
//
// A [Survey] is the first walk: what must be known of the whole run before an
// access can be judged. A [Walk] is a moment of the run; [Walk.Run] moves it from
// the beginning to the end and calls a [Visitor]. At each event the steps are:
//
//  1. the segment that the event ends ([Visitor.Segment]);
//  2. the part of the event that orders it after others;
//  3. the event itself ([Visitor.Event]);
//  4. if the event is an access, the access ([Visitor.Access]);
//  5. if it begins a new life of memory, that ([Visitor.Life]);
//  6. what it does to the address space (first [Visitor.Changes]);
//  7. the part of the event that orders others after it;
//  8. the event is over ([Visitor.Done]).
//
// The segments that no event ends come last, by thread. A client that needs to
// know which write a read read from asks for parts ([Options.Parts]): then what a
// thread did before another had its turn comes at its time, as far as the run
// knows.
//
// A Walk is used by one goroutine. Others may read its Memory, and ask [Walk.Own],
// between two calls of [Visitor.Changes].
package replay
