package cdr

import (
	"hindsight/cdr/format"
	"hindsight/mpsim/intent"
	"hindsight/tracefmt/event"
)

// bytesUsed are the bytes of an access that the site's source code can have accessed:
// size bytes, after skip others.
type bytesUsed struct{ skip, size uint8 }

// Used returns which bytes of its accesses the source code of a site can have accessed:
// size bytes, after the first skip ones. They are fewer than the whole access where a
// load of a word reads a bit-field (see [intent.Code.Used]). The methods of [Segment]
// return only these bytes.
func (t *Trace) Used(id format.SiteID) (skip, size uint8) {
	t.usedOnce.Do(t.findUsed)
	if int(id) < len(t.used) {
		return t.used[id].skip, t.used[id].size
	}
	return 0, t.Site(id).Size
}

// findUsed examines the code of each load. Without the program, all bytes count.
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
