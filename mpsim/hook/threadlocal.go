package hook

import "hindsight/tracefmt/event"

// Thread-local variables of shared objects that the program loads while running. The
// dynamic linker allocates them for a thread when __tls_get_addr first requests one.

// asking is the last call of __tls_get_addr by a thread.
type asking struct {
	index uint64 // its argument, which names the variable
	ret   uint64 // its return address
}

// asksThreadLocal hooks __tls_get_addr.
var asksThreadLocal = Func{Pass: true, Names: []string{"__tls_get_addr"}, Begin: func(s *State, c *Call) {
	ret, _ := c.Return(0)
	s.asking[c.ID()] = asking{c.Arg(0), ret}
}}

// threadLocal is called when the dynamic linker has allocated size bytes at addr. It
// determines whether they hold thread-local variables, and whose.
func (s *State) threadLocal(c *Call, addr, size uint64) {
	a, asked := s.asking[c.ID()]
	if !asked {
		return
	}
	inside := false
	callers(c, c.CallPC(), func(pc uint64) bool {
		inside = pc+1 == a.ret
		return s.whose.linker(pc)
	})
	if !inside {
		return
	}
	owner := s.whose.img.TLSOwner(a.index)
	if owner == nil {
		return
	}
	// The linker adds room for alignment that the allocator does not guarantee. The table
	// of a thread's blocks, which the linker sometimes extends, has another size.
	vars := &owner.TLS
	align := max(vars.Align, 1)
	if size < vars.MemSize || size-vars.MemSize > align {
		return
	}
	at := (addr + align - 1) &^ (align - 1)
	if at+vars.MemSize > addr+size {
		return
	}
	c.EmitSized(event.ThreadLocal, uint32(vars.MemSize), at, owner.Segments[0].Addr)
	if !owner.System() {
		s.whose.freed(addr, size) // no longer the library's own
	}
}

// linker reports whether pc is in the code of the dynamic linker.
func (o *whose) linker(pc uint64) bool {
	m := o.img.At(pc)
	return m != nil && m.Linker()
}
