package sharing

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"hindsight/analyze/place"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// Trace is what Build needs of a trace. *cdr.Trace implements it.
type Trace interface {
	Threads() []cdr.Thread
	Events() iter.Seq2[format.Event, error]
	EventStack(th event.ThreadID, index uint64) ([]uint64, error)
}

// Image names code and data. *image.Space implements it.
type Image interface {
	Object(addr uint64) (image.Symbol, uint64, bool)
	ObjectPathSize(addr, size uint64) string
	TLSPath(block, off uint64) string
	Frames(pc uint64) []image.Frame
	User(pc uint64) bool
}

// Info describes the run.
type Info struct {
	Version      string // of this tool
	File         string // name of the trace
	Program      string
	Args         []string // without the program's name
	Threads      int
	Instructions uint64
	Seed         uint64
	Quantum      uint64 // instructions
	Complete     bool
}

// Options of [Build].
type Options struct {
	Top     int    // number of variables in the report; 0 means 10, negative means all
	TLSSize uint64 // bytes of a thread's thread-local variables
	// Threshold is the percentage of the cost of all sharing below which a variable is
	// not in the report. 0 means that all are.
	Threshold float64
}

// DefaultTop is the number of variables in a report, and DefaultThreshold the least
// percentage of the cost that each of them has.
const (
	DefaultTop       = 10
	DefaultThreshold = 1
)

// Verdict is the nature of the sharing.
type Verdict string

const (
	False    Verdict = "false"    // at least nine of ten coherence misses were false sharing
	True     Verdict = "true"     // at least nine of ten were true sharing
	Mixed    Verdict = "mixed"    // in between
	Handover Verdict = "handover" // there were none: lines moved from thread to thread and did not return
)

// Protocol says which coherence protocol suits.
type Protocol string

const (
	Invalidate Protocol = "invalidate"
	Update     Protocol = "update"
	Either     Protocol = "either"
)

// Frame is a place in the source.
type Frame struct {
	Function string // or "" if unknown
	File     string // last element of its path, or "" if unknown
	Line     int    // from 1, or 0 if unknown
	PC       uint64
	User     bool
}

// Location describes the memory.
type Location struct {
	Kind    string // global, heap, stack, tls or unknown
	Name    string // of the variable; for a heap block, the function that allocated it; or "" if unknown
	Address uint64 // where the variable, the block or the line begins
	Size    uint64 // bytes, or 0 if unknown
	Blocks  int    // heap: number of shared blocks of this size that were allocated at this place
	Thread  event.ThreadID
	Stack   []Frame // heap: where it was allocated
	Freed   bool    // heap
}

// Use is what a thread did to a field.
type Use struct {
	Thread      event.ThreadID
	Read, Write bool
}

// Field is a range of a line that the same threads used in the same way.
type Field struct {
	Name    string // or "" if unknown
	Address uint64
	Offset  uint64 // in the line
	Size    uint64 // bytes
	Uses    []Use
}

// Line is a line that contains a part of a variable, with everything in it.
type Line struct {
	archinfo.Line // cost of the whole line
	Verdict       Verdict
	Fields        []Field
}

// Site is a source line that caused bus transactions.
type Site struct {
	Frame
	Threads          []event.ThreadID
	Read, Write      bool
	Misses, Upgrades uint64
	True, False      uint64 // of Misses
}

// Variable is a variable, or blocks of one kind, with its lines.
type Variable struct {
	ID       string // V1, V2, …
	Location Location
	Verdict  Verdict
	Counts   archinfo.WordCounts // of its words, summed up
	Protocol Protocol
	Lines    []Line // the most expensive first; at most maxLines
	More     int    // further lines
	Sites    []Site // the most expensive first; at most maxSites
	Advice   []string
}

const (
	maxLines = 32
	maxSites = 8
)

// Report is what was found, with names.
type Report struct {
	Info      Info
	Summary   *archinfo.Summary
	Total     archinfo.HartCounts
	Variables []Variable // the most expensive first
	More      int        // further variables
	Below     int        // number of those whose cost is below the threshold
	Threshold float64    // in percent of the total cost
}

// Build adds names to a summary.
func Build(ctx context.Context, s *archinfo.Summary, t Trace, img Image, info Info, opts Options) (*Report, error) {
	b := &builder{s: s, img: img, trace: t, groups: map[groupKey]*group{}}
	if err := b.locate(ctx, opts.TLSSize); err != nil {
		return nil, err
	}
	groups := make([]*group, 0, len(b.groups))
	for _, g := range b.groups {
		if len(g.parts) > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(x, y *group) int {
		return cmp.Or(cmp.Compare(y.cost(), x.cost()), cmp.Compare(x.object.Address, y.object.Address))
	})
	top := opts.Top
	if top == 0 {
		top = DefaultTop
	}
	r := &Report{Info: info, Summary: s, Threshold: opts.Threshold}
	all := uint64(0)
	for _, g := range groups {
		all += g.cost()
	}
	for n := len(groups); n > 0 && float64(groups[n-1].cost()) < opts.Threshold/100*float64(all); n-- {
		groups = groups[:n-1]
		r.Below++
	}
	if top > 0 && len(groups) > top {
		groups, r.More = groups[:top], len(groups)-top
	}
	for i := range s.Harts {
		total(&r.Total, &s.Harts[i])
	}
	for i, g := range groups {
		v, err := b.variable(g)
		if err != nil {
			return nil, err
		}
		v.ID = fmt.Sprintf("V%d", i+1)
		r.Variables = append(r.Variables, v)
	}
	return r, nil
}

func total(sum, h *archinfo.HartCounts) {
	from := h.Fields()
	for i, f := range sum.Fields() {
		*f += *from[i]
	}
}

// variable describes a group.
func (b *builder) variable(g *group) (Variable, error) {
	v := Variable{Counts: g.words, Verdict: verdict(g.words.TrueSharing, g.words.FalseSharing)}
	v.Protocol = suits(&v.Counts)
	var err error
	if v.Location, err = b.location(g); err != nil {
		return v, err
	}
	shown := g.parts[:min(len(g.parts), maxLines)]
	v.More = len(g.parts) - len(shown)
	for i := range shown {
		l := shown[i].line
		v.Lines = append(v.Lines, Line{Line: *l.Line, Verdict: verdict(l.TrueSharing, l.FalseSharing), Fields: b.fields(l)})
	}
	v.Sites = b.sites(g)
	v.Advice = advice(&v, b.s.Config.Line)
	return v, nil
}

func verdict(yes, no uint64) Verdict {
	all := yes + no
	switch {
	case all == 0:
		return Handover
	case no >= all-all/10:
		return False
	case yes >= all-all/10:
		return True
	}
	return Mixed
}

// suits compares the bus transactions under the two protocols.
func suits(w *archinfo.WordCounts) Protocol {
	switch {
	case w.UpdateBus < w.InvalidateBus:
		return Update
	case w.UpdateBus > w.InvalidateBus:
		return Invalidate
	}
	return Either
}

// sites sums up the sites of a group by source line.
func (b *builder) sites(g *group) []Site {
	type key struct {
		function, file string
		line           int
		pc             uint64 // if the line is unknown
		write          bool
	}
	at := map[key]int{}
	var all []Site
	for _, p := range g.parts {
		for i := range p.Sites {
			s := &p.Sites[i]
			if s.Cost() == 0 || p.spanOf(s.Word, b.s.Config.Granule).key != p.key {
				continue
			}
			f := b.frame(s.PC)
			k := key{f.Function, f.File, f.Line, 0, s.Write}
			if f.Line == 0 {
				k.pc = s.PC
			}
			n, known := at[k]
			if !known {
				n = len(all)
				at[k] = n
				all = append(all, Site{Frame: f})
			}
			o := &all[n]
			o.Read, o.Write = o.Read || s.Read, o.Write || s.Write
			o.Misses, o.Upgrades = o.Misses+s.Misses, o.Upgrades+s.Upgrades
			o.True, o.False = o.True+s.True, o.False+s.False
			if n, found := slices.BinarySearch(o.Threads, s.Thread); !found {
				o.Threads = slices.Insert(o.Threads, n, s.Thread)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y Site) int { return cmp.Compare(y.Misses+y.Upgrades, x.Misses+x.Upgrades) })
	return all[:min(len(all), maxSites)]
}

func (b *builder) frame(pc uint64) Frame {
	out := Frame{PC: pc, User: b.img.User(pc)}
	if fs := b.img.Frames(pc); len(fs) > 0 {
		out.Function, out.File, out.Line = fs[0].Function, fs[0].Base(), fs[0].Line
	}
	return out
}

// location describes the memory of a group.
func (b *builder) location(g *group) (Location, error) {
	o := &g.object
	loc := Location{Kind: "unknown", Address: g.parts[0].Address}
	switch o.Kind {
	case place.Heap:
		blk := &o.Block
		loc.Kind, loc.Address, loc.Size, loc.Thread, loc.Freed = "heap", blk.Addr, blk.Size, blk.Thread, blk.Freed
		loc.Blocks = len(g.blocks)
		pcs, err := b.trace.EventStack(blk.Thread, blk.Event)
		if err != nil {
			return loc, fmt.Errorf("where a heap block was allocated: %w", err)
		}
		for i, pc := range pcs {
			if i > 0 && pc > 0 {
				pc-- // a return address: the call is before it
			}
			f := b.frame(pc)
			if f.User && loc.Name == "" {
				loc.Name = f.Function
			}
			loc.Stack = append(loc.Stack, f)
		}
	case place.TLS:
		loc.Kind, loc.Name, loc.Thread, loc.Address = "tls", root(inside.ReplaceAllString(b.img.TLSPath(o.Image, o.Offset), "")), o.Thread, o.Address
	case place.Stack:
		loc.Kind, loc.Thread = "stack", o.Thread
	default:
		if s, _, ok := b.img.Object(o.Address); ok {
			loc.Kind, loc.Name, loc.Address, loc.Size = "global", s.Demangled(), s.Addr, s.Size
		}
	}
	return loc, nil
}
