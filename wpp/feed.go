package wpp

// Feed is a terminal on its way to the end of a builder's string.
type Feed struct {
	To       *Builder
	Terminal Terminal

	found uint32 // by touch
}

// AppendEach appends the terminals to their builders, in order, as [Builder.Append]
// does. It returns by how many symbols the grammars grew in total.
//
// Where several builders have large grammars, it is faster than Append: what an append
// reads first is scattered in memory, and AppendEach reads it for all terminals before
// it appends the first, so that the processor waits for many at a time.
func AppendEach(list []Feed) (symbols int) {
	for i := range list {
		list[i].touch()
	}
	for i := range list {
		f := &list[i]
		if f.found != 0 {
			f.found = f.To.nodes[f.found].next // read, and so in the cache
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

// touch reads the slot of the index in which Append will look, unless the string has
// changed by then.
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

// What [Builder.Room] assumes of an append: it adds at most roomRate nodes and pairs in
// the long run, and at most roomSlack more for a while.
const (
	roomRate  = 2
	roomSlack = 64
)

// Room is how many terminals can be appended, at most limit, before the memory of the
// builder has to grow.
func (b *Builder) Room(limit int) int {
	if b.nodes == nil {
		return 0
	}
	nodes := cap(b.nodes) - int(b.live+b.rules) - startGuard - 1
	pairs := len(b.digram.slots)/4*3 - int(b.digram.used)
	return max(0, min(limit, (min(nodes, pairs)-roomSlack)/roomRate))
}
