// Package replay walks a recorded run once along S_synch, in the order that
// docs/semantics.md defines, and reports what happens: segments, events, events that are
// accesses, new lives of memory. Only this package implements that page's rules about
// runs: the order of units, happens-before at each of them, what is in memory, what an
// event does to how much memory, which strand a thread acts as, which memory belongs to a
// thread alone, which accesses count, and the constants of these rules. The analyses are
// its clients. If the page's rules change, this package changes.
//
// A [Survey] is the first walk: it collects what must be known about the whole run before
// an access can be judged. A [Walk] is a moment of the run; [Walk.Run] moves it from the
// beginning to the end and calls a [Visitor]. At each event the steps are:
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
// The segments that no event ends come last, by thread. A client that needs to know which
// write a read obtained sets [Options.Parts]. What a thread did before another thread's
// turn then comes at its own time, as far as the run records it.
//
// A Walk belongs to one goroutine. Others may read its Memory, and call [Walk.Own],
// between two calls of [Visitor.Changes].
package replay
