// Package sharing reports what a modelled memory system found about the memory that
// threads shared in a run. It says which variables and cache lines cost bus transactions,
// whether threads need each other's data there or only happen to share a line (false
// sharing), and whether an invalidation protocol or an update protocol would suit (PPoPP
// 2003, section 6).
//
// The numbers come from the arch-summary block of a trace (package archinfo); this
// package adds names. [Build] returns a [Report], which has methods that write it as text
// and as JSON (stable, docs/sharing.schema.json).
//
// The variable at an address is the one at the time of the last transaction on its line.
// Everything belongs to one goroutine.
package sharing
