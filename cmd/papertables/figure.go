package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cmd/internal/codecs"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// publishedGain is what the text of section 3.4 says of Figure 4: how many
// times smaller Diff∘RLE∘SEQ is than SEQ.
var publishedGain = map[string]string{"fft": "up to 211", "mp3d": "2", "water": "3 to 5"}

// figure measures Figure 4 of the parallel-trace paper.
func (c *comparison) figure(ctx context.Context) ([]*table, error) {
	t := &table{
		id: "ppopp2003-f4", title: "PPoPP 2003, Figure 4: addresses of each load and store, Sequitur alone and Diff∘RLE∘SEQ",
		notes: []string{
			"Accesses to shared memory; DRS is Diff∘RLE∘SEQ. Symbols: on the right sides of all rules, with one grammar for each load and store of a thread; they do not depend on how a grammar is stored. Bytes: for SEQ, the grammars in our binary form with a dictionary of the addresses (as differences), everything of a thread compressed with zstd like the blocks of a trace; for DRS, the data blocks of the trace. Differences and zstd in the dictionary find much of what Diff∘RLE finds, so the bytes differ less than the symbols, and less than in the paper.",
			"The paper shows the figure as a drawing. Its text names the gains of three programs.",
		},
		head: []string{"kernel", "threads", "raw",
			"SEQ symbols", "DRS symbols", "times fewer", "SEQ bytes", "DRS bytes", "times smaller", "paper"},
	}
	for _, kernel := range c.kernels {
		for _, threads := range c.threads {
			c.progress(fmt.Sprintf("ppopp2003: Figure 4: %s, %d threads", kernel, threads))
			if err := c.figureRow(ctx, t, kernel, threads); err != nil {
				return nil, fmt.Errorf("%s, %d threads: %w", kernel, threads, err)
			}
		}
	}
	return []*table{t}, nil
}

func (c *comparison) figureRow(ctx context.Context, t *table, kernel string, threads int) error {
	a, s, err := c.addressGrammars(ctx, kernel, threads)
	if err != nil {
		return err
	}
	paper := publishedGain[kernel]
	if c.small {
		paper = ""
	}
	gain := func(before, after float64) float64 {
		if after == 0 {
			return math.NaN()
		}
		return before / after
	}
	t.add(kernel, threads, s.RawData, uint64(a.alone), uint64(a.runs), gain(float64(a.alone), float64(a.runs)),
		a.aloneBytes, s.Data, gain(float64(a.aloneBytes), float64(s.Data)), paper)
	return nil
}

// addressGrammars builds the grammars of a kernel's addresses.
func (c *comparison) addressGrammars(ctx context.Context, kernel string, threads int) (a *addressGrammars, s cdr.Sizes, err error) {
	r, err := c.recording(kernel, threads)
	if err != nil {
		return nil, s, err
	}
	r.Keep, r.Out = "shared", c.file("figure.hst")
	done, err := r.Record(ctx, session.Streams{Out: io.Discard, Err: io.Discard})
	if err != nil {
		return nil, s, err
	}
	if done.Interrupted {
		return nil, s, ctx.Err()
	}
	trace, err := cdr.OpenFile(r.Out)
	if err != nil {
		return nil, s, err
	}
	defer os.Remove(r.Out)
	defer trace.Close()
	a = new(addressGrammars)
	for _, th := range trace.Threads() {
		if err := ctx.Err(); err != nil {
			return nil, s, err
		}
		if err := a.thread(trace, th.ID); err != nil {
			return nil, s, err
		}
	}
	return a, trace.Sizes(), nil
}

// publishedTiming is what section 3.5 says of Figure 5.
var publishedTiming = map[string]string{"fft": "slower", "lu": "faster", "mp3d": "slower", "water": "slower", "sor": "faster"}

// timing measures Figure 5 of the parallel-trace paper.
func (c *comparison) timing(ctx context.Context) ([]*table, error) {
	t := &table{
		id: "ppopp2003-f5", title: "PPoPP 2003, Figure 5: time to compress the addresses of each load and store, Sequitur alone and Diff∘RLE∘SEQ",
		notes: []string{
			"Accesses to shared memory, held in memory. Seconds for building the grammars of all threads and for the steps before them.",
			"The paper shows the figure as a drawing. Its text says for which programs Diff∘RLE∘SEQ was faster.",
		},
		head: []string{"kernel", "threads", "accesses", "SEQ s", "Diff∘RLE∘SEQ s", "times faster", "paper"},
	}
	for _, kernel := range c.kernels {
		for _, threads := range c.threads {
			c.progress(fmt.Sprintf("ppopp2003: Figure 5: %s, %d threads", kernel, threads))
			a, _, err := c.addressGrammars(ctx, kernel, threads)
			if err != nil {
				return nil, fmt.Errorf("%s, %d threads: %w", kernel, threads, err)
			}
			seq, runs := a.aloneTime.Seconds(), a.runsTime.Seconds()
			t.add(kernel, threads, a.accesses, seq, runs, seq/max(runs, 1e-6), publishedTiming[kernel])
		}
	}
	return []*table{t}, nil
}

// addressGrammars are the grammars of the addresses of loads and stores, in
// both ways.
type addressGrammars struct {
	aloneBytes           int64
	alone, runs          int // symbols
	aloneTime, runsTime  time.Duration
	accesses             uint64
	addrs                []uint64 // of the current load or store
	terms                map[uint64]wpp.Terminal
	runTerms             map[addressRun]wpp.Terminal
	builder, runsBuilder wpp.Builder
}

// addressRun is a terminal of Diff∘RLE: a difference, and how many times in a
// row.
type addressRun struct{ diff, count uint64 }

// thread adds the grammars of a thread, one load or store at a time.
func (a *addressGrammars) thread(t *cdr.Trace, th event.ThreadID) error {
	size := new(byteCount)
	z, _, err := codecs.EncodeZstd(size, &codecs.Options{})
	if err != nil {
		return err
	}
	for site := range t.NumSites() {
		form, err := a.site(t, th, format.SiteID(site))
		if err != nil {
			return err
		}
		if _, err := z.Write(form); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	a.aloneBytes += int64(*size)
	return nil
}

// site builds both grammars of a load or store and returns the binary form of
// the one over addresses, after its dictionary.
func (a *addressGrammars) site(t *cdr.Trace, th event.ThreadID, site format.SiteID) ([]byte, error) {
	a.addrs = a.addrs[:0]
	for addr, err := range t.Accesses(th, site) {
		if err != nil {
			return nil, err
		}
		a.addrs = append(a.addrs, addr)
	}
	if len(a.addrs) == 0 {
		return nil, nil
	}
	a.accesses += uint64(len(a.addrs))
	start := time.Now()
	form := a.whole()
	g := a.builder.Grammar()
	middle := time.Now()
	a.inRuns()
	a.aloneTime, a.runsTime = a.aloneTime+middle.Sub(start), a.runsTime+time.Since(middle)
	a.runs += a.runsBuilder.Symbols()
	a.alone += g.Symbols()
	return g.AppendBinary(form), nil
}

// whole builds the grammar over addresses and returns its dictionary.
func (a *addressGrammars) whole() (form []byte) {
	a.terms = map[uint64]wpp.Terminal{}
	a.builder.Reset()
	entry := uint64(0) // the last entry in the dictionary
	for _, addr := range a.addrs {
		term, ok := a.terms[addr]
		if !ok {
			term = wpp.Terminal(len(a.terms))
			a.terms[addr] = term
			form = binary.AppendVarint(form, int64(addr-entry))
			entry = addr
		}
		a.builder.Append(term)
	}
	return form
}

// inRuns builds the grammar over runs of differences.
func (a *addressGrammars) inRuns() {
	a.runTerms = map[addressRun]wpp.Terminal{}
	a.runsBuilder.Reset()
	var last uint64
	var run addressRun
	for _, addr := range a.addrs {
		if diff := addr - last; run.count > 0 && diff == run.diff {
			run.count++
		} else {
			a.endRun(run)
			run = addressRun{diff, 1}
		}
		last = addr
	}
	a.endRun(run)
}

func (a *addressGrammars) endRun(run addressRun) {
	if run.count == 0 {
		return
	}
	term, ok := a.runTerms[run]
	if !ok {
		term = wpp.Terminal(len(a.runTerms))
		a.runTerms[run] = term
	}
	a.runsBuilder.Append(term)
}
