package written

import (
	"errors"
	"fmt"

	"hindsight/analyze/artifact"
	"hindsight/analyze/local"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Seen says what the writes of a race wrote.
type Seen struct {
	Writes    uint64 // number of examined writes
	Unchanged uint64 // number of those that stored what was already there
	// All says that all executions of the writing instructions were examined, and not
	// only those that race, because these were too many to distinguish.
	All bool
	// Equal says that both sides of the race write, and that all writes to an address
	// stored the same there.
	Equal bool
	// One says that all of them stored the same, which is Value, in the Size bytes.
	One   bool
	Value uint64
	Size  uint8
}

// Same reports whether the writes make no difference: each stored what was there, or all
// of them stored the same.
func (s *Seen) Same() bool { return s.Writes > 0 && (s.Unchanged == s.Writes || s.Equal) }

// Observer watches the writes of races in a rerun. It is an [event.ValueObserver].
type Observer struct {
	img     *image.Space
	blocks  []block
	ids     map[format.Site]int32 // of watched sites
	queries []query
	bySite  [][]int32 // queries about all executions of a site
	byExec  map[execution][]int32
	memory  memory
	asked   []local.Place
	places  map[execution][]int32
	locals  []local.Variable // the variables of the places
	threads map[event.ThreadID]*thread

	// Outcome is how the run ended, and Insts what each thread executed, for comparison
	// with the run in the trace.
	Outcome event.Outcome
	Insts   []uint64
}

// query is a race.
type query struct {
	Seen
	at map[uint64]uint64 // what was written at each address; nil: not the same
}

// maxAddresses limits the addresses at which the writes of a race are compared.
const maxAddresses = 1 << 16

// execution identifies an execution of a watched site.
type execution struct {
	thread  event.ThreadID
	id      int32
	ordinal uint64
}

type thread struct {
	regs   [64]uint64
	times  []uint64 // by watched site
	frames frames
}

// New returns an Observer. It watches the writes by the sites that site returns, on pages
// (addresses / 4096), and finds the variables that contain places.
func New(img *image.Space, site func(format.SiteID) format.Site, writes []artifact.Writes, pages map[uint64]bool, places []local.Place) *Observer {
	o := &Observer{img: img, ids: map[format.Site]int32{}, queries: make([]query, len(writes)), byExec: map[execution][]int32{},
		memory: newMemory(img, pages), threads: map[event.ThreadID]*thread{}}
	for n := range writes {
		w := &writes[n]
		q := &o.queries[n]
		q.All = !w.Complete
		if w.Both {
			q.at = map[uint64]uint64{}
		}
		for _, s := range w.Sites {
			id := o.watch(site(s))
			if !w.Complete {
				o.bySite[id] = append(o.bySite[id], int32(n))
			}
		}
		for _, e := range w.Racing {
			at := execution{e.Thread, o.ids[site(e.Site)], e.Ordinal}
			o.byExec[at] = append(o.byExec[at], int32(n))
		}
	}
	o.ask(site, places)
	return o
}

func (o *Observer) watch(s format.Site) int32 {
	id, known := o.ids[s]
	if !known {
		id = int32(len(o.ids))
		o.ids[s] = id
		o.bySite = append(o.bySite, nil)
	}
	return id
}

// WantsValues implements [event.ValueObserver].
func (o *Observer) WantsValues() bool { return true }

// Define implements [event.Observer].
func (o *Observer) Define(blocks []event.Block) error {
	for n := range blocks {
		b := scan(o.img, &blocks[n])
		for k := range b.stores {
			if s := &b.stores[k]; s.site >= 0 && int(s.site) < len(blocks[n].Sites) {
				if id, watched := o.ids[format.Site(blocks[n].Sites[s.site])]; watched {
					s.id = id
				}
			}
		}
		for _, s := range blocks[n].Sites {
			if id, watched := o.ids[format.Site(s)]; watched && s.Access == event.Read {
				b.loads = append(b.loads, id)
			}
		}
		o.blocks = append(o.blocks, b)
	}
	return nil
}

// Finish implements [event.Observer].
func (o *Observer) Finish(outcome event.Outcome) error {
	o.Outcome = outcome
	return nil
}

// errCode ends a run of code that is not in the program's file.
var errCode = errors.New("written: the program generated code at run time")

// errBatch is about a batch with too few entries.
var errBatch = errors.New("written: a batch has too few values or addresses")

// Batch implements [event.Observer].
func (o *Observer) Batch(b *event.Batch) error {
	for int(b.Thread) >= len(o.Insts) {
		o.Insts = append(o.Insts, 0)
	}
	o.Insts[b.Thread] += b.Insts
	t := o.threads[b.Thread]
	if t == nil {
		t = &thread{times: make([]uint64, len(o.ids))}
		o.threads[b.Thread] = t
	}
	effects, events, values, addrs := b.Effects, b.Events, b.Values, b.Addrs
	for n := 0; n <= len(b.Blocks); n++ {
		for len(effects) > 0 && int(effects[0].At) <= n {
			o.effect(t, &effects[0])
			effects = effects[1:]
		}
		for len(events) > 0 && int(events[0].At) <= n {
			t.frames.event(&events[0])
			events = events[1:]
		}
		if n == len(b.Blocks) {
			break
		}
		if int(b.Blocks[n]) >= len(o.blocks) {
			return fmt.Errorf("written: block %d is not defined", b.Blocks[n])
		}
		x := &o.blocks[b.Blocks[n]]
		if !x.known {
			return errCode
		}
		if len(values) < x.values || len(addrs) < x.sites {
			return errBatch
		}
		t.frames.begin(x, t)
		for k := range x.loads {
			o.executed(b.Thread, t, x.loads[k])
		}
		for k := range x.stores {
			o.store(b.Thread, t, &x.stores[k], values, addrs)
		}
		for k := range x.defs {
			if d := &x.defs[k]; d.from.kind == fromValue {
				t.regs[d.reg] = values[d.from.at]
			} else {
				t.regs[d.reg] = d.from.value
			}
		}
		t.frames.end(x, t)
		values, addrs = values[x.values:], addrs[x.sites:]
	}
	return nil
}

func (o *Observer) effect(t *thread, e *event.Effect) {
	switch e.Kind {
	case event.EffectReg:
		t.regs[e.Reg&63] = e.Arg
	case event.EffectWrote, event.EffectMoved:
		o.memory.forget(e.Addr, e.Arg)
	case event.EffectFresh:
		o.memory.zero(e.Addr, e.Arg)
	}
}

// store follows a store, and examines it if it is one of a race.
func (o *Observer) store(id event.ThreadID, t *thread, s *store, values, addrs []uint64) {
	var ordinal uint64
	if s.id >= 0 {
		ordinal = o.executed(id, t, s.id)
	}
	var addr uint64
	if s.site >= 0 {
		addr = addrs[s.site]
	} else {
		addr = values[s.addr]
	}
	if !o.memory.watches(addr) && !o.memory.watches(addr+uint64(s.size)-1) {
		return
	}
	value := s.from.value
	switch s.from.kind {
	case unknown:
		o.memory.forget(addr, uint64(s.size))
		return
	case fromRegister:
		value = t.regs[s.from.reg]
	case fromValue:
		value = values[s.from.at]
	}
	unchanged := o.memory.write(addr, s.size, value)
	if s.id < 0 {
		return
	}
	for _, q := range o.bySite[s.id] {
		o.queries[q].saw(addr, s.size, value, unchanged)
	}
	for _, q := range o.byExec[execution{id, s.id, ordinal}] {
		o.queries[q].saw(addr, s.size, value, unchanged)
	}
}

func (q *query) saw(addr uint64, size uint8, value uint64, unchanged bool) {
	if size < 8 {
		value &= 1<<(8*size) - 1
	}
	if q.Writes == 0 {
		q.One, q.Value, q.Size = true, value, size
	} else if q.Value != value || q.Size != size {
		q.One = false
	}
	q.Writes++
	if unchanged {
		q.Unchanged++
	}
	if q.at == nil {
		return
	}
	if v, before := q.at[addr]; before && v != value || size != q.Size || len(q.at) >= maxAddresses {
		q.at = nil
		return
	}
	q.at[addr] = value
}

// Seen returns what was found about each race, after the run.
func (o *Observer) Seen() []Seen {
	out := make([]Seen, len(o.queries))
	for n := range o.queries {
		q := &o.queries[n]
		out[n] = q.Seen
		out[n].Equal = q.Writes > 0 && q.at != nil
	}
	return out
}
