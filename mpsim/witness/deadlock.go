package witness

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"hindsight/analyze/predict"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
)

// Deadlock runs the witness of a deadlock that the run in t predicts. The deadlock is shown
// if, at the end of the run or after its time limit, each of the threads waits for its
// mutex, which the next one holds. The error is as for [Runner.Race].
func (r *Runner) Deadlock(ctx context.Context, t *cdr.Trace, p *predict.Deadlock) (*report.Prediction, error) {
	if p.Witness == nil {
		return &report.Prediction{Diverged: noSchedule}, nil
	}
	asked := steps(p.Witness)
	for _, w := range p.Waits {
		asked.Steps = append(asked.Steps, schedule.Step{Kind: schedule.Rest, Thread: w.Thread})
	}
	return r.follow(ctx, t, asked, follower{
		text:  func(img *image.Space) []byte { return deadlockText(asked, img, p) },
		as:    func(run *session.Run) { run.Mode = session.ModeNone },
		shows: func(run *session.Run, sum *session.Summary) (bool, error) { return stuck(sum.Result, p), nil },
		not:   "the run followed the witness to its end and did not deadlock",
	})
}

// stuck reports whether a run ended with the threads of a deadlock waiting for each other.
func stuck(res *mpsim.Result, p *predict.Deadlock) bool {
	waiting := slices.Concat(res.Deadlock, res.Stood)
	for i, w := range p.Waits {
		by := p.Waits[(i+1)%len(p.Waits)].Thread
		if !slices.ContainsFunc(waiting, func(x mpsim.Waiting) bool {
			return x.Thread == w.Thread && strings.HasSuffix(x.For, fmt.Sprintf(" %#x held by thread T%d", w.Mutex, by))
		}) {
			return false
		}
	}
	return true
}

// deadlockText returns the text form of a witness, with the places where the threads wait
// at its end.
func deadlockText(s *schedule.Schedule, img *image.Space, p *predict.Deadlock) []byte {
	var b bytes.Buffer
	_ = s.Write(&b, func(st *schedule.Step) string { // writing to a buffer cannot fail
		for _, w := range p.Waits {
			if st.Kind == schedule.Rest && st.Thread == w.Thread {
				return "waits at " + named(img, w.PC)
			}
		}
		return ""
	})
	return b.Bytes()
}
