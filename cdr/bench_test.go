package cdr

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/internal/madeup"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// kernel returns a run of loops like those of numeric code: nested, with strided and with
// irregular addresses.
func kernel(blocks int) ([]event.Block, []event.Batch, int) {
	site := func(pc uint64, a event.Access) event.Site { return event.Site{PC: pc, Size: 8, Access: a} }
	defs := []event.Block{
		{ID: 0, PC: 0x1000, Bytes: 16, Insts: 4, End: event.EndFall},
		{ID: 1, PC: 0x1010, Bytes: 24, Insts: 6, End: event.EndBranch, Sites: []event.Site{site(0x1014, event.Read), site(0x1018, event.Read)}},
		{ID: 2, PC: 0x1028, Bytes: 16, Insts: 4, End: event.EndFall, Sites: []event.Site{site(0x102c, event.Read)}},
		{ID: 3, PC: 0x1038, Bytes: 20, Insts: 5, End: event.EndBranch, Sites: []event.Site{site(0x103c, event.Write)}},
		{ID: 4, PC: 0x104c, Bytes: 12, Insts: 3, End: event.EndCall},
		{ID: 5, PC: 0x1058, Bytes: 12, Insts: 3, End: event.EndJump},
		{ID: 6, PC: 0x2000, Bytes: 12, Insts: 3, End: event.EndReturn, Sites: []event.Site{site(0x2004, event.Write)}},
	}
	var batches []event.Batch
	x, n, addrs := uint64(88172645463325252), 0, 0
	for row := uint64(0); n < blocks; row++ {
		b := event.Batch{}
		b.Blocks = append(b.Blocks, 0)
		for col := range uint64(200) {
			b.Blocks = append(b.Blocks, 1)
			b.Addrs = append(b.Addrs, 0x100000+row*4096+col*8, 0x900000+col*4096)
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			if row%8 == 0 && x&3 == 0 {
				b.Blocks = append(b.Blocks, 2)
				b.Addrs = append(b.Addrs, 0x500000+x>>50*8)
			}
			b.Blocks = append(b.Blocks, 3)
			b.Addrs = append(b.Addrs, 0x100000+row*4096+col*8)
		}
		b.Blocks = append(b.Blocks, 4, 6, 5)
		b.Addrs = append(b.Addrs, 0x7000)
		n += len(b.Blocks)
		addrs += len(b.Addrs)
		batches = append(batches, b)
	}
	return defs, batches, addrs
}

// kernelFlow returns the control flow of kernel's program.
func kernelFlow(defs []event.Block) format.Program {
	f := madeup.New()
	f.AddGraph(cfg.Graph{{1}, {2, 3}, {3}, {1, 4}, {5}, {0}, {}}, defs)
	return f
}

func BenchmarkRecorder(b *testing.B) {
	const blocks = 2_000_000
	defs, batches, addrs := kernel(blocks)
	flow := kernelFlow(defs)
	for _, mode := range []format.Mode{format.ModeCOR, format.ModeCDR} {
		for _, alphabet := range []format.Alphabet{format.AlphabetPath, format.AlphabetBlock} {
			b.Run(fmt.Sprintf("record=%s/alphabet=%s", mode, alphabet), func(b *testing.B) {
				size := int64(0)
				for b.Loop() {
					r, err := recorder.New(io.Discard, recorder.Options{Program: flow, Meta: format.Meta{Mode: mode, Alphabet: alphabet}})
					if err != nil {
						b.Fatal(err)
					}
					if err := r.Define(defs); err != nil {
						b.Fatal(err)
					}
					for i := range batches {
						if err := r.Batch(&batches[i]); err != nil {
							b.Fatal(err)
						}
					}
					if err := r.Finish(event.Outcome{}); err != nil {
						b.Fatal(err)
					}
					size = r.Size()
				}
				n := 0
				for i := range batches {
					n += len(batches[i].Blocks)
				}
				b.ReportMetric(float64(n)*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mblocks/s")
				b.ReportMetric(float64(addrs)*float64(b.N)/1e6/b.Elapsed().Seconds(), "Maddrs/s")
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

// BenchmarkRandom records the worst case, in which nothing repeats.
func BenchmarkRandom(b *testing.B) {
	s := newSynthetic(1, 4)
	s.run(300_000)
	addrs := 0
	for i := range s.batches {
		addrs += len(s.batches[i].Addrs)
	}
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		r, err := recorder.New(&out, recorder.Options{Program: s.flow})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Define(s.blocks); err != nil {
			b.Fatal(err)
		}
		for i := range s.batches {
			if err := r.Batch(&s.batches[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Finish(event.Outcome{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0.3*float64(b.N)/b.Elapsed().Seconds(), "Mblocks/s")
	b.ReportMetric(float64(addrs)*float64(b.N)/1e6/b.Elapsed().Seconds(), "Maddrs/s")
	b.ReportMetric(float64(out.Len()), "bytes")
}
