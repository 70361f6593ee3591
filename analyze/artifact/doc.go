// Package artifact finds the races of a run that are only consequences of other races:
// artifacts, by address (event-control dependence of PPoPP 2003, section 4.2, after R. H.
// B. Netzer and B. P. Miller, with true dependences) and by order (ordered once the cause
// is fixed). docs/semantics.md defines them.
//
// # How
//
// [Analyze] walks back from each side of an instance of a race: the registers that the
// address was computed from, the instructions that defined those registers, the loads
// among them, the stores that the loads read from, in any thread, and so on. The walk
// ends at racy reads, each of which is a possible cause. A second walk also follows
// control: an instruction depends on the last execution, in the same activation of its
// function, of a branch that it is control dependent on in the sense of Ferrante,
// Ottenstein and Warren; if there is none, it depends on the call (or the jump) that
// entered the function, or, in the first function of a thread, on the call that created
// the thread. This is the dynamic control dependence of B. Xin and X. Zhang ("Efficient
// online detection of dynamic control dependence", ISSTA 2007), found backwards.
//
// A racy read b explains an instance by address if the first walk leads to b, and either
// some write a that races with b comes before the other side in that side's thread, or
// the other side too depends on b or on another read that races with a. If only the
// second walk leads to b, the race is behind b's race.
//
// Nothing is expanded: [cdr.History] finds the last definition of a register in the
// control grammar, by sets of registers stored once per rule, and the last store to an
// address in the address grammars, by ranges of addresses stored once per rule.
//
// # Limits
//
// If something cannot be followed, the verdict is Unknown with the reason, and never
// Artifact. This applies to addresses that were not recorded, two unordered writes, and
// walks beyond [Options]. Values that pass through atomic variables, and what hooked
// functions (malloc, pthread_join) and system calls return, are not followed and count as
// independent of any race. If an input system call may have replaced a value in memory,
// nothing is claimed.
//
// # Files
//
// index.go, records.go and lives.go determine which executions race, and code.go decodes
// the program. graph.go and memory.go find what an instruction depends on, slice.go walks
// over these dependences, and explain.go decides. order.go determines what is ordered
// with a cause fixed: reads.go finds which writes were read, follow.go whether a thread
// used what it read, and constant.go whether it could have read the same value otherwise.
// control.go finds the races that a race is behind, and the paper's own relation.
//
// Call Analyze on the goroutine that the trace belongs to.
package artifact
