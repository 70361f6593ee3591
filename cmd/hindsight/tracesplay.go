package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/rawtrace"
)

// isTrace says whether a file is a trace of `hindsight run`.
func isTrace(file string) bool {
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "\x89HST"
}

// play writes the control flow of a thread of a trace.
func (f *tracesFlags) play(cmd *cobra.Command, std cli.Streams, file string) error {
	if f.kind != "control" {
		return fmt.Errorf("--kind %s: of a trace only the kind control can be played back", f.kind)
	}
	t, err := cdr.OpenFile(file)
	if err != nil {
		return err
	}
	defer t.Close()
	th := event.ThreadID(max(f.thread, 0))
	job := &packJob{ctx: cmd.Context(), std: std, in: "-", out: f.out}
	if f.out == "" {
		return errors.New("give -o FILE, or -o - for standard output")
	}
	job.reads = []string{file}
	count := f.count
	if count == 0 {
		count = math.MaxUint64
	}
	return job.run(func(_ io.Reader, out io.Writer) error {
		w := bufio.NewWriterSize(out, 1<<16)
		var word []byte
		n := uint64(0)
		for pc, err := range t.BlocksFrom(th, f.from) {
			if err != nil {
				return err
			}
			if n == count {
				break
			}
			if n++; n%(1<<16) == 0 && cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
			word = rawtrace.AppendLeader(word[:0], pc)
			if _, err := w.Write(word); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}
