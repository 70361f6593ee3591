package linux

// descriptorNumber tracks the order that comes from the reuse of a descriptor's number
// after it was closed. Servers keep the data of a connection in a table indexed by
// descriptor, and use nothing else to order accesses to it.
//
// It counts only if the program's own calls opened both descriptors. Files order nothing:
// their numbers are reused by arbitrary threads.
type descriptorNumber struct {
	own   bool   // the program's own call opened it
	order handle // of all threads that closed it
	by    *Task  // the last one that closed it
}

// opened is called when s.f was assigned a number.
func (k *Kernel) opened(s *slot) {
	n := &s.number
	_, waits := s.f.file.(stream)
	if _, ok := s.f.file.(*device); ok {
		waits = false
	}
	n.own = waits && k.own()
	if n.own && n.by != k.acting {
		k.observe(n.order)
	}
}

// closed is called when the number of s is about to become free.
func (k *Kernel) closed(s *slot) {
	n := &s.number
	if !n.own || !k.traced() || k.next == MainTID+1 {
		return // everything before the first other thread is ordered anyway
	}
	k.publish(&n.order)
	n.own, n.by = false, k.acting
}
