package analyze

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"hindsight/analyze/artifact"
	"hindsight/analyze/local"
	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/analyze/rerun"
	"hindsight/analyze/written"
	"hindsight/cdr"
	"hindsight/mpsim/image"
)

// withAll reruns a trace that has only accesses to shared memory, and passes a trace with
// all accesses to use.
func withAll(ctx context.Context, runner rerun.Runner, t *cdr.Trace, file string, use func(*cdr.Trace) error) error {
	dir, err := os.MkdirTemp("", "hindsight")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	into := filepath.Join(dir, "all.hst")
	if err := runner.RecordAll(ctx, t, file, into); err != nil {
		return err
	}
	all, err := cdr.OpenFile(into)
	if err != nil {
		return err
	}
	defer all.Close()
	return use(all)
}

// artifactsOf finds the artifacts among the races of a trace. If the trace was recorded
// with --keep shared and lacks an address on the path of a value, it reruns the program.
// If that is not possible, it logs why.
func (q *inquiry) artifactsOf(ctx context.Context, t *cdr.Trace, file string, img *image.Space, res *race.Result, opts artifact.Options) (*artifact.Result, error) {
	found, err := artifact.Analyze(ctx, t, img, res, opts)
	if err != nil || q.Rerun == nil || t.Info().Keep != "shared" || !found.Unrecorded() {
		return found, err
	}
	err = withAll(ctx, q.Rerun, t, file, func(all *cdr.Trace) (err error) {
		found, err = artifact.Analyze(ctx, all, img, res, opts)
		return err
	})
	if ctx.Err() != nil {
		return found, ctx.Err()
	}
	if err != nil {
		q.log("some races may be artifacts; to know, hindsight needs more than --keep shared keeps: %v", err)
	}
	return found, nil
}

// racingWrites limits the number of racing writes that are distinguished.
const racingWrites = 1 << 20

// valuesOf reruns a trace to find out what the racing writes wrote, and which local
// variables the races on stacks are about.
func valuesOf(ctx context.Context, runner rerun.Runner, t *cdr.Trace, img *image.Space, res *race.Result) (*written.Observer, error) {
	if t.Info().Outcome == nil {
		return nil, errors.New("the trace is incomplete, so a rerun cannot be compared with it")
	}
	writes, pages, ok, err := artifact.RacingWrites(ctx, t, img, res, racingWrites)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("the racing instructions write too much memory")
	}
	obs := written.New(img, t.Site, writes, pages, stackPlaces(res))
	return obs, runner.Observe(ctx, t, obs)
}

// stackPlaces returns the locations of those races that are on a stack, at the time of a
// plain side of the first instance. The other races have no location.
func stackPlaces(res *race.Result) []local.Place {
	out := make([]local.Place, len(res.Races))
	for i := range res.Races {
		r := &res.Races[i]
		s := &r.First.Earlier
		if !s.Op.Plain() {
			s = &r.First.Later
		}
		if r.Location.Kind == place.Stack && s.Op.Plain() {
			out[i] = local.Place{Access: artifact.Execution{Thread: s.Thread, Site: s.Site, Ordinal: s.Ordinal}, Owner: r.Location.Thread, Address: r.First.Address, Size: s.Address + s.Size - r.First.Address}
		}
	}
	return out
}
