package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"hindsight/cmd/internal/cli"
)

// testOutput passes on what a test binary prints, line by line, but for its
// verdict on the package ([testOutput.Write] drops those lines). On a terminal it
// says now and then that the tests still run.
type testOutput struct {
	mu     sync.Mutex
	out    io.Writer
	status io.Writer // terminal for the status line; nil: none
	line   []byte    // that has no end yet
	shown  bool      // the status line is there
	stop   chan struct{}
	done   sync.WaitGroup
}

// statusEvery is how often the status line is written.
const statusEvery = 2 * time.Second

// newTestOutput is the output of the tests called name. Its Close must be called.
func newTestOutput(out, status io.Writer, name string) *testOutput {
	o := &testOutput{out: out, stop: make(chan struct{})}
	if !cli.IsTerminal(status) {
		return o
	}
	o.status = status
	start := time.Now()
	o.done.Go(func() {
		tick := time.NewTicker(statusEvery)
		defer tick.Stop()
		for {
			select {
			case <-o.stop:
				return
			case <-tick.C:
				o.mu.Lock()
				o.shown = true
				fmt.Fprintf(o.status, "\r\x1b[Khindsight: %s runs for %v", name, time.Since(start).Round(time.Second))
				o.mu.Unlock()
			}
		}
	})
	return o
}

// Write implements [io.Writer]. Lines are written when they are whole.
func (o *testOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line = append(o.line, p...)
	end := bytes.LastIndexByte(o.line, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	if err := o.lines(o.line[:end]); err != nil {
		return 0, err
	}
	o.line = append(o.line[:0], o.line[end:]...)
	return len(p), nil
}

// lines passes on whole lines.
func (o *testOutput) lines(text []byte) error {
	for line := range bytes.Lines(text) {
		switch string(line) {
		case "PASS\n", "FAIL\n", "testing: warning: no tests to run\n":
			continue // about the package
		}
		o.clear()
		if _, err := o.out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// clear takes the status line away.
func (o *testOutput) clear() {
	if o.shown {
		fmt.Fprint(o.status, "\r\x1b[K")
		o.shown = false
	}
}

// Close passes on what is left, a line without an end.
func (o *testOutput) Close() error {
	close(o.stop)
	o.done.Wait()
	o.clear()
	err := o.lines(o.line)
	o.line = nil
	return err
}
