package contention

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hindsight/analyze/place"
	"hindsight/analyze/replay"
	"hindsight/analyze/timeline"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Image names code and data. *image.Space implements it.
type Image interface {
	Object(addr uint64) (image.Symbol, uint64, bool)
	ObjectPathSize(addr, size uint64) string
	TLSPath(block, off uint64) string
	Frames(pc uint64) []image.Frame
}

// Trace is a recorded run. *cdr.Trace implements it.
type Trace interface {
	timeline.Source
	EventStack(th event.ThreadID, index uint64) ([]uint64, error)
}

// Info describes the run.
type Info struct {
	Version  string // of this tool
	File     string // name of the trace
	Program  string
	Args     []string // without the program
	Threads  int
	Seed     uint64
	Quantum  uint64 // instructions; 0: of random length
	Policy   string
	Complete bool
}

// Options of [Build].
type Options struct {
	Top     int    // number of objects in the report; 0 means 10, negative means all
	TLSSize uint64 // bytes of a thread's thread-local variables
}

// DefaultTop is the number of objects in a report by default.
const DefaultTop = 10

// Nobody is the By of a [Pair] in which no thread is known.
const Nobody = -1

// Report lists what threads waited for, the longest waits first.
type Report struct {
	Info    Info
	Time    uint64 // length of the run: recorded instructions of all threads
	Objects []Object
	More    int // further objects that some thread waited for
	Free    int // locks, semaphores and barriers that no thread waited for
}

// Object is something that threads wait for.
type Object struct {
	ID      string // L1, L2, …
	Kind    string // lock, rwlock, barrier, condition or semaphore
	Name    string // of the variable, with the member; "" if unknown
	Where   string // what memory it is in
	Address uint64
	Taken   uint64 // how often it was obtained, passed or waited on
	Waited  uint64 // how often of these after a wait
	Time    uint64 // total time of waits by all threads
	Longest uint64 // time of the longest wait
	Pairs   []Pair // the longest first
	Sites   []Site // the longest first
}

// Pair says which thread waited for which. A wait for a lock that several threads held in
// turn counts for each of them.
type Pair struct {
	Thread event.ThreadID // the thread that waited
	By     int            // the thread that held it, came last, signalled or posted; or Nobody
	Times  uint64
	Time   uint64
}

// Site is a line of the source where a thread waited.
type Site struct {
	Function string // or "" if unknown
	File     string // last element of its path, or "" if unknown
	Line     int    // from 1; 0 if unknown
	PC       uint64
	Times    uint64
	Time     uint64
}

// Build walks over a run and returns its report.
func Build(ctx context.Context, t Trace, img Image, info Info, opts Options) (*Report, error) {
	b := &builder{trace: t, img: img, memory: place.NewMap(opts.TLSSize), now: map[key]*object{}}
	r := &Report{Info: info}
	for _, th := range t.Threads() {
		r.Time += t.Insts(th.ID)
	}
	if err := timeline.Walk(ctx, t, &timeline.Visitor{Waits: b.waits, Event: b.event}); err != nil {
		return nil, err
	}
	waited := b.all[:0]
	for _, o := range b.all {
		if o.Waited == 0 {
			r.Free++
			continue
		}
		waited = append(waited, o)
	}
	slices.SortStableFunc(waited, func(x, y *object) int { return cmp.Compare(y.Time, x.Time) })
	top := cmp.Or(opts.Top, DefaultTop)
	if top > 0 && len(waited) > top {
		waited, r.More = waited[:top], len(waited)-top
	}
	for i, o := range waited {
		o.ID = fmt.Sprintf("L%d", i+1)
		r.Objects = append(r.Objects, b.finish(o))
	}
	return r, nil
}

// builder counts the waits of a run.
type builder struct {
	trace  Trace
	img    Image
	memory *place.Map
	now    map[key]*object
	all    []*object // in the order in which they were first used
}

type key struct {
	kind string
	addr uint64
}

type object struct {
	Object
	pairs map[[2]int]*Pair
	sites map[uint64]*Site
	first place.Location
}

// kindOf returns the kind of object that an event waits for, or "" if it is not counted
// here.
func kindOf(k event.Kind) string {
	switch k {
	case event.MutexLock:
		return "lock"
	case event.ReadLock, event.WriteLock:
		return "rwlock"
	case event.BarrierLeave:
		return "barrier"
	case event.SemWait:
		return "semaphore"
	}
	return ""
}

// at returns the object of an event. It is a new one if its memory has begun a new life.
func (b *builder) at(kind string, addr uint64) *object {
	k := key{kind, addr}
	o := b.now[k]
	if o == nil {
		o = &object{Object: Object{Kind: kind, Address: addr}, pairs: map[[2]int]*Pair{}, sites: map[uint64]*Site{}, first: b.memory.Locate(addr)}
		b.now[k] = o
		b.all = append(b.all, o)
	}
	return o
}

func (b *builder) waits(ev *replay.Event, waits []timeline.Wait) error {
	kind := kindOf(ev.Kind)
	if kind == "" {
		return nil
	}
	var last *object
	for i := range waits {
		w := &waits[i]
		length, kind := w.To-w.From, kind
		if w.Kind == timeline.Cond {
			kind = "condition"
		}
		o := b.at(kind, w.Object)
		o.Time += length
		by := Nobody
		if w.By != timeline.NoThread {
			by = int(w.By)
		}
		p := o.pairs[[2]int{int(ev.Thread), by}]
		if p == nil {
			p = &Pair{Thread: ev.Thread, By: by}
			o.pairs[[2]int{int(ev.Thread), by}] = p
		}
		p.Times++
		p.Time += length
		s := o.sites[w.PC]
		if s == nil {
			s = &Site{PC: w.PC}
			o.sites[w.PC] = s
		}
		s.Time += length
		if o != last { // one wait, however many threads held the lock in the meantime
			o.Waited++
			s.Times++
			last = o
		}
		o.Longest = max(o.Longest, total(waits, w))
	}
	return nil
}

// total returns how long a thread waited before an event for the object of w.
func total(waits []timeline.Wait, w *timeline.Wait) (n uint64) {
	for i := range waits {
		if waits[i].Kind == w.Kind && waits[i].Object == w.Object {
			n += waits[i].To - waits[i].From
		}
	}
	return n
}

func (b *builder) event(ev *replay.Event, _ uint64) error {
	if kind := kindOf(ev.Kind); kind != "" {
		b.at(kind, ev.Obj).Taken++
	}
	switch ev.Kind {
	case event.CondWait:
		b.at("condition", ev.Obj).Taken++
	case event.Destroy:
		for _, kind := range []string{"lock", "rwlock", "barrier", "condition", "semaphore"} {
			delete(b.now, key{kind, ev.Obj})
		}
	}
	b.memory.Apply(ev.Thread, ev.Index, &ev.Event)
	return nil
}

// finish names an object and sorts its pairs and sites.
func (b *builder) finish(o *object) Object {
	o.Name, o.Where = b.name(o)
	for _, p := range o.pairs {
		o.Pairs = append(o.Pairs, *p)
	}
	slices.SortFunc(o.Pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.Time, x.Time), cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.By, y.By))
	})
	for _, s := range o.sites {
		if f := b.frame(s.PC); f != nil {
			s.Function, s.File, s.Line = f.Function, f.Base(), f.Line
		}
		o.Sites = append(o.Sites, *s)
	}
	slices.SortFunc(o.Sites, func(x, y Site) int { return cmp.Or(cmp.Compare(y.Time, x.Time), cmp.Compare(x.PC, y.PC)) })
	return o.Object
}

func (b *builder) frame(pc uint64) *image.Frame {
	if frames := b.img.Frames(pc); len(frames) > 0 {
		return &frames[0]
	}
	return nil
}

// firstPage is the end of the addresses at which no program has memory. Locks there
// belong to constructs with one lock for the whole program.
const firstPage = 4096

// name returns the name of a lock, and what memory it is in.
func (b *builder) name(o *object) (name, where string) {
	switch loc := o.first; loc.Kind {
	case place.Heap:
		where = fmt.Sprintf("heap block of %d bytes", loc.Block.Size)
		if loc.Offset > 0 {
			where = fmt.Sprintf("offset %d of a %s", loc.Offset, where)
		}
		if pcs, err := b.trace.EventStack(loc.Block.Thread, loc.Block.Event); err == nil {
			where += b.allocated(pcs)
		}
		return "", where
	case place.TLS:
		return b.img.TLSPath(loc.Image, loc.Offset), fmt.Sprintf("thread-local memory of T%d", loc.Thread)
	case place.Stack:
		return "", fmt.Sprintf("stack of T%d", loc.Thread)
	}
	if o.Address < firstPage {
		return "", "the OpenMP runtime: a critical or atomic region without a name"
	}
	name = b.img.ObjectPathSize(o.Address, 0)
	if name == "" {
		if s, _, ok := b.img.Object(o.Address); ok {
			name = s.Demangled()
		}
	}
	return name, "global memory"
}

// allocated says where a heap block was allocated: at the innermost frame that has a
// line.
func (b *builder) allocated(pcs []uint64) string {
	for _, pc := range pcs {
		if f := b.frame(pc); f != nil && f.Line > 0 {
			return fmt.Sprintf(" allocated at %s %s:%d", f.Function, f.Base(), f.Line)
		}
	}
	return ""
}
