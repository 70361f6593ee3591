package export

import (
	"context"
	"io"

	"hindsight/analyze"
	"hindsight/analyze/std"
)

// STD writes the run as RAPID's STD text. With all, the text has every access. Otherwise
// it omits the accesses that the race analysis does not count: those of libraries to
// their own data.
func STD(ctx context.Context, w io.Writer, t *analyze.Trace, all bool) (std.Stats, error) {
	run := t.Recorded()
	if err := run.Info().CheckBothHalves(); err != nil {
		return std.Stats{}, err
	}
	if err := t.HasRun(); err != nil {
		return std.Stats{}, err
	}
	var opts std.Options
	data, err := run.Image()
	if err != nil {
		return std.Stats{}, err
	}
	if len(data) > 0 && !all { // an imported run has no program
		img, err := run.Space()
		if err != nil {
			return std.Stats{}, err
		}
		opts.Program, opts.TLSSize = img, img.TLSSize()
	}
	return std.Export(ctx, w, run, opts)
}
