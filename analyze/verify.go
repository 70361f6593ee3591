package analyze

import (
	"errors"
	"fmt"

	"hindsight/cdr/format"
	"hindsight/wet"
)

// Verify reads the whole trace. It checks every checksum, grammar and count, the results
// of models, and values and dependences. With allowIncomplete, it accepts a trace without
// any of its run.
func (t *Trace) Verify(allowIncomplete bool) error {
	if err := t.cdr.Verify(); err != nil {
		return err
	}
	if meta := t.cdr.Info(); meta.Mode == format.ModeSchedule && meta.Complete {
		_, err := t.Program()
		return err
	}
	if !allowIncomplete {
		if err := t.HasRun(); err != nil {
			return err
		}
	}
	if err := t.cdr.VerifyArch(); err != nil {
		return err
	}
	g, err := t.ifValues()
	if g == nil || err != nil {
		return err
	}
	return verifyValues(g)
}

// verifyValues reads the control flow of every thread. It also reads the value, address
// and dependences of the first and the last execution of each statement, for which all
// labels have to be decoded.
func verifyValues(g *wet.Graph) error {
	for _, th := range g.Threads() {
		stmts := uint64(0)
		for e, err := range g.Forward(th.ID, 0) {
			if err != nil {
				return err
			}
			stmts += uint64(len(g.Node(e.Node).Stmts))
		}
		if stmts != th.Stmts {
			return fmt.Errorf("control flow of T%d has %d statements for %d: %w", th.ID, stmts, th.Stmts, errGraph)
		}
		for n := range g.NumNodes() {
			id := wet.NodeID(n)
			count := g.Executions(th.ID, id)
			if count == 0 {
				continue
			}
			for s := range g.Node(id).Stmts {
				for _, k := range []uint64{0, count - 1} {
					if err := verifyInstance(g, wet.Instance{Thread: th.ID, Node: id, Stmt: uint32(s), K: k}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

var errGraph = errors.New("the whole execution trace is damaged")

func verifyInstance(g *wet.Graph, i wet.Instance) error {
	if _, _, err := g.Value(i); err != nil {
		return err
	}
	if _, _, _, err := g.Addr(i); err != nil {
		return err
	}
	for _, err := range g.Deps(i) {
		if err != nil {
			return err
		}
	}
	return nil
}
