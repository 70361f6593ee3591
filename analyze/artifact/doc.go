// Package artifact finds the races of a run that are only consequences of other
// races: artifacts, by address (event-control dependence of PPoPP 2003, section
// 4.2, after R. H. B. Netzer and B. P. Miller, with true dependences) and by order
// (ordered once the cause is repaired). docs/semantics.md defines them.
//
// # How
//
// [Analyze] walks back from each side of an instance of a race: the registers
// that made the address, the instructions that defined those, the loads among
// them, the stores that the loads read from, in any thread, and so on. The walk
// ends at racy reads, each of which is a possible cause. A second walk follows
// control as well: an instruction depends on the last execution, in the same
// activation of its function, of a branch that it is control dependent on in
// the sense of Ferrante, Ottenstein and Warren; without one, on the call (or
// the jump) that entered the function; in the first function of a thread, on
// the call that created the thread. This is the dynamic control dependence of
// B. Xin and X. Zhang ("Efficient online detection of dynamic control
// dependence", ISSTA 2007), found backwards.
//
// A racy read b explains an instance by address when the first walk leads to it, and
// leaves it behind another race when only the second does, and some write a that races with b comes
// before the other side in that side's thread, or when the other side too
// depends on b or on another read that races with a.
//
// Nothing is expanded: [cdr.History] finds the last definition of a register in
// the control grammar, by sets of registers kept once a rule, and the last
// store to an address in the address grammars, by ranges of addresses kept once
// a rule.
//
// # Limits
//
// What cannot be followed makes a verdict Unknown with the reason, and never
// Artifact: addresses that were not recorded, two writes without order, walks
// beyond [Options]. Not followed, and taken for independent of any race, are
// values that pass through atomic variables, and what hooked functions (malloc,
// pthread_join) and system calls return. Where a system call for input may have
// replaced a value in memory, nothing is claimed.
//
// # Files
//
// index.go, records.go and lives.go know which executions race; code.go the program; graph.go and
// memory.go find what an instruction depends on; slice.go walks; explain.go
// judges. order.go decides what is ordered with a cause repaired: reads.go finds
// which writes were read, follow.go whether a thread made use of what it read,
// constant.go whether it could have read the same otherwise. control.go has what
// a race is behind, and the paper's own relation.
//
// A call of Analyze belongs to the goroutine that the trace belongs to.
package artifact
