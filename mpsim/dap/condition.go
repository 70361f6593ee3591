package dap

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"hindsight/mpsim"
	"hindsight/mpsim/debug"
)

// point is a breakpoint: on code, or on memory if it has no code.
type point struct {
	id        int
	pcs       []uint64
	watched   mpsim.Watched
	exception string // name of its exception filter

	condition string // an expression that must be true; "": none
	log       string // what to print instead of stopping
	// number reports whether the run stops for the nth hit of the whole run; nil: for all
	// of them.
	number func(n int) bool
	// times are the hits before time known for which the condition is true.
	times []uint64
	known uint64
}

// numbered assigns the id by which stops refer to a breakpoint.
func (s *server) numbered(p *point, shown *godap.Breakpoint) *point {
	s.lastPoint++
	p.id, shown.Id = s.lastPoint, s.lastPoint
	return p
}

// stopIf sets the conditions of a breakpoint.
func (p *point) stopIf(shown *godap.Breakpoint, condition, hits string) {
	p.condition = strings.TrimSpace(condition)
	if hits = strings.TrimSpace(hits); hits == "" {
		return
	}
	number, err := hitCondition(hits)
	if err != nil {
		shown.Verified, shown.Message, p.pcs = false, err.Error(), nil
		return
	}
	p.number = number
}

// hitCondition parses which hits count: "5" and ">=5" (the fifth and later ones), ">5",
// "<5", "<=5", "=5" or "==5", and "%5" (every fifth).
func hitCondition(text string) (func(int) bool, error) {
	digits := strings.TrimLeft(text, "<>=% ")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q: want a number of hits, such as 5, >=5, ==5 or %%5", text)
	}
	switch strings.TrimSpace(text[:len(text)-len(digits)]) {
	case "", ">=":
		return func(hit int) bool { return hit >= n }, nil
	case ">":
		return func(hit int) bool { return hit > n }, nil
	case "<":
		return func(hit int) bool { return hit < n }, nil
	case "<=":
		return func(hit int) bool { return hit <= n }, nil
	case "=", "==":
		return func(hit int) bool { return hit == n }, nil
	case "%":
		if n > 0 {
			return func(hit int) bool { return hit%n == 0 }, nil
		}
	}
	return nil, fmt.Errorf("%q: want a number of hits, such as 5, >=5, ==5 or %%5", text)
}

// at returns the breakpoints at which a stop is.
func (s *server) at(stop debug.Stop) (all []*point) {
	if stop.Reason == debug.Watchpoint {
		if stop.Watch < len(s.points.data) {
			return []*point{s.points.data[stop.Watch]}
		}
		return nil
	}
	h := s.debug.Replay.Thread(stop.Thread)
	for _, p := range s.points.all() {
		for _, pc := range p.pcs {
			if h != nil && h.PC == pc {
				all = append(all, p)
			}
		}
	}
	return all
}

// holds reports whether the run stops at a breakpoint: if a condition is true or cannot be
// evaluated, and the hit counts.
func (s *server) holds(ctx context.Context, stop debug.Stop) (bool, error) {
	hold := false
	s.stoppedAt = nil
	for _, p := range s.at(stop) {
		if !s.met(p, stop) {
			continue
		}
		if p.number != nil {
			n, err := s.hit(ctx, p, stop)
			if err != nil {
				return false, err
			}
			if !p.number(n) {
				continue
			}
		}
		if p.log != "" {
			if err := s.tell("output", godap.OutputEventBody{Category: "console", Output: s.message(p.log, stop) + "\n"}); err != nil {
				return false, err
			}
			continue
		}
		hold = true
		s.stoppedAt = append(s.stoppedAt, p)
	}
	return hold, nil
}

// met reports whether the condition of a breakpoint is true or cannot be evaluated.
func (s *server) met(p *point, stop debug.Stop) bool {
	if p.condition == "" {
		return true
	}
	yes, err := s.debug.True(s.top(stop), p.condition)
	return yes || err != nil
}

// top returns the innermost frame of the thread that has stopped.
func (s *server) top(stop debug.Stop) *debug.Frame {
	if all := s.debug.Stack(stop.Thread); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// hit returns which hit of a breakpoint a stop is, counted from 1 at the beginning of the
// run. It replays the part of the run in which hits have not been counted yet.
func (s *server) hit(ctx context.Context, p *point, stop debug.Stop) (int, error) {
	at := stop.Time
	start := s.debug.Time()
	if stop.Reason == debug.Breakpoint {
		at = start
	}
	if p.known <= at {
		probe := &mpsim.Probe{Breaks: map[uint64]bool{}}
		for _, pc := range p.pcs {
			probe.Breaks[pc] = true
		}
		if len(p.pcs) == 0 {
			probe.Watches = []mpsim.Watched{p.watched}
		}
		if err := s.count(ctx, p, probe, at); err != nil {
			return 0, err
		}
		p.known = at + 1
		if err := s.debug.Seek(ctx, start); err != nil {
			return 0, err
		}
	}
	return sort.Search(len(p.times), func(i int) bool { return p.times[i] > at }), nil
}

// count adds the hits between the known time and at, inclusive.
func (s *server) count(ctx context.Context, p *point, probe *mpsim.Probe, at uint64) error {
	if err := s.debug.Seek(ctx, p.known); err != nil {
		return err
	}
	for pass := false; ; pass = true {
		hit, found, err := s.debug.Forward(ctx, at+1, probe, pass)
		if err != nil || !found {
			return err
		}
		stop := debug.Stop{Reason: debug.Breakpoint, Thread: hit.Thread, Time: hit.Time}
		if len(p.pcs) == 0 {
			stop.Reason = debug.Watchpoint
			if !hit.System {
				if err := s.debug.Seek(ctx, hit.Time+1); err != nil {
					return err
				}
			}
		}
		if s.met(p, stop) {
			p.times = append(p.times, hit.Time)
		}
	}
}

// message returns the text of a log point, with expressions in braces replaced by their
// values.
func (s *server) message(text string, stop debug.Stop) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		inner, after, closed := strings.Cut(rest, "}")
		b.WriteString(before)
		if !found || !closed {
			if found {
				b.WriteString("{" + rest)
			}
			return b.String()
		}
		v, err := s.debug.Evaluate(s.top(stop), inner)
		if err != nil {
			b.WriteString("{" + err.Error() + "}")
		} else {
			b.WriteString(s.debug.Text(&v))
		}
		text = after
	}
}
