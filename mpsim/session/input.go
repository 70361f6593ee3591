package session

import (
	"bytes"
	"io"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt"
)

// inputLimit is the maximum number of bytes of standard input that a trace keeps.
const inputLimit = 64 << 20

// ErrInputNotKept says that a trace does not contain all of the standard input.
var ErrInputNotKept = optionErrorf("stdin", "the run read more standard input than a trace keeps; give it again")

// inputLog copies what a run reads from its standard input into the trace, so that a rerun
// needs no file.
type inputLog struct {
	r    io.Reader
	new  bytes.Buffer // not yet written
	size int          // bytes read
	part uint32       // number of blocks so far
	full bool         // the trace says that the rest is not kept
}

// keepInputIn writes what a run reads from std into its trace.
func keepInputIn(opts *recorder.Options, std *Streams) {
	if std.In == nil {
		return
	}
	log := &inputLog{r: std.In}
	std.In = log
	others := opts.Extra
	opts.Extra = func(end bool) (out []format.Extra) {
		if others != nil {
			out = others(end)
		}
		return log.appendBlocks(out)
	}
}

// Read implements [io.Reader].
func (l *inputLog) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.size += n; l.size <= inputLimit {
		l.new.Write(p[:n])
	}
	return n, err
}

// appendBlocks appends blocks with what was read since the last call. An empty block says
// that the input is not kept from there on.
func (l *inputLog) appendBlocks(out []format.Extra) []format.Extra {
	if l.new.Len() > 0 {
		out = append(out, format.Extra{Kind: tracefmt.KindInput, Thread: l.part, Payload: bytes.Clone(l.new.Bytes())})
		l.new.Reset()
		l.part++
	}
	if l.size > inputLimit && !l.full {
		l.full = true
		out = append(out, format.Extra{Kind: tracefmt.KindInput, Thread: l.part})
		l.part++
	}
	return out
}

// Input returns the standard input that the run of a trace read. The error is
// [ErrInputNotKept] if the trace does not contain all of it.
func Input(t *cdr.Trace) ([]byte, error) {
	var in []byte
	for x, err := range t.Extras(tracefmt.KindInput) {
		if err != nil {
			return nil, err
		}
		if len(x.Payload) == 0 {
			return nil, ErrInputNotKept
		}
		in = append(in, x.Payload...)
		if len(in) > inputLimit {
			return nil, tracefmt.ErrMalformed
		}
	}
	return in, nil
}
