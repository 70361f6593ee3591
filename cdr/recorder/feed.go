package recorder

import (
	"hindsight/cdr/format"
	"hindsight/wpp"
)

// grammar is the grammar of a control string or of a stream of addresses.
type grammar struct {
	wpp.Builder
	room  int    // terminals that fit before it must grow
	round uint64 // of the feed, when this grammar last got a terminal
}

// feed collects terminals of one thread before they are appended to their grammars,
// because appending several together is faster (see [wpp.AppendEach]). A terminal waits
// only if it does not change the memory of its grammar, and only while the symbols stay
// below the number at which the epoch is due. An epoch therefore ends at the same block
// as it would without a feed.
type feed struct {
	thread *threadRec // whose terminals they are
	list   []wpp.Feed
	round  uint64 // how often the list was emptied
}

// feedLen is the largest number of terminals that wait.
const feedLen = 64

// dueSymbols is the number of symbols, in the grammars of one block, at which the epoch
// must end.
const dueSymbols = format.MaxSymbols / 2

// feed appends a terminal to one of the thread's grammars, at once or later.
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

// appendNow appends a terminal to a grammar that may grow. No terminal may be waiting for
// that grammar.
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

// counted adds symbols to the count of the control string or of the streams.
func (t *threadRec) counted(symbols int, control bool) {
	if !control {
		t.symbols += symbols
	}
	t.most = max(t.symbols, t.control.Symbols())
	if t.most >= dueSymbols {
		t.rec.due = true
	}
}

// drain appends the waiting terminals.
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
