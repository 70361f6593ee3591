package linux

// descriptorNumber is what the kernel puts in order by handing the number of a
// descriptor out again after it was closed: servers keep what belongs to a
// connection in a table by descriptor, and need nothing else to order its uses.
//
// It is the program's order only if its own calls opened the one and the other.
// Files, unlike what a program waits for, order nothing: their numbers come and go
// in any thread by chance.
type descriptorNumber struct {
	own   bool   // the program's own call opened it
	order handle // of all who closed it
	by    *Task  // who closed it last
}

// opened is called when a number was given to s.f.
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

// closed is called when the number of s is about to be free again.
func (k *Kernel) closed(s *slot) {
	n := &s.number
	if !n.own || !k.traced() || k.next == MainTID+1 {
		return // before there is another thread, all comes before it
	}
	k.publish(&n.order)
	n.own, n.by = false, k.acting
}
