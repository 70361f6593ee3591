package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/cmd/internal/shell"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/tracefmt/app"
	"hindsight/wpp/cfg"
)

// recorded is a run of an example: its control flow as CDR, and as blocks.
type recorded struct {
	trace   *cdr.Trace
	program *cfg.Program
	threads [][]uint64 // the blocks that each thread ran
	blocks  int
}

// record runs an example.
func record(t testing.TB, name string, args []string) *recorded {
	t.Helper()
	img := cross.Image(t, name)
	r := &recorded{program: cfg.New(img)}
	var out bytes.Buffer
	rec, err := recorder.New(&out, recorder.Options{Program: r.program, Meta: format.Meta{Mode: format.ModeCOR}})
	if err != nil {
		t.Fatal(err)
	}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{
		Image: img, Args: append([]string{name}, args...), Seed: 3, Policy: mpsim.Random,
		Observer: rec, Hooks: hooks, HookAt: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r.trace, err = cdr.OpenReaderAt(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
		t.Fatal(err)
	}
	for _, th := range r.trace.Threads() {
		var pcs []uint64
		for pc, err := range r.trace.Blocks(th.ID) {
			if err != nil {
				t.Fatal(err)
			}
			pcs = append(pcs, pc)
		}
		r.threads, r.blocks = append(r.threads, pcs), r.blocks+len(pcs)
	}
	return r
}

// encode returns a thread's stream.
func encode(t testing.TB, w io.Writer, s app.Shell, o app.Options, pcs []uint64) app.Stats {
	t.Helper()
	e, err := app.NewEncoder(w, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, pc := range pcs {
		if err := e.Block(pc); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return e.Stats()
}

// sameBlocks replays a stream and compares the blocks.
func sameBlocks(t testing.TB, d *app.Decoder, err error, want []uint64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for {
		pc, err := d.Next()
		switch {
		case errors.Is(err, io.EOF) && len(want) == 0:
			return
		case err != nil || len(want) == 0 || pc != want[0]:
			t.Fatalf("%#x, %v with %d blocks to come", pc, err, len(want))
		}
		want = want[1:]
	}
}

// TestPlayback replays the control flow of real threads, which must be exact.
func TestPlayback(t *testing.T) {
	names := []string{"bank", "lu", "water", "mp3d"}
	if !cross.Long() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p, ok := examples.Lookup(name)
			if !ok {
				t.Fatalf("no example %s", name)
			}
			r := record(t, name, p.Args)
			s := shell.New(r.program)
			for _, o := range []app.Options{
				{Checkpoint: 50_000},
				{Scheme: app.Asymmetric},
				{Intraprocedural: true, Step: 16},
				app.Improved(),
			} {
				for _, pcs := range r.threads {
					var out bytes.Buffer
					stats := encode(t, &out, s, o, pcs)
					if stats.Exceptions > uint64(100+len(pcs)/100) {
						t.Errorf("%d exceptions in %d blocks: the shell is not that of the run", stats.Exceptions, len(pcs))
					}
					d, err := app.NewDecoder(bytes.NewReader(out.Bytes()), s)
					sameBlocks(t, d, err, pcs)
					in, size := bytes.NewReader(out.Bytes()), int64(out.Len())
					marks, err := app.Checkpoints(in, size)
					if err != nil {
						t.Fatal(err)
					}
					if len(marks) > 0 {
						c := marks[len(marks)/2]
						d, err := app.NewDecoderAt(in, size, s, c)
						sameBlocks(t, d, err, pcs[c.Blocks:])
					}
				}
			}
		})
	}
}

// TestChosenFunctions records one function of a program. The replay must return the
// blocks of that function.
func TestChosenFunctions(t *testing.T) {
	p, _ := examples.Lookup("bank")
	r := record(t, "bank", p.Args)
	s := shell.New(r.program)
	for _, pcs := range r.threads {
		ran := map[uint64]int{} // blocks by function
		for _, pc := range pcs {
			if f := r.program.FuncAt(pc); f != nil {
				ran[f.Start]++
			}
		}
		for fn, n := range ran {
			if n < 100 {
				continue
			}
			var want []uint64
			for _, pc := range pcs {
				if b, ok := s.Block(pc); ok && b.Func == fn {
					want = append(want, pc)
				}
			}
			var out bytes.Buffer
			encode(t, &out, s, app.Options{Functions: []uint64{fn}, Intraprocedural: true}, pcs)
			d, err := app.NewDecoder(&out, s)
			sameBlocks(t, d, err, slices.Clip(want))
		}
	}
}

// paperArgs returns the arguments of an example for measurements: the papers' input with
// 4 threads, or the default.
func paperArgs(t testing.TB, name string) []string {
	t.Helper()
	p, ok := examples.Lookup(name)
	if !ok {
		t.Fatalf("no example %s", name)
	}
	if p.PaperArgs == nil {
		return p.Args
	}
	return append(slices.Clone(p.PaperArgs), "-p", "4")
}

// BenchmarkAPP records the control flow of kernels with 4 threads as arithmetic program
// paths and replays it. It reports bits per branch and the compression of the branch
// bits, the size relative to the control blocks of the same run as CDR, and million
// blocks per second in each direction.
func BenchmarkAPP(b *testing.B) {
	checkpoints := app.Improved()
	checkpoints.Checkpoint = 1 << 18
	profiles := []struct {
		name string
		opts app.Options
	}{
		{"paper", app.Options{}},
		{"intraprocedural", app.Options{Intraprocedural: true}},
		{"asymmetric", app.Options{Scheme: app.Asymmetric}},
		{"step=16", app.Options{Step: 16}},
		{"loops", app.Options{Step: 16, Loops: true}},
		{"repeats", app.Options{Step: 16, Repeats: true}},
		{"improved", app.Improved()},
		{"checkpoints", checkpoints},
	}
	for _, name := range []string{"fft", "lu", "mp3d", "water", "sor", "bank"} {
		b.Run("program="+name, func(b *testing.B) {
			r := record(b, name, paperArgs(b, name))
			s := shell.New(r.program)
			for _, profile := range profiles {
				b.Run("profile="+profile.name, func(b *testing.B) { r.bench(b, s, profile.opts) })
			}
		})
	}
}

func (r *recorded) bench(b *testing.B, s app.Shell, o app.Options) {
	var size, branches int
	var there, back time.Duration
	for b.Loop() {
		size, branches = 0, 0
		for _, pcs := range r.threads {
			var out bytes.Buffer
			begin := time.Now()
			stats := encode(b, &out, s, o, pcs)
			there += time.Since(begin)
			size, branches = size+out.Len(), branches+int(stats.Branches)
			begin = time.Now()
			d, err := app.NewDecoder(&out, s)
			sameBlocks(b, d, err, pcs)
			back += time.Since(begin)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(8*float64(size)/float64(branches), "bits/branch")
	b.ReportMetric(float64(branches)/8/float64(size), "ratio")
	b.ReportMetric(float64(size)/float64(r.trace.Sizes().Control), "app/cdr")
	b.ReportMetric(float64(size), "bytes")
	b.ReportMetric(float64(r.blocks*b.N)/1e6/there.Seconds(), "Mblocks/s-enc")
	b.ReportMetric(float64(r.blocks*b.N)/1e6/back.Seconds(), "Mblocks/s-dec")
}
