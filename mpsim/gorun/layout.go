package gorun

import "hindsight/mpsim/image"

// layout holds offsets of fields in the runtime's structures, from the debug information.
// Without debug information, they are those of the release with which the table was
// checked.
type layout struct {
	chanCount, chanCapacity, chanBuf, chanLock, chanElemSize uint64
	timer                                                    uint64 // in a timeTimer
	iterMap                                                  uint64 // in a map iterator
	gBubble                                                  uint64 // in a g; 0: the release has no such field
	gCoro                                                    uint64 // in a g: the coroutine that it switches; 0: the release has no such field
}

func layoutOf(img *image.Image) layout {
	l := layout{chanCount: 0, chanCapacity: 8, chanBuf: 16, chanLock: 104, chanElemSize: 24, timer: 16, iterMap: 24}
	members := img.Members("runtime", "runtime.hchan", "runtime.timeTimer", "runtime.g")
	for _, f := range []struct {
		to          *uint64
		typ, member string
	}{
		{&l.chanElemSize, "runtime.hchan", "elemsize"}, {&l.chanCount, "runtime.hchan", "qcount"}, {&l.chanCapacity, "runtime.hchan", "dataqsiz"},
		{&l.chanBuf, "runtime.hchan", "buf"}, {&l.chanLock, "runtime.hchan", "lock"},
		{&l.timer, "runtime.timeTimer", "timer"}, {&l.gBubble, "runtime.g", "bubble"}, {&l.gCoro, "runtime.g", "coroarg"},
	} {
		if off, ok := members[f.typ+"."+f.member]; ok {
			*f.to = off
		}
	}
	return l
}
