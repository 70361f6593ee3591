package recorder

import (
	"hindsight/cdr/format"
	"hindsight/wpp"
)

// grammar is the grammar of a control string or of a stream of addresses.
type grammar struct {
	wpp.Builder
	room  int    // terminals that it takes without growing
	round uint64 // of the feed, when it last got one
}

// feed holds terminals that are not in their grammars yet, all of one thread. Together
// they are appended faster (see [wpp.AppendEach]). Only those wait that change neither
// the memory of a grammar nor, in total, reach the number of symbols at which the epoch
// is due; so an epoch ends at the same block as if none waited.
type feed struct {
	thread *threadRec // whose they are
	list   []wpp.Feed
	round  uint64 // how often the list was emptied
}

// feedLen is how many terminals wait at most.
const feedLen = 64

// dueSymbols is the number of symbols in the grammars of a block at which an epoch is
// due.
const dueSymbols = format.MaxSymbols / 2

// feed appends a terminal to a grammar of the thread's, at once or later.
func (t *threadRec) feed(g *grammar, id wpp.Terminal) {
	f := &t.rec.feed
	if f.thread != t {
		f.drain()
		f.thread = t
	}
	if g.room == 0 {
		if g.round == f.round {
			f.drain()
		}
		if g.room = g.Room(feedLen); g.room == 0 {
			t.appendNow(g, id)
			return
		}
	}
	g.room--
	g.round = f.round
	f.list = append(f.list, wpp.Feed{To: &g.Builder, Terminal: id})
	if len(f.list) >= feedLen || t.most+len(f.list) >= dueSymbols {
		f.drain()
	}
}

// appendNow appends a terminal to a grammar that may grow. None waits for it.
func (t *threadRec) appendNow(g *grammar, id wpp.Terminal) {
	before, symbols := g.Size(), g.Symbols()
	g.Append(id)
	if after := g.Size(); after != before {
		t.rec.grow(after - before)
	}
	t.counted(g.Symbols()-symbols, g == &t.control)
	if f := &t.rec.feed; len(f.list) > 0 && t.most+len(f.list) >= dueSymbols {
		f.drain()
	}
}

// counted adds to the symbols of the streams or of the control string.
func (t *threadRec) counted(symbols int, control bool) {
	if !control {
		t.symbols += symbols
	}
	t.most = max(t.symbols, t.control.Symbols())
	if t.most >= dueSymbols {
		t.rec.due = true
	}
}

// drain appends what waits.
func (f *feed) drain() {
	f.round++
	if len(f.list) == 0 {
		return
	}
	t := f.thread
	control := t.control.Symbols()
	symbols := wpp.AppendEach(f.list)
	f.list = f.list[:0]
	t.counted(symbols-(t.control.Symbols()-control), false)
}
