package main

import (
	"context"
	"fmt"

	"hindsight/analyze/order"
	"hindsight/analyze/race"
	"hindsight/cdr"
)

// analysis finds the races of a trace.
type analysis func(context.Context, *cdr.Trace, race.Options) (*race.Result, error)

func byHappensBefore(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, error) {
	return race.Analyze(ctx, race.FromTrace(t), opts)
}

// allOrders is the name of the union of the orders.
const allOrders = "all"

func orderNames() (all []string) {
	for o := range order.NumOrders {
		all = append(all, o.String())
	}
	return append(all, allOrders)
}

// analysisBy gives the analysis of an order's name.
func analysisBy(name string) (analysis, error) {
	want := ^order.Set(0)
	if name != allOrders {
		o, ok := order.Parse(name)
		if !ok && name != "" {
			return nil, fmt.Errorf("--order %q: want hb, shb, wcp, lockset or all", name)
		}
		if o == order.HB {
			return byHappensBefore, nil
		}
		want = 1 << o
	}
	return func(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, error) {
		return order.Analyze(ctx, t, opts, want)
	}, nil
}
