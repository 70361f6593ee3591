package wpp

// Feed is a terminal that waits to be appended to a builder's string.
type Feed struct {
	To       *Builder
	Terminal Terminal

	found uint32 // the entry that touch found
}

// AppendEach appends the terminals to their builders, in order, as [Builder.Append] does.
// It returns the number of symbols by which the grammars grew in total.
//
// If several builders have large grammars, it is faster than Append. The first reads of
// an append are scattered in memory. AppendEach does these reads for all terminals before
// it appends the first, so the processor waits for many of them at a time.
func AppendEach(list []Feed) (symbols int) {
	for i := range list {
		list[i].touch()
	}
	for i := range list {
		f := &list[i]
		if f.found != 0 {
			f.found = f.To.nodes[f.found].next // this read brings the node into the cache
		}
	}
	for i := range list {
		f := &list[i]
		before := f.To.Symbols()
		f.To.Append(f.Terminal)
		symbols += f.To.Symbols() - before
	}
	return symbols
}

// touch reads the slot of the index that Append will read, unless the string changes
// before.
func (f *Feed) touch() {
	b := f.To
	if len(b.digram.slots) == 0 {
		f.found = 0
		return
	}
	last := b.nodes[b.nodes[startGuard].prev].sym
	hash := hashPair(last, uint32(f.Terminal))
	f.found = uint32(b.digram.slots[hash>>(b.digram.shift&31)&uint32(len(b.digram.slots)-1)])
	if int(f.found) >= len(b.nodes) {
		f.found = 0
	}
}

// [Builder.Room] assumes that an append adds at most roomRate nodes and pairs in the long
// run, and at most roomSlack more temporarily.
const (
	roomRate  = 2
	roomSlack = 64
)

// Room returns how many terminals, at most limit, can be appended before the memory of
// the builder has to grow.
func (b *Builder) Room(limit int) int {
	if b.nodes == nil {
		return 0
	}
	nodes := cap(b.nodes) - int(b.live+b.rules) - startGuard - 1
	pairs := len(b.digram.slots)/4*3 - int(b.digram.used)
	return max(0, min(limit, (min(nodes, pairs)-roomSlack)/roomRate))
}
