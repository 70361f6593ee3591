package cdr

import (
	"hindsight/cdr/format"
	"hindsight/mpsim/intent"
	"hindsight/tracefmt/event"
)

// bytesUsed are the bytes of what a site accesses that its source can have accessed: size
// of them after skip others.
type bytesUsed struct{ skip, size uint8 }

// Used returns which bytes of its access a site's source can have accessed: those after the
// first skip ones, size of them. They are fewer than all where a load of a word reads a
// bit-field (see [intent.Code.Used]). The methods of [Segment] hand out these bytes.
func (t *Trace) Used(id format.SiteID) (skip, size uint8) {
	t.usedOnce.Do(t.findUsed)
	if int(id) < len(t.used) {
		return t.used[id].skip, t.used[id].size
	}
	return 0, t.Site(id).Size
}

// findUsed looks at the code of each load. Without the program all bytes count.
func (t *Trace) findUsed() {
	space, err := t.Space()
	if err != nil || space.Main == nil {
		return
	}
	code := intent.New(space)
	t.used = make([]bytesUsed, len(t.tab.Sites))
	for i, s := range t.tab.Sites {
		u := bytesUsed{size: s.Size}
		if s.Access == event.Read {
			u.skip, u.size = code.Used(s.PC, s.Size)
		}
		t.used[i] = u
	}
}
