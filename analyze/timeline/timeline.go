package timeline

import (
	"context"
	"fmt"
	"math"
	"sort"

	"hindsight/tracefmt/event"
)

// State says what a thread or strand does at a time.
type State uint8

const (
	Absent   State = iota // not created yet, or ended
	Running               // executes instructions
	Spinning              // executes a runtime's code that waits
	Waiting               // waits for its turn, or for something that is not in the trace; for a strand: no thread acts as it
	Blocked               // see the package comment
	numStates
)

var stateNames = [numStates]string{"absent", "running", "spinning", "waiting", "blocked"}

func (s State) String() string {
	if s < numStates {
		return stateNames[s]
	}
	return "state?"
}

// MarshalText and UnmarshalText make the name of a state its JSON form.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *State) UnmarshalText(b []byte) error {
	for i, name := range stateNames {
		if name == string(b) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("state %q of a thread is not known", b)
}

// Options of [Build]. The zero value is ready for use.
type Options struct {
	// Intervals is the largest number of intervals, and also of strands' turns and of
	// edges, that are kept. 0 means 4 million, which take some 100 bytes each.
	Intervals int
}

const (
	defaultIntervals = 4 << 20
	maxCells         = 1 << 13 // of a thread
	minCells         = 1 << 6
	allCells         = 1 << 21 // of all threads
)

// Timeline says what the threads and strands of a run did when.
type Timeline struct {
	src     Source
	opts    Options
	end     uint64
	width   uint64 // of a cell
	lanes   []Lane
	threads []threadLane
	strands map[uint64]int // lane of a strand
	whole   bool           // kept covers the whole run
	kept    *detail
}

// Lane is a thread, or a strand: a task or a goroutine. Lanes are numbered as
// [Timeline.Lanes] lists them: first threads by number, then strands in the order in
// which they began.
type Lane struct {
	Lane   int            `json:"lane"`
	Name   string         `json:"name"` // T1, S7
	Thread event.ThreadID `json:"thread"`
	Strand uint64         `json:"strand,omitempty"` // 0: the lane belongs to a thread. For a strand, Thread is the one on which it first ran
	Begin  uint64         `json:"begin"`
	End    uint64         `json:"end"`
	// Sums say how long a thread was in each state. For strands they are 0.
	Sums Cell `json:"sums"`
}

// Cell says how long a lane was in each state.
type Cell struct {
	Running  uint64 `json:"running"`
	Spinning uint64 `json:"spinning,omitempty"`
	Waiting  uint64 `json:"waiting,omitempty"`
	Blocked  uint64 `json:"blocked,omitempty"`
}

func (c *Cell) add(s State, n uint64) {
	switch s {
	case Running:
		c.Running += n
	case Spinning:
		c.Spinning += n
	case Waiting:
		c.Waiting += n
	case Blocked:
		c.Blocked += n
	}
}

func (c *Cell) plus(d *Cell) {
	c.Running += d.Running
	c.Spinning += d.Spinning
	c.Waiting += d.Waiting
	c.Blocked += d.Blocked
}

// threadLane is what is kept of a thread for the whole run.
type threadLane struct {
	cells []Cell
	born  bool
}

// detail has the intervals of a run, or of a window of it.
type detail struct {
	from, to uint64
	spans    [][]span   // by thread
	why      []Interval // what spans refer to: state, kind, object, by, pc
	known    map[Interval]uint32
	turns    map[uint64][]turn // of strands
	edges    []Edge
	count    int // of spans
	// strandTurns is the number of turns of all strands.
	strandTurns int
}

// span is an interval of a thread. It ends where the next one begins.
type span struct {
	from  uint64
	insts uint64 // instructions of the thread before it
	why   uint32
}

// turn is a time in which a thread acts as a strand.
type turn struct {
	from, to uint64
	thread   event.ThreadID
}

// Build walks over a run and returns its timeline.
func Build(ctx context.Context, src Source, opts Options) (*Timeline, error) {
	if opts.Intervals == 0 {
		opts.Intervals = defaultIntervals
	}
	tl := &Timeline{src: src, opts: opts, strands: map[uint64]int{}}
	threads := src.Threads()
	for i := range threads {
		tl.end += src.Insts(threads[i].ID)
	}
	cells := max(minCells, min(maxCells, allCells/max(1, len(threads))))
	tl.width = max(1, (tl.end+uint64(cells)-1)/uint64(cells))
	tl.threads = make([]threadLane, len(threads))
	for i := range threads {
		tl.lanes = append(tl.lanes, Lane{Lane: i, Name: fmt.Sprintf("T%d", i), Thread: threads[i].ID})
	}
	b := newBuilder(tl, newDetail(len(threads), 0, math.MaxUint64), true)
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	tl.whole = b.detail != nil
	if tl.whole {
		tl.kept = b.detail
	}
	return tl, nil
}

// End returns the length of the run. Times are from 0 to End.
func (tl *Timeline) End() uint64 { return tl.end }

// Lanes returns all lanes. The caller must not change the slice.
func (tl *Timeline) Lanes() []Lane { return tl.lanes }

func newDetail(threads int, from, to uint64) *detail {
	return &detail{from: from, to: to, spans: make([][]span, threads), known: map[Interval]uint32{}, turns: map[uint64][]turn{}}
}

// reason returns the number of a state and its cause.
func (d *detail) reason(iv Interval) uint32 {
	iv.From, iv.To = 0, 0
	n, ok := d.known[iv]
	if !ok {
		n = uint32(len(d.why))
		d.why = append(d.why, iv)
		d.known[iv] = n
	}
	return n
}

// end returns where a span of a thread ends.
func (d *detail) end(spans []span, i int, last uint64) uint64 {
	if i+1 < len(spans) {
		return spans[i+1].from
	}
	return last
}

// at returns the index of the span that contains a time, or of the first span after it.
func at(spans []span, time uint64) int {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].from > time })
	return max(i-1, 0)
}
