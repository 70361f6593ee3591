package std

import (
	"context"
	"io"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt"
	"hindsight/tracefmt/buildinfo"
)

// Record reads the STD text in, and writes the run that it describes as a trace to w. The
// trace has no program, and its name for the run is name. Record returns the size of the
// trace in bytes. If ctx is done early, the error is that of ctx.
func Record(ctx context.Context, w io.Writer, in io.Reader, name string) (size int64, err error) {
	names := &Names{}
	rec, err := recorder.New(w, recorder.Options{
		Meta: format.Meta{Tool: "hindsight " + buildinfo.Version(), Program: name, Alphabet: format.AlphabetBlock, Keep: "all", Policy: "import"},
		Extra: func(end bool) (out []format.Extra) {
			if !end {
				return nil
			}
			for i, part := range names.Encode() {
				out = append(out, format.Extra{Kind: tracefmt.KindNames, Thread: uint32(i), Payload: part})
			}
			return out
		},
	})
	if err != nil {
		return 0, err
	}
	err = Import(ctx, in, rec, names)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // and not the error of the read that it interrupted
	}
	return rec.Size(), err
}
