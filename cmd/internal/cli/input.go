package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// OpenFile opens a file for reading. Opening a FIFO without a writer waits, and so does
// reading from it. Both end when ctx is done.
func OpenFile(ctx context.Context, name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return os.Open(name)
	}
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		if o.err == nil {
			// A file without support for deadlines is read to its end.
			context.AfterFunc(ctx, func() { _ = o.file.SetReadDeadline(time.Unix(1, 0)) })
		}
		return o.file, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("open %s: %w", name, ctx.Err())
	}
}

// ReadFile reads a file as OpenFile opens it.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	f, err := OpenFile(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// UntilDone reads from r until ctx is done. Then a waiting read returns the error of
// ctx.
func UntilDone(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	return out
}
