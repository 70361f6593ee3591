package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"hindsight/cdr"
	"hindsight/tracefmt/outfile"
)

// writeTo lets write fill the file of that name, or standard output when it is
// "". The file is whole or not there, and is none of the inputs.
func (s streams) writeTo(ctx context.Context, file string, write func(io.Writer) error, inputs ...string) error {
	if file == "" {
		return write(s.out)
	}
	return outfile.Write(ctx, file, s.besides(inputs...), write)
}

// besides says what an output file must not be: these files and the standard
// streams.
func (s streams) besides(inputs ...string) outfile.Options {
	opts := outfile.Options{Inputs: inputs}
	for _, stream := range []any{s.in, s.out, s.err} {
		if l, ok := stream.(*reliable); ok {
			stream = l.w
		}
		opts.Streams = append(opts.Streams, stream)
	}
	return opts
}

// reliable is a standard stream that remembers the first error of a write, so
// that no command can lose what it had to say and end well.
type reliable struct {
	w    io.Writer
	name string

	mu  sync.Mutex
	err error
}

func (r *reliable) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		r.mu.Lock()
		if r.err == nil {
			r.err = fmt.Errorf("%s: %w", r.name, cause(err))
		}
		r.mu.Unlock()
	}
	return n, err
}

// failure is the first error of a write.
func (r *reliable) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// cause leaves out the name that the process has for a standard stream.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// openTrace opens a trace. Of a recording that was killed before anything of
// the run could be read it says where the beginning is.
func openTrace(file string) (*cdr.Trace, error) {
	t, err := cdr.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		if _, serr := os.Stat(file + outfile.Partial); serr == nil {
			return nil, fmt.Errorf("%w (%s%s is of a recording that goes on, or was killed before its first epoch was written)", err, file, outfile.Partial)
		}
	}
	if err == nil {
		t.LookIn(os.Getenv(imagesVariable))
		t.LookIn(imagesOf(t, file))
	}
	return t, err
}

// imagesOf is the directory that has the images of a trace; "" if the trace has them.
func imagesOf(t *cdr.Trace, file string) string {
	dir := t.Info().Images
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(file), dir)
}

// imagesVariable names a directory of images (run --images) for those who read
// traces.
const imagesVariable = "HINDSIGHT_IMAGES"
