package cdr_test

import (
	"io"
	"slices"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// tape holds a run in memory, to be replayed to recorders.
type tape struct {
	parts   []tapePart
	outcome event.Outcome
	blocks  uint64
}

type tapePart struct {
	define []event.Block
	batch  event.Batch
}

func (l *tape) Define(b []event.Block) error {
	l.parts = append(l.parts, tapePart{define: slices.Clone(b)})
	return nil
}

func (l *tape) Batch(b *event.Batch) error {
	c := *b
	c.Blocks, c.Addrs, c.Events = slices.Clone(b.Blocks), slices.Clone(b.Addrs), slices.Clone(b.Events)
	l.parts = append(l.parts, tapePart{batch: c})
	l.blocks += uint64(len(b.Blocks))
	return nil
}

func (l *tape) Finish(o event.Outcome) error {
	l.outcome = o
	return nil
}

func (l *tape) play(b *testing.B, o event.Observer) {
	b.Helper()
	for i := range l.parts {
		p := &l.parts[i]
		var err error
		if p.define != nil {
			err = o.Define(p.define)
		} else {
			err = o.Batch(&p.batch)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := o.Finish(l.outcome); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReplay records real programs from memory. It reports millions of blocks of the
// simulator per second, and the size of the trace.
func BenchmarkReplay(b *testing.B) {
	for _, j := range []struct {
		name string
		args []string
	}{{"lu", []string{"-n", "128", "-p", "4"}}, {"mp3d", []string{"-m", "5000", "-s", "3", "-p", "4"}}} {
		img := exampleImage(b, j.name)
		var l tape
		simulate(b, j.name, j.args, img, &l)
		for _, mode := range []format.Mode{format.ModeCOR, format.ModeCDR} {
			b.Run("program="+j.name+"/record="+string(mode), func(b *testing.B) {
				size := int64(0)
				for b.Loop() {
					r, err := recorder.New(io.Discard, recorder.Options{Program: cfg.New(img), Meta: format.Meta{Mode: mode}})
					if err != nil {
						b.Fatal(err)
					}
					l.play(b, r)
					size = r.Size()
				}
				b.ReportMetric(float64(l.blocks)*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mblocks/s")
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}
