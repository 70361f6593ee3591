package cdr

import (
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// Call is an execution of a function that a thread called.
type Call struct {
	Depth    int    // of its frame; the thread's first function has depth 0
	PC       uint64 // of the first recorded block of the execution
	From, To uint64 // instructions of recorded blocks that the thread had executed when the call began and when it ended
}

// Calls calls visit for each execution of a function whose frame is less than depth deep,
// when it ends. Executions that did not end, and the function that the thread began in,
// come last. Executions without a recorded block are left out. Deeper calls are skipped,
// rule by rule.
func (t *Trace) Calls(th event.ThreadID, depth int, visit func(Call) error) error {
	if err := t.hasControl(th); err != nil {
		return err
	}
	w := &callWalk{depth: depth, visit: visit, pending: true}
	w.open = append(w.open, Call{})
	for i := range t.epochs {
		s, err := t.stretch(i, th)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if err := w.epoch(s); err != nil {
			return err
		}
	}
	for len(w.open) > 0 {
		if err := w.end(); err != nil {
			return err
		}
	}
	return nil
}

// callWalk is a walk along a thread.
type callWalk struct {
	depth   int
	visit   func(Call) error
	insts   uint64
	height  int    // frames, without that of the thread's first function; below len(open) when all are open
	open    []Call // the open calls that are less than depth deep
	pending bool   // the innermost of them has had no block yet
}

func (w *callWalk) epoch(s *stretch) error {
	stacks, err := s.callStacks()
	if err != nil {
		return err
	}
	insts, err := wpp.NewWeights(s.Grammar, s.termWeight(instsOf))
	if err != nil {
		return err
	}
	changes, err := wpp.NewWeights(s.Grammar, func(x wpp.Terminal) uint64 {
		e := s.effect(x)
		return e.Pops + e.Pushes
	})
	if err != nil {
		return err
	}
	stack := []wpp.Step{{Rule: s.Grammar.Start()}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		body := s.Grammar.Body(top.Rule)
		if int(top.Index) >= len(body) {
			stack = stack[:len(stack)-1]
			continue
		}
		x := body[top.Index]
		top.Index++
		if !x.IsRule() {
			if err := w.terminal(s, x.Terminal()); err != nil {
				return err
			}
			continue
		}
		r := x.Rule()
		e := stacks.Rule(r)
		// Frames below depth stay as they are if the stack never gets lower than depth,
		// or does not change at all.
		if !w.pending && (changes.Rule(r) == 0 || w.height-int(e.Pops) >= w.depth-1) {
			w.insts += insts.Rule(r)
			w.height += int(e.Pushes) - int(e.Pops)
			continue
		}
		stack = append(stack, wpp.Step{Rule: r})
	}
	return nil
}

func (w *callWalk) terminal(s *stretch, x wpp.Terminal) error {
	t := s.Terms[x]
	if t.Kind != format.TermPath {
		e := s.effect(x)
		if err := w.pop(e.Pops); err != nil {
			return err
		}
		return w.push(e.Pushes)
	}
	path := s.tab.PathBlocks(format.PathID(t.A))
	once := uint64(0)
	for _, b := range path {
		once += instsOf(&s.tab.Blocks[b])
	}
	e := s.effect(x)
	if e.Pops+e.Pushes == 0 {
		w.began(s.tab.Blocks[path[0]].PC)
		w.insts += once * t.B
		return nil
	}
	for range t.B { // each path ends with a call or a return
		w.began(s.tab.Blocks[path[0]].PC)
		w.insts += once
		if err := w.pop(e.Pops / t.B); err != nil {
			return err
		}
		if err := w.push(e.Pushes / t.B); err != nil {
			return err
		}
	}
	return nil
}

// began notes the first block of a call.
func (w *callWalk) began(pc uint64) {
	if w.pending {
		c := &w.open[len(w.open)-1]
		c.PC, c.From, w.pending = pc, w.insts, false
	}
}

func (w *callWalk) push(n uint64) error {
	for range n {
		w.height++
		if w.height < w.depth {
			w.open = append(w.open, Call{Depth: w.height, From: w.insts})
			w.pending = true
		}
	}
	return nil
}

func (w *callWalk) pop(n uint64) error {
	for range n {
		if w.height < w.depth && len(w.open) > 1 {
			if err := w.end(); err != nil {
				return err
			}
		}
		w.height--
	}
	w.height = max(w.height, 0)
	return nil
}

// end ends the innermost call.
func (w *callWalk) end() error {
	c := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	w.pending = len(w.open) > 0 && w.open[len(w.open)-1].PC == 0
	if c.To = w.insts; c.PC == 0 || c.To == c.From {
		return nil
	}
	return w.visit(c)
}
