// Package mem is the guest's address space: which ranges are mapped and how,
// and their 4 KiB pages, which are allocated when first touched.
//
// A [Space] knows nothing of registers or system calls. The machine asks it
// for pages on a miss of its own translation cache ([Space.Page]); the system
// call layer maps and unmaps ([Space.Map], [Space.Unmap], [Space.Protect],
// [Space.SetBreak]) and copies ([Space.Read], [Space.Write],
// [Space.ReadCString]).
//
// Everything is deterministic: free ranges are found from the top down and
// nothing is randomised. A Space belongs to one goroutine at a time.
package mem
