package confirm

import (
	"context"
	"slices"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// Access is a side of a race: an execution of an instruction by a thread.
type Access struct {
	Thread  event.ThreadID
	PC      uint64
	Ordinal uint64 // earlier executions of the instruction by the thread, from 0, outside hooked calls
	Address uint64 // of the first byte
	Size    uint64 // bytes
	// Call says that the function called at PC makes the access, or that it is a system
	// call or atomic. It is then found only by its place.
	Call bool
}

// Pair is an instance of a race. Which access comes first in the run is determined by
// running it.
type Pair struct{ A, B Access }

// Verdict says what a race does.
type Verdict string

const (
	Harmful      Verdict = "harmful"       // what the program's user sees depends on the order
	StateDiffers Verdict = "state-differs" // only variables differ at the end
	NoDifference Verdict = "no-difference" // no difference was seen
	Infeasible   Verdict = "infeasible"    // the other order is not possible
	Unknown      Verdict = ""              // the accesses could not be reached together again
)

// severity lists verdicts from the mildest to the worst. The verdict on a race is that of
// its worst instance.
var severity = []Verdict{Unknown, Infeasible, NoDifference, StateDiffers, Harmful}

// Worse reports whether v is worse than other.
func (v Verdict) Worse(other Verdict) bool {
	return slices.Index(severity, v) > slices.Index(severity, other)
}

// Finding is the verdict on a pair, and the evidence.
type Finding struct {
	Verdict Verdict
	What    string // a sentence: what differs, or why the other order is impossible
	Tries   int    // number of continuations of each order that were compared
	// As and Swapped are the runs that show the difference, with the original and the other
	// order; set for Harmful and StateDiffers.
	As, Swapped *Outcome
	// Variables are those that differ at the end, for StateDiffers: "hits: 3 or 4".
	Variables []string
	// Stands is where the thread was that could not reach its access, for Infeasible; 0: it
	// had ended.
	Stands uint64
}

// Options of a [Confirmer].
type Options struct {
	// Config describes the run, without Image, streams, hooks, schedule and observer.
	Config mpsim.Config
	Image  *image.Space
	// Hooks returns the hooks of a run in that space.
	Hooks func(*image.Space) (mpsim.Hooks, map[uint64]int)
	// Schedule is the schedule of the run that has the race.
	Schedule *schedule.Schedule
	// Input is the guest's standard input.
	Input []byte
	// Insts is the number of instructions of the run. Runs that take many times as long
	// count as endless.
	Insts uint64
	// Tries is the number of random continuations; 0: 3.
	Tries int
}

// Confirmer examines the races of a run.
type Confirmer struct {
	opts   Options
	course *course // nil: not created yet
}

// New returns a Confirmer, which must be closed.
func New(opts Options) *Confirmer {
	if opts.Tries == 0 {
		opts.Tries = 3
	}
	return &Confirmer{opts: opts}
}

const (
	patience   = 10      // multiple of the run's length after which a run counts as endless
	leastLimit = 2 << 20 // instructions
	bigQuantum = 20_000  // for continuations in which threads are rarely interrupted
	approaches = 3       // number of ways to wait for the second access
)

// limit returns the number of instructions after which a run counts as endless.
func (c *Confirmer) limit() uint64 { return max(patience*c.opts.Insts, leastLimit) }

// Pair confirms an instance of a race. The error is that of ctx, or of the machine.
func (c *Confirmer) Pair(ctx context.Context, p Pair) (*Finding, error) {
	a, err := c.approach(ctx, p)
	if err != nil {
		return nil, err
	}
	var last *Finding
	for n := range approaches {
		b, err := a.brink(ctx, n)
		if err != nil {
			return nil, err
		}
		if b.ready {
			return c.compare(ctx, b)
		}
		last = &b.failed
		if last.Verdict == Unknown {
			break
		}
	}
	return last, nil
}

// meetings is the number of ways in which [Confirmer.Meet] waits for the second access.
const meetings = 8

// Meet brings both threads of a pair to just before their accesses, as [Confirmer.Pair]
// does. It returns the schedule that leads there, followed by the two accesses, starting
// with the one that was second in the run. If the accesses cannot be reached together, the
// schedule is nil, and the finding says why.
func (c *Confirmer) Meet(ctx context.Context, p Pair) (*schedule.Schedule, *Finding, error) {
	a, err := c.approach(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	var first *Finding
	for n := range meetings {
		b, err := a.brink(ctx, n)
		switch {
		case err != nil:
			return nil, nil, err
		case b.ready:
			m := c.course.m
			return &schedule.Schedule{Steps: append(m.Trail().Steps, b.second.step(m), b.first.step(m))}, nil, nil
		case first == nil:
			first = &b.failed
		}
		if b.failed.Verdict == Unknown {
			break
		}
	}
	return nil, first, nil
}

// compare runs both orders from the brink.
func (c *Confirmer) compare(ctx context.Context, b *brink) (*Finding, error) {
	f := &Finding{Verdict: NoDifference}
	runs := continuations(b, c.opts.Tries)
	var as, swapped []*Outcome
	for i := range runs {
		x, err := c.order(ctx, b, false, &runs[i])
		if err != nil {
			return nil, err
		}
		y, err := c.order(ctx, b, true, &runs[i])
		if err != nil {
			return nil, err
		}
		f.Tries++
		as, swapped = append(as, x), append(swapped, y)
		what := x.differs(y)
		if what != "" && runs[i].steady {
			f.Verdict, f.What, f.As, f.Swapped = Harmful, what, x, y
			return f, nil
		}
		if names := x.state(y); what == "" && len(names) > 0 && runs[i].steady && f.Verdict == NoDifference {
			f.Verdict, f.Variables, f.As, f.Swapped = StateDiffers, names, x, y
			f.What = "at the end " + names[0]
		}
	}
	// Random continuations run into other races as well. They count if one order always has
	// the same result.
	for i := range as {
		if what := as[0].differs(swapped[i]); what != "" && allSame(as) {
			f.Verdict, f.What, f.As, f.Swapped = Harmful, what, as[i], swapped[i]
			return f, nil
		}
	}
	return f, nil
}

func allSame(list []*Outcome) bool {
	for _, o := range list[1:] {
		if !o.same(list[0]) {
			return false
		}
	}
	return true
}

// continuation says how a run continues after the two accesses.
type continuation struct {
	policy  mpsim.Policy
	quantum int
	seed    uint64
	first   event.ThreadID // of a steady one: the thread that continues first
	steady  bool           // threads are rarely interrupted
}

func continuations(b *brink, tries int) []continuation {
	list := []continuation{
		{policy: mpsim.RoundRobin, quantum: bigQuantum, first: b.first.Thread, steady: true},
		{policy: mpsim.RoundRobin, quantum: bigQuantum, first: b.second.Thread, steady: true},
	}
	for seed := range uint64(tries) {
		list = append(list, continuation{policy: mpsim.Random, seed: seed + 1})
	}
	return list
}

// order returns to the brink, makes the accesses in one order, and continues.
func (c *Confirmer) order(ctx context.Context, b *brink, swapped bool, then *continuation) (*Outcome, error) {
	if err := b.back(ctx); err != nil {
		return nil, err
	}
	one, two := b.first, b.second
	if swapped {
		one, two = two, one
	}
	w := c.course
	steps := []schedule.Step{one.step(w.m), two.step(w.m)}
	if then.steady {
		steps = append(steps, schedule.Step{Kind: schedule.Run, Thread: then.first, Count: bigQuantum})
	}
	w.m.Follow(&schedule.Schedule{Steps: steps}, then.policy, then.quantum, then.seed)
	for !w.advance(ctx) {
	}
	w.whole += w.m.Insts()
	res, err := w.m.Finish()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return outcomeOf(w, res), nil
}

// step returns the step that makes the access.
func (a *Access) step(m *mpsim.Machine) schedule.Step {
	if a.Call {
		if in, ok := m.Instruction(a.PC); ok {
			return schedule.Step{Kind: schedule.To, Thread: a.Thread, PC: a.PC + uint64(in.Len), Count: 1}
		}
	}
	return schedule.Step{Kind: schedule.Run, Thread: a.Thread, Count: 1}
}
