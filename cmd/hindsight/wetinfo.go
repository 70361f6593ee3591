package main

import (
	"errors"
	"fmt"
	"io"

	"hindsight/mpsim/eval"
	"hindsight/tracefmt/numtext"
	"hindsight/wet"
)

// infoValues is what `hindsight info` says about the whole execution in a trace.
// Sizes are bytes.
type infoValues struct {
	Statements   uint64 `json:"statements"`   // instances
	Nodes        int    `json:"nodes"`        // paths, and what happens outside
	Executions   uint64 `json:"executions"`   // of nodes
	Results      uint64 `json:"results"`      // instances with a value
	Dependences  uint64 `json:"dependences"`  // instances
	Stored       uint64 `json:"stored"`       // in the file
	Timestamps   uint64 `json:"timestamps"`   // after tier 2
	ResultLabels uint64 `json:"result_bytes"` // the same
	EdgeLabels   uint64 `json:"edge_bytes"`   // the same
	Tables       uint64 `json:"tables"`       // in the file
}

// describeValues says what a file has of values and dependences; nil without.
// With verify it reads all of it.
func describeValues(file string, verify bool) (*infoValues, error) {
	g, err := wet.Open(file, wet.OpenOptions{Evaluate: eval.Inst})
	if errors.Is(err, wet.ErrNoGraph) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer g.Close()
	if verify {
		if err := verifyValues(g); err != nil {
			return nil, err
		}
	}
	c, s := g.Counts(), g.Sizes()
	return &infoValues{
		Statements: c.Stmts, Nodes: g.NumNodes(), Executions: c.Executions, Results: c.Values, Dependences: c.Deps,
		Stored: s.Stored, Timestamps: s.Times.Tier2, ResultLabels: s.Values.Tier2 + s.Patterns.Tier2, EdgeLabels: s.Edges.Tier2, Tables: s.Tables,
	}, nil
}

// verifyValues reads the control flow of every thread, and the value, address
// and dependences of the first and the last execution of each statement, for
// which all labels have to be decoded.
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

func (i *infoValues) text(w io.Writer) {
	fmt.Fprintf(w, "  values    of %s statements, %s dependences, in %s nodes: %s, %.3f bytes a statement\n",
		numtext.Grouped(i.Statements), numtext.Grouped(i.Dependences), numtext.Grouped(uint64(i.Nodes)), numtext.Bytes(int64(i.Stored)), float64(i.Stored)/float64(max(i.Statements, 1)))
}
