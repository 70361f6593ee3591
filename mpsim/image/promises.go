package image

import (
	"slices"
	"sync"
)

// selfGuarded are functions of glibc that use a futex to guard what would otherwise be the
// program's memory: the counter that a wait for asynchronous requests keeps in its frame,
// and that the library's threads decrement.
var selfGuarded = []string{
	"do_aio_misc_wait", "aio_suspend", "__aio_suspend", "__aio_notify", "__lio_listio_24", "lio_listio",
	"gai_suspend", "___gai_suspend_time64", "getaddrinfo_a", "__gai_notify",
}

// guarded holds the address ranges of these functions in an image.
type guarded struct {
	once   sync.Once
	bodies []Range
}

// SelfGuarded reports whether pc is in a function of the C library that guards what
// would otherwise be the program's memory. Its plain accesses never count.
func (m *Image) SelfGuarded(pc uint64) bool {
	g := &m.guarded
	g.once.Do(func() {
		for _, name := range selfGuarded {
			if s, ok := m.Lookup(name); ok && !m.User(s.Addr) {
				g.bodies = append(g.bodies, Range{m.FileOf(s.Addr), s.Addr + s.Size})
			}
		}
	})
	return slices.ContainsFunc(g.bodies, func(r Range) bool { return pc-r.Low < r.High-r.Low })
}
