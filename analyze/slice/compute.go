package slice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// Direction is which way a slice goes.
type Direction uint8

const (
	Backward Direction = iota // what led to the criterion
	Forward                   // what followed from it
)

func (d Direction) String() string {
	if d == Forward {
		return "forward"
	}
	return "backward"
}

// Kinds is a set of kinds of dependences that a slice follows.
type Kinds uint8

const (
	Data    Kinds = 1 << iota // through registers and memory
	Control                   //
	Sync                      // order: an unlock and the next lock, the end of a thread and the thread that joined it
	Both    = Data | Control
)

func (k Kinds) follows(d wet.DepKind) bool {
	switch d {
	case wet.DepControl, wet.DepExit:
		return k&Control != 0
	case wet.DepSync:
		return k&Sync != 0
	}
	return k&Data != 0
}

// ErrTooBig says that a slice has more instances than Options.MaxInstances.
var ErrTooBig = errors.New("more instances than allowed")

// Options of a slice. The zero value is a backward slice along data and control
// dependences, through all threads, without limits.
type Options struct {
	Direction Direction
	Kinds     Kinds  // 0 means Both
	OneThread bool   // do not follow dependences between threads
	Depth     int    // largest number of dependences between the criterion and an instance; 0 means no limit
	MaxInsts  uint64 // largest number of instances, beyond which the error is ErrTooBig; 0 means no limit
	// Brief omits the stack, global and thread pointers, and saves and restores of
	// callers' registers (brief.go).
	Brief bool
	// Flow is the program's control flow, for backward slices with control. They then
	// include the decisions that ended loops (exits.go). With nil, they do not.
	Flow *cfg.Program

	patience uint64 // see pass.go; 0 means the default
	extra    tally  // further links
}

// Compute computes the slice of the criterion, which is part of the slice. An error of
// the graph, or of ctx when it ends, is wrapped.
func Compute(ctx context.Context, g Graph, criterion []wet.Instance, opts Options) (*Slice, error) {
	if opts.Kinds == 0 {
		opts.Kinds = Both
	}
	for _, i := range criterion {
		if err := valid(g, i); err != nil {
			return nil, err
		}
	}
	s := &Slice{g: g, opts: opts, criterion: slices.Clone(criterion), index: map[home]int{}}
	if opts.Direction == Backward && opts.Kinds&Both == Both {
		s.exits = newExits(g, opts.Flow)
	}
	var err error
	if fast, ok := g.(slotted); ok && opts.Depth == 0 {
		err = newSweep(s, fast).run(ctx, criterion)
	} else {
		err = newWalk(s).run(ctx, criterion)
	}
	if err != nil {
		return nil, fmt.Errorf("slice: %w", err)
	}
	for l, count := range opts.extra {
		s.links[l] += count
	}
	s.finish()
	return s, nil
}

func valid(g Graph, i wet.Instance) error {
	if int64(i.Node) >= int64(g.NumNodes()) || int64(i.Stmt) >= int64(len(g.Node(i.Node).Stmts)) {
		return fmt.Errorf("slice: no statement %d in node %d", i.Stmt, i.Node)
	}
	if n := g.Executions(i.Thread, i.Node); i.K >= n {
		return fmt.Errorf("slice: thread %d executed node %d %d times, not %d", i.Thread, i.Node, n, i.K+1)
	}
	return nil
}

// homeIndex returns the index of the set of a node's instances.
func (s *Slice) homeIndex(h home) int {
	at, ok := s.index[h]
	if !ok {
		at = len(s.homes)
		s.index[h] = at
		s.homes = append(s.homes, newNodeSet(h, (len(s.g.Node(h.node).Stmts)+63)/64))
	}
	return at
}

func homeOf(i wet.Instance) home { return home{i.Thread, i.Node} }

// tally counts dependences between statements.
type tally map[link]uint64

// link is a dependence between two places, from producer to user.
type link struct {
	from, to place
	kind     wet.DepKind
	reg      uint8
}
