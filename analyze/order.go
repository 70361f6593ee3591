package analyze

import (
	"context"
	"strconv"

	"hindsight/analyze/order"
	"hindsight/analyze/predict"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
)

// analysis finds the races of a recording.
type analysis func(context.Context, *cdr.Trace, race.Options) (*race.Result, error)

// byHappensBefore finds races by the order hb (happens-before).
func byHappensBefore(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, error) {
	return race.Analyze(ctx, replay.FromTrace(t), opts)
}

// allOrders is the name of the union of all orders.
const allOrders = "all"

// Orders returns the names that [RaceOptions] may use as Order. They are hb
// (happens-before), shb, wcp and lockset; all, for the races of any of these; and osr,
// for the races that another schedule of the same events would show.
func Orders() (all []string) {
	for o := range order.NumOrders {
		all = append(all, o.String())
	}
	return append(all, allOrders, predict.Name)
}

// analysisBy returns the analysis with the name of an order.
func analysisBy(name string) (analysis, error) {
	if name == predict.Name {
		return func(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, error) {
			res, _, err := predict.Analyze(ctx, t, opts)
			return res, err
		}, nil
	}
	want := ^order.Set(0)
	if name != allOrders {
		o, ok := order.Parse(name)
		if !ok && name != "" {
			return nil, optionErrorf("order", strconv.Quote(name), "want hb, shb, wcp, lockset, all or osr")
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
