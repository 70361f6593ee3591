// Package fold answers questions about the addresses of a site on the compressed
// form: what a rule of an address grammar accesses is worked out once, whatever the
// number of its occurrences (PPoPP 2003, section 2.4; [Index] has the prefix sums).
//
//   - [Cursor] walks the string from any access on, as strided runs.
//   - [Coverer] says which bytes are accessed, [Tallier] how often which addresses,
//     [Finder] which runs touch certain memory.
//   - [Bounds] finds the last access to an address.
//
// An Index computes when it is first asked, so that it and all that use it belong
// to one goroutine.
package fold
