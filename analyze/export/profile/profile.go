package profile

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"hindsight/analyze/replay"
	"hindsight/analyze/timeline"
	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// Image names code. *image.Space implements it.
type Image interface {
	Frames(pc uint64) []image.Frame
	Func(pc uint64) (image.Symbol, bool)
}

// Trace is a recorded run. *cdr.Trace implements it.
type Trace interface {
	timeline.Source
	Sample(th event.ThreadID, unit cdr.Unit, period uint64, visit func(pcs []uint64, n uint64) error) error
	EventStack(th event.ThreadID, index uint64) ([]uint64, error)
}

// Race is a race to count.
type Race struct {
	Thread  event.ThreadID
	Stack   []uint64 // of the later access, in the form of [cdr.Trace.AccessStack]
	Dynamic uint64
}

// Options of [Build].
type Options struct {
	// Samples is the largest number of samples taken, of instructions and of accesses
	// each, for all threads together. 0 means 50,000.
	Samples uint64
	Races   []Race
	Arch    *archinfo.Summary // of modelled caches; nil if none were modelled
	Comment string
}

// The columns of a sample.
const (
	instructions = iota
	accesses
	coherence
	lockWait
	races
	columns
)

// types are the names and units of columns.
var types = [columns][2]string{
	{"instructions", "count"},
	{"accesses", "count"},
	{"coherence_misses", "count"},
	{"lock_wait", "instructions"},
	{"races", "count"},
}

// Profile says where things happened, by thread and call stack.
type Profile struct {
	img     Image
	samples map[string]*sample
	period  uint64
	comment string
}

type sample struct {
	thread event.ThreadID
	pcs    []uint64 // the innermost first
	values [columns]uint64
}

const (
	defaultSamples = 50_000
	// exactWaits is the number of waits that get their own stacks. Later waits get the
	// stack of an earlier wait at the same call in the same thread.
	exactWaits = 20_000
)

// Build returns the profile of a run.
func Build(ctx context.Context, t Trace, img Image, opts Options) (*Profile, error) {
	p := &Profile{img: img, samples: map[string]*sample{}, comment: opts.Comment}
	limit := cmp.Or(opts.Samples, defaultSamples)
	var insts, plain uint64
	for _, th := range t.Threads() {
		insts, plain = insts+t.Insts(th.ID), plain+th.Accesses
	}
	p.period = max(1, (insts+limit-1)/limit)
	for _, th := range t.Threads() {
		for _, x := range []struct {
			unit   cdr.Unit
			column int
			period uint64
		}{{cdr.Instructions, instructions, p.period}, {cdr.Accesses, accesses, max(1, (plain+limit-1)/limit)}} {
			err := t.Sample(th.ID, x.unit, x.period, func(pcs []uint64, n uint64) error {
				p.add(th.ID, pcs, x.column, n)
				return ctx.Err()
			})
			if err != nil {
				return nil, err
			}
		}
	}
	if err := p.waits(ctx, t); err != nil {
		return nil, err
	}
	for _, r := range opts.Races {
		p.add(r.Thread, r.Stack, races, r.Dynamic)
	}
	if opts.Arch != nil {
		for i := range opts.Arch.Lines {
			for _, s := range opts.Arch.Lines[i].Sites {
				p.add(s.Thread, []uint64{s.PC}, coherence, s.True+s.False)
			}
		}
	}
	return p, nil
}

// waits adds the waits for locks, barriers, conditions and semaphores.
func (p *Profile) waits(ctx context.Context, t Trace) error {
	type call struct {
		thread event.ThreadID
		pc     uint64
	}
	known, n := map[call][]uint64{}, 0
	return timeline.Walk(ctx, t, &timeline.Visitor{Waits: func(ev *replay.Event, waits []timeline.Wait) error {
		switch waits[0].Kind {
		case timeline.Join, timeline.Order, timeline.Once:
			return nil
		}
		c := call{ev.Thread, ev.PC}
		pcs := known[c]
		if n++; pcs == nil || n <= exactWaits {
			var err error
			if pcs, err = t.EventStack(ev.Thread, ev.Index); err != nil {
				return err
			}
			known[c] = pcs
		}
		for i := range waits {
			p.add(ev.Thread, pcs, lockWait, waits[i].To-waits[i].From)
		}
		return nil
	}})
}

func (p *Profile) add(t event.ThreadID, pcs []uint64, column int, n uint64) {
	if n == 0 {
		return
	}
	key := binary.LittleEndian.AppendUint32(nil, uint32(t))
	for _, pc := range pcs {
		key = binary.LittleEndian.AppendUint64(key, pc)
	}
	s := p.samples[string(key)]
	if s == nil {
		s = &sample{thread: t, pcs: slices.Clone(pcs)}
		p.samples[string(key)] = s
	}
	if s.values[column] += n; s.values[column] < n || s.values[column] > math.MaxInt64 {
		s.values[column] = math.MaxInt64
	}
}

// ordered returns the samples in a fixed order.
func (p *Profile) ordered() []*sample {
	var out []*sample
	for _, key := range slices.Sorted(maps.Keys(p.samples)) {
		out = append(out, p.samples[key])
	}
	return out
}

// site returns the address at which to look up a frame of a stack. All frames but the
// first are return addresses, which may lie after the calling function.
func site(pcs []uint64, i int) uint64 {
	if i > 0 && pcs[i] > 0 {
		return pcs[i] - 1
	}
	return pcs[i]
}

// WritePprof writes the profile in the compressed form of pprof.
func (p *Profile) WritePprof(w io.Writer) error {
	out := &profile.Profile{Period: int64(p.period), PeriodType: &profile.ValueType{Type: "instructions", Unit: "count"}, DefaultSampleType: types[instructions][0]}
	for _, t := range types {
		out.SampleType = append(out.SampleType, &profile.ValueType{Type: t[0], Unit: t[1]})
	}
	if p.comment != "" {
		out.Comments = append(out.Comments, p.comment)
	}
	places := &places{img: p.img, out: out, locations: map[uint64]*profile.Location{}, functions: map[[2]string]*profile.Function{}}
	for _, s := range p.ordered() {
		x := &profile.Sample{Label: map[string][]string{"thread": {fmt.Sprintf("T%d", s.thread)}}}
		for _, v := range s.values {
			x.Value = append(x.Value, int64(v))
		}
		for i := range s.pcs {
			x.Location = append(x.Location, places.at(site(s.pcs, i)))
		}
		out.Sample = append(out.Sample, x)
	}
	if err := out.CheckValid(); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return out.Write(w)
}

// places has the locations and functions of a profile.
type places struct {
	img       Image
	out       *profile.Profile
	locations map[uint64]*profile.Location
	functions map[[2]string]*profile.Function
}

func (x *places) at(pc uint64) *profile.Location {
	if l := x.locations[pc]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(x.out.Location) + 1), Address: pc}
	for _, f := range frames(x.img, pc) {
		l.Line = append(l.Line, profile.Line{Function: x.function(f.Function, f.File), Line: int64(f.Line)})
	}
	x.locations[pc] = l
	x.out.Location = append(x.out.Location, l)
	return l
}

func (x *places) function(name, file string) *profile.Function {
	key := [2]string{name, file}
	f := x.functions[key]
	if f == nil {
		f = &profile.Function{ID: uint64(len(x.out.Function) + 1), Name: name, SystemName: name, Filename: file}
		x.functions[key] = f
		x.out.Function = append(x.out.Function, f)
	}
	return f
}

// frames returns the functions at an address, the innermost inlined one first. If nothing
// is known, it uses the symbol or the address.
func frames(img Image, pc uint64) []image.Frame {
	if list := img.Frames(pc); len(list) > 0 && list[0].Function != "" {
		return list
	}
	if s, ok := img.Func(pc); ok {
		return []image.Frame{{Function: s.Demangled()}}
	}
	return []image.Frame{{Function: fmt.Sprintf("0x%x", pc)}}
}

// WriteFolded writes the instructions as folded stacks, one line for each: thread and
// functions from the outermost on, separated by semicolons, and a count.
func (p *Profile) WriteFolded(w io.Writer) error {
	counts := map[string]uint64{}
	for _, s := range p.samples {
		if s.values[instructions] == 0 {
			continue
		}
		line := []string{fmt.Sprintf("T%d", s.thread)}
		for i := len(s.pcs) - 1; i >= 0; i-- {
			list := frames(p.img, site(s.pcs, i))
			for k := len(list) - 1; k >= 0; k-- {
				line = append(line, strings.ReplaceAll(list[k].Function, ";", ":"))
			}
		}
		counts[strings.Join(line, ";")] += s.values[instructions]
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		if _, err := fmt.Fprintf(w, "%s %d\n", line, counts[line]); err != nil {
			return err
		}
	}
	return nil
}
