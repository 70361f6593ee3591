package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"

	"hindsight/tracefmt/outfile"
)

// Streams are the standard streams of the process. Tests use their own.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// WriteTo calls write with the file of that name, or with standard output if the name is
// "". The file is either complete or absent, and must not be one of the inputs.
func (s Streams) WriteTo(ctx context.Context, file string, write func(io.Writer) error, inputs ...string) error {
	if file == "" {
		return write(s.Out)
	}
	return outfile.Write(ctx, file, s.Besides(inputs...), write)
}

// Besides returns the files that an output must not be: these files and the standard
// streams.
func (s Streams) Besides(inputs ...string) outfile.Options {
	return outfile.Options{Inputs: inputs, Streams: []any{s.In, s.Out, s.Err}}
}

// reliable is a standard stream that remembers the first write error, so that no command
// can lose output and still succeed.
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

// Stat describes the file of the stream, so that commands do not overwrite it. It returns
// an error if the stream is not a file.
func (r *reliable) Stat() (fs.FileInfo, error) {
	if f, ok := r.w.(*os.File); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}

// failure returns the first error of a write.
func (r *reliable) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// errClosed is the error of a write to a stream that was closed when the process started.
var errClosed = errors.New("closed; to discard what is written, write to " + os.DevNull)

// cause returns an error without the name that the process has for a standard stream.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if errors.Is(err, syscall.EBADF) {
		return errClosed
	}
	return err
}

// IsTerminal reports whether w is a terminal that may show colour.
func IsTerminal(w io.Writer) bool {
	if r, ok := w.(*reliable); ok {
		w = r.w
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return term.IsTerminal(int(f.Fd()))
}

// File returns the file of a standard stream, for a program that needs the file itself.
// ok is false if the stream is not a file.
func File(w io.Writer) (*os.File, bool) {
	if r, ok := w.(*reliable); ok {
		w = r.w
	}
	f, ok := w.(*os.File)
	return f, ok
}
