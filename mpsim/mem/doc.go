// Package mem implements the guest's address space: which ranges are mapped and how, and
// their 4 KiB pages, which are allocated when first touched.
//
// A [Space] knows nothing about registers or system calls. The machine asks it for pages
// when its own translation cache misses ([Space.Page]). The system call layer maps and
// unmaps ([Space.Map], [Space.Unmap], [Space.Protect], [Space.SetBreak]) and copies
// ([Space.Read], [Space.Write], [Space.ReadCString]).
//
// Everything is deterministic: free ranges are searched from the top down, and nothing is
// randomised. A Space belongs to one goroutine at a time.
package mem
