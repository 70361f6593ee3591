package report

import (
	"fmt"
	"regexp"

	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/analyze/slice"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Image names code and data. *image.Space implements it.
type Image interface {
	Func(pc uint64) (image.Symbol, bool)
	Lookup(name string) (image.Symbol, bool)
	Object(addr uint64) (image.Symbol, uint64, bool)
	ObjectPathSize(addr, size uint64) string
	TLSPath(block, off uint64) string
	TLSObject(block, off uint64) (image.Symbol, uint64, bool)
	Frames(pc uint64) []image.Frame
	User(pc uint64) bool
}

// Modules is an Image of several files. *image.Space implements it.
type Modules interface {
	// Module returns the name of the shared object that contains addr, or "" for the
	// executable, and what was added to the addresses of its file.
	Module(addr uint64) (name string, bias uint64)
}

// Stacks returns call stacks: the pc itself, then return addresses, the innermost first.
// *cdr.Trace implements it.
type Stacks interface {
	AccessStack(th event.ThreadID, s replay.SiteID, ordinal uint64) ([]uint64, error)
	EventStack(th event.ThreadID, index uint64) ([]uint64, error)
}

// Info says what was analysed.
type Info struct {
	Version      string // of this tool
	File         string // name of the trace
	Program      string
	Args         []string // without the program's name
	Threads      int
	Instructions uint64
	Seed         uint64
	Complete     bool // the recording was closed properly
	Runs         int  // number of merged runs; 0 for the report of one run
	// ThreadCounts are the numbers of OpenMP threads that an exploration cycled through,
	// seed by seed from Seed on. It is nil if the exploration left that to the program.
	ThreadCounts []int
}

// Frame is a line of a call stack.
type Frame struct {
	Function string // or "" if unknown
	File     string // last element of its path, or "" if unknown
	Path     string // as the compiler got it, without redundant elements
	Line     int    // from 1, 0 if unknown
	PC       uint64
	User     bool // in the user's code
	Own      bool // in the user's code, and from a file of the user's and not from a library's header
}

// Lock is a lock held at an access.
type Lock struct {
	Name    string // M0, M1, …
	Write   bool
	Address uint64
	Symbol  string // of the variable, or "" if it has none
}

// Access is a side of a race.
type Access struct {
	Thread  event.ThreadID
	Op      replay.Op
	Size    uint64 // bytes
	Address uint64
	PC      uint64
	Stack   []Frame // the innermost first; begins with the access
	Top     Frame   // the innermost frame in the user's own files, else in the user's code, else the first one
	Locks   []Lock
	Task    *Task // the task in which it was made; nil if it was made in none, as far as is known

	// Ordinal is how often the thread had executed Site before, if the access is plain.
	// Otherwise it is an event, and Segment is the number of earlier events of the
	// thread.
	Site             replay.SiteID
	Ordinal, Segment uint64
}

// Location describes the memory of a race.
type Location struct {
	Kind    string         // global, heap, stack, tls or unknown
	Name    string         // of the variable; for a heap block, the function that allocated it; or "" if unknown
	Path    string         // of the part of the variable, in source syntax: balance[4]; or "" if unknown
	Symbol  string         // global: the linker's name of the variable, demangled
	Address uint64         // of the first common byte
	Base    uint64         // where the variable or block begins, or 0 if unknown
	Module  string         // global: the shared object that contains it; "" for the executable
	Bias    uint64         // global: what was added to the addresses of its file
	Offset  uint64         // from Base to Address
	Size    uint64         // bytes of the variable or block, or 0 if unknown
	Thread  event.ThreadID // heap: the allocating thread; stack and tls: the owner
	Local   *Local         // stack: the variable, if it was looked up and is known
	Stack   []Frame        // heap: where it was allocated
	// Freed says that thread FreedBy had freed the heap block, at FreeStack, when the
	// later side accessed it.
	Freed     bool
	FreedBy   event.ThreadID
	FreeStack []Frame
}

// Race is a static pair of accesses that raced.
type Race struct {
	ID          string // R1, R2, …
	Fingerprint string // stays the same when the program is recompiled; see docs/semantics.md
	// Group is the ID of the first race between the same two source lines about the same
	// variable. The text shows a group as one race.
	Group    string
	Dynamic  uint64    // dynamic pairs
	Accesses [2]Access // of the first instance; the later one first
	Location Location
	// Seeds are, in a merged report, the seeds of the runs that have the race, in
	// ascending order. Trace is the file of the run that is shown.
	Seeds []uint64
	Trace string
	// ThreadCounts are those of Info's that these runs had, in ascending order.
	ThreadCounts []int
	// Orders are the orders that report the race, if other orders than happens-before
	// were used.
	Orders []string

	// SuppressedBy is, for a suppressed race, the rule that covers it, as type:pattern.
	SuppressedBy string

	// Artifact says of which races this race is a consequence. It is nil if it is not a
	// consequence, as far as is known. Unexplained says why that is not known, or is "".
	Artifact    *Artifact
	Unexplained string
	// Behind are the fingerprints of races whose values decided, by branches, that the
	// race's accesses were executed. Controlled are those of the races that event-control
	// it in the paper's sense, if that was asked for.
	Behind, Controlled []string
	// SameValue says that the written values make no difference. It is nil if they do, or
	// if that was not asked for or is not known.
	SameValue *SameValue
	// Verdict says what the order of the accesses changes in the run. It is nil if that
	// was not asked for.
	Verdict *Verdict
	// Prediction is the result of the run of the race's witness. It is nil if the
	// recorded run has the race.
	Prediction *Prediction

	from  *Report // the report of its run; nil if that is the report that contains it
	index int     // index in the result of the analysis

	impact *slice.Impact // what its value reached; nil if not known or not asked for
}

// Mutex is a lock that a side of a race held.
type Mutex struct {
	Name    string
	Address uint64
	Symbol  string
	Created bool // Stack is that of the initialisation, not that of the first lock
	Thread  event.ThreadID
	Stack   []Frame
}

// Thread is a thread of the run.
type Thread struct {
	ID        event.ThreadID
	Finished  bool
	HasParent bool
	Parent    event.ThreadID
	Stack     []Frame // where it was created
}

// Report is the result of an analysis with names.
type Report struct {
	Info       Info
	Races      []Race // those that no suppression covers, by first instance
	Suppressed []Race
	Unshown    []Race                    // predicted races that the runs of their witnesses did not show
	Known      []Race                    // those that the baseline has
	Baseline   string                    // name of the file of known races, or "" if there is none
	Gone       int                       // number of races that the baseline has and this run does not
	Old        []Old                     // races of an earlier report, with what became of them
	OldFrom    string                    // name of that report's file, or "" if there is none
	Mutexes    []Mutex                   // M0 is the first
	Threads    map[event.ThreadID]Thread // those that took part in a race, and their ancestors
	// Dynamic is the number of dynamic pairs of Races.
	Dynamic uint64
	// Goroutines says that the tasks are goroutines of a Go program.
	Goroutines bool
	// Merged is the number of tasks that count as ordered with another, unordered task,
	// because too many tasks were unordered at a time (hb.MaxTasks).
	Merged uint64
	// Hidden is the number of artifacts that were removed from Races.
	Hidden int

	// Deadlocks are the deadlocks in other schedules that witness runs showed. The runs
	// of the other witnesses did something else.
	Deadlocks, UnshownDeadlocks []Deadlock

	predicted bool // races in other schedules were looked for

	result *race.Result // the result from which the report was built; nil if it was merged or read
}

// Build builds a report of res with names. sup may be nil.
func Build(res *race.Result, img Image, stacks Stacks, info Info, sup *Suppressions) (*Report, error) {
	b := &builder{res: res, namer: newNamer(img, stacks), rep: &Report{result: res, Info: info, Merged: res.Stats.Merged, Threads: map[event.ThreadID]Thread{}}}
	if err := b.mutexes(); err != nil {
		return nil, err
	}
	all := make([]Race, len(res.Races))
	for i := range res.Races {
		if err := b.race(&all[i], &res.Races[i]); err != nil {
			return nil, err
		}
		all[i].index = i
	}
	fingerprint(&b.namer, all)
	for i := range all {
		if rule := sup.covers(b.rep, &all[i]); rule != nil {
			all[i].SuppressedBy = rule.Type + ":" + rule.Pattern
			b.rep.Suppressed = append(b.rep.Suppressed, all[i])
		} else {
			b.rep.Races = append(b.rep.Races, all[i])
		}
	}
	b.rep.number()
	return b.rep, nil
}

// Count returns the number of races and deadlocks in the report, or 0 if r is nil.
func (r *Report) Count() int {
	if r == nil {
		return 0
	}
	return len(r.Races) + len(r.Deadlocks)
}

// number numbers, groups and counts the reported races.
func (r *Report) number() {
	r.Dynamic = 0
	for i := range r.Races {
		x := &r.Races[i]
		x.ID = fmt.Sprintf("R%d", i+1)
		r.Dynamic += x.Dynamic
		if r.Dynamic < x.Dynamic {
			r.Dynamic = ^uint64(0)
		}
	}
	group(r.Races)
}

// builder finds the names of the parts of a report.
type builder struct {
	namer
	res *race.Result
	rep *Report
}

func (b *builder) mutexes() error {
	for i, m := range b.res.Mutexes {
		ref := m.FirstLock
		if m.HasInit {
			ref = m.Init
		}
		stack, err := b.eventStack(ref.Thread, ref.Index)
		if err != nil {
			return err
		}
		b.rep.Mutexes = append(b.rep.Mutexes, Mutex{Name: fmt.Sprintf("M%d", i), Address: m.Address,
			Symbol: b.img.ObjectPathSize(m.Address, 0), Created: m.HasInit, Thread: ref.Thread, Stack: stack})
	}
	return nil
}

func (b *builder) race(out *Race, r *race.Race) error {
	out.Dynamic, out.Orders = r.Dynamic, r.Orders
	for i, s := range []*race.Side{&r.First.Later, &r.First.Earlier} {
		if err := b.access(&out.Accesses[i], s); err != nil {
			return err
		}
		if err := b.thread(s.Thread); err != nil {
			return err
		}
	}
	return b.location(&out.Location, r)
}

func (b *builder) access(out *Access, s *race.Side) (err error) {
	*out = Access{Thread: s.Thread, Op: s.Op, Size: s.Size, Address: s.Address, PC: s.PC, Site: s.Site, Ordinal: s.Ordinal, Segment: s.Segment}
	if s.Op.Plain() {
		out.Stack, err = b.accessStack(s.Thread, s.Site, s.Ordinal)
	} else {
		out.Stack, err = b.eventStack(s.Thread, s.Segment)
	}
	if err != nil {
		return err
	}
	out.Top = top(out.Stack)
	for _, l := range s.Locks {
		m := &b.rep.Mutexes[l.Mutex]
		out.Locks = append(out.Locks, Lock{Name: m.Name, Write: l.Write, Address: m.Address, Symbol: m.Symbol})
	}
	return nil
}

// thread adds a thread and its ancestors.
func (b *builder) thread(t event.ThreadID) error {
	for {
		if _, known := b.rep.Threads[t]; known || int(t) >= len(b.res.Threads) {
			return nil
		}
		info := b.res.Threads[t]
		th := Thread{ID: t, Finished: info.Ended, HasParent: info.HasParent, Parent: info.Parent}
		if info.HasParent {
			var err error
			if th.Stack, err = b.eventStack(info.Parent, info.CreatedAt); err != nil {
				return err
			}
		}
		b.rep.Threads[t] = th
		if !info.HasParent {
			return nil
		}
		t = info.Parent
	}
}

func (b *builder) location(out *Location, r *race.Race) (err error) {
	loc := &r.Location
	size := max(min(r.First.Later.Size, r.First.Earlier.Size), 1)
	*out = Location{Kind: "unknown", Address: loc.Address, Thread: loc.Thread}
	switch loc.Kind {
	case place.Heap:
		return b.block(out, r)
	case place.TLS:
		out.Kind, out.Path, out.Offset = "tls", b.img.TLSPath(loc.Image, loc.Offset), loc.Offset
		if s, off, ok := b.img.TLSObject(loc.Image, loc.Offset); ok {
			out.Name, out.Base, out.Offset, out.Size = ownName(s.Demangled()), loc.Address-off, off, s.Size
		}
	case place.Stack:
		out.Kind = "stack"
	default:
		if s, off, ok := b.img.Object(loc.Address); ok {
			out.Kind, out.Symbol, out.Base, out.Offset, out.Size = "global", s.Demangled(), s.Addr, off, s.Size
			out.Name, out.Path = ownName(out.Symbol), b.img.ObjectPathSize(loc.Address, size)
			if modules, ok := b.img.(Modules); ok {
				out.Module, out.Bias = modules.Module(loc.Address)
			}
		}
	}
	return nil
}

// block describes a heap block, by where it was allocated, and how it ended.
func (b *builder) block(out *Location, r *race.Race) (err error) {
	blk := &r.Location.Block
	out.Kind, out.Base, out.Size, out.Offset, out.Thread = "heap", blk.Addr, blk.Size, r.Location.Offset, blk.Thread
	if out.Stack, err = b.eventStack(blk.Thread, blk.Event); err != nil {
		return err
	}
	out.Name = top(out.Stack).Function
	if err := b.thread(blk.Thread); err != nil {
		return err
	}
	by, at := blk.FreedBy, blk.FreedAt
	if s := &r.First.Earlier; s.Op == replay.Free {
		by, at = s.Thread, s.Segment
	} else if !blk.Freed {
		return nil
	}
	out.Freed, out.FreedBy = true, by
	if out.FreeStack, err = b.eventStack(by, at); err != nil {
		return err
	}
	return b.thread(by)
}

// numbered matches what compilers append to the names of functions' static variables.
var numbered = regexp.MustCompile(`\.[0-9]+$`)

// ownName returns the name of a variable in its source.
func ownName(symbol string) string { return numbered.ReplaceAllString(symbol, "") }
