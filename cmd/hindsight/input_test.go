//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/examples"
)

// TestFIFO reads a log from a FIFO. It also stops commands that wait for a FIFO to be
// opened by a writer, or for data that never comes.
func TestFIFO(t *testing.T) {
	t.Chdir(t.TempDir())
	const log = "A|w(x)|1\nB|w(x)|2\n"
	for name, text := range map[string]string{"log.std": log, "rules": "race:nobody\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	elf, err := examples.ELF("race_counter")
	if err == nil {
		err = os.WriteFile("program", elf, 0o700)
	}
	if err == nil {
		err = syscall.Mkfifo("fifo", 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	execute := func(ctx context.Context, in io.Reader, args ...string) error {
		root := newRoot(cli.Streams{In: in, Out: io.Discard, Err: io.Discard})
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	}

	write := func(text string) (*os.File, error) {
		f, err := os.OpenFile("fifo", os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString(text)
		return f, err
	}
	written := make(chan error, 1)
	go func() {
		f, err := write(log)
		written <- errors.Join(err, f.Close())
	}()
	if err := errors.Join(execute(t.Context(), nil, "import", "-o", "fifo.hst", "fifo"), <-written); err != nil {
		t.Fatal(err)
	}
	if err := execute(t.Context(), strings.NewReader(log), "import", "-o", "stdin.hst", "-"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo.hst", "stdin.hst"} {
		var status cli.ExitStatus
		if err := execute(t.Context(), nil, "races", name); !errors.As(err, &status) || status != exitRaces {
			t.Errorf("%s: %v", name, err)
		}
	}

	stopped := func(t *testing.T, begin func(), in io.Reader, args ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- execute(ctx, in, args...) }()
		begin()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, args := range [][]string{
		{"import", "-o", "never.hst", "fifo"},
		{"races", "--suppressions", "fifo", "stdin.hst"},
		{"races", "--baseline", "fifo", "stdin.hst"},
		{"run", "--stdin", "fifo", "-o", "never.hst", "program"},
		{"explore", "--stdin", "fifo", "program"},
	} {
		t.Run(args[0]+args[1], func(t *testing.T) { stopped(t, func() {}, nil, args...) })
	}
	t.Run("silence", func(t *testing.T) {
		var open *os.File
		stopped(t, func() {
			var err error
			if open, err = write("A|w(x)|1\n"); err != nil {
				t.Error(err)
			}
		}, nil, "import", "-o", "never.hst", "fifo")
		open.Close()
		in, out := io.Pipe()
		defer out.Close()
		stopped(t, func() {
			if _, err := out.Write([]byte("A|w(x)|1\n")); err != nil {
				t.Error(err)
			}
		}, in, "import", "-o", "never.hst", "-")
	})
	if left, _ := filepath.Glob("never*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
