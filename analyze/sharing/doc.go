// Package sharing says what a modelled memory system found in a run about the
// memory that threads shared: which variables and cache lines cost bus
// transactions, whether threads need each other's data there or only happen to
// share a line (false sharing), and whether a protocol that invalidates or one
// that updates would suit (PPoPP 2003, section 6).
//
// The numbers come from the arch-summary block of a trace (package archinfo);
// this package names them: [Build] makes a [Report], which writes itself as
// text or, in a stable form with docs/sharing.schema.json, as JSON.
//
// What lies at an address is looked up at the moment of the last transaction
// on its line. Everything belongs to one goroutine.
package sharing
