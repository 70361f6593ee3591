package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/tracefmt/wire"
)

// mapShell is a shell in the form of a map.
type mapShell map[uint64]Block

func (s mapShell) Block(pc uint64) (Block, bool) {
	b, ok := s[pc]
	return b, ok
}

// randomShell returns a program of a few functions with a few blocks each. Function f
// begins at 1000·f, its blocks are 4 apart, and the last of them returns.
func randomShell(rng *rand.Rand) mapShell {
	s := mapShell{}
	funcs := uint64(1 + rng.IntN(6))
	for f := range funcs {
		n := uint64(1 + rng.IntN(12))
		block := func() uint64 { return 1000*f + 4*rng.Uint64N(n) }
		some := func(one func() uint64) []uint64 {
			var t []uint64
			for range rng.IntN(6) {
				t = append(t, one())
			}
			return t
		}
		callee := func() uint64 { return 1000 * rng.Uint64N(funcs) }
		for i := range n {
			pc := 1000*f + 4*i
			b := Block{Func: f}
			switch k := rng.IntN(12); {
			case i == n-1:
				b.Kind = Return
			case k < 5:
				b.Kind, b.Targets = Branch, []uint64{block(), pc + 4}
			case k < 7:
				b.Kind, b.Targets = Next, []uint64{pc + 4}
			case k == 7:
				b.Kind, b.Targets = Next, []uint64{block()}
			case k == 8:
				b.Kind, b.Targets = Indirect, some(block)
			case k == 9:
				b.Kind, b.Targets, b.Return = CallIndirect, some(callee), pc+4
			case k == 10:
				b.Kind, b.Targets, b.Return = Call, []uint64{callee()}, pc+4
			default:
				continue // unknown
			}
			s[pc] = b
		}
	}
	return s
}

// walk walks at random through a shell, and leaves it with a chance of wild in a
// thousand.
func walk(rng *rand.Rand, s mapShell, n, wild int) []uint64 {
	var pcs []uint64
	all := slices.Sorted(func(yield func(uint64) bool) {
		for pc := range s {
			if !yield(pc) || !yield(pc+2) {
				return
			}
		}
	})
	all = append(all, 7) // for an empty shell
	var stack []uint64
	pc := all[rng.IntN(len(all))]
	bias := rng.IntN(10)
	for len(pcs) < n {
		pcs = append(pcs, pc)
		b, ok := s[pc]
		next := all[rng.IntN(len(all))]
		switch {
		case !ok || rng.IntN(1000) < wild:
		case b.Kind == Next:
			next = b.Targets[0]
		case b.Kind == Branch && rng.IntN(10) < bias:
			next = b.Targets[0]
		case b.Kind == Branch:
			next = b.Targets[1]
		case b.Kind == Call:
			next = b.Targets[0]
			stack = append(stack, b.Return)
			if rng.IntN(4) == 0 { // the function is not recorded
				next = b.Return
				stack = stack[:len(stack)-1]
			}
		case b.Kind == Return && len(stack) > 0:
			i := len(stack) - 1
			if rng.IntN(50) == 0 { // a long jump
				i = rng.IntN(len(stack))
			}
			next = stack[i]
			stack = stack[:i]
		case len(b.Targets) > 0 && rng.IntN(20) > 0:
			next = b.Targets[rng.IntN(len(b.Targets))]
			if b.Kind == CallIndirect {
				stack = append(stack, b.Return)
			}
		}
		pc = next
	}
	return pcs
}

func randomOptions(rng *rand.Rand) Options {
	o := Options{
		Local: rng.IntN(6), Global: rng.IntN(6), Table: rng.IntN(5), Step: rng.IntN(40),
		Scheme: Scheme(rng.IntN(2)), Intraprocedural: rng.IntN(2) == 0, Loops: rng.IntN(2) == 0, Repeats: rng.IntN(3) == 0,
	}
	o.Repeats = o.Repeats && !o.Intraprocedural
	if rng.IntN(3) == 0 {
		o.Local, o.Table = None, None
	}
	if rng.IntN(3) == 0 {
		o.Limit = 16 + 2*max(o.Step, 1) + rng.IntN(100)
	}
	if rng.IntN(2) == 0 {
		o.Checkpoint = 1 + rng.IntN(400)
	}
	return o
}

func encode(t testing.TB, s Shell, o Options, pcs []uint64) ([]byte, Stats) {
	t.Helper()
	var out bytes.Buffer
	e, err := NewEncoder(&out, s, o)
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
	return out.Bytes(), e.Stats()
}

func collect(seq iter.Seq2[uint64, error]) (pcs []uint64, err error) {
	for pc, err := range seq {
		if err != nil {
			return pcs, err
		}
		pcs = append(pcs, pc)
	}
	return pcs, nil
}

func decode(s Shell, data []byte) ([]uint64, error) {
	d, err := NewDecoder(bytes.NewReader(data), s)
	if err != nil {
		return nil, err
	}
	return collect(d.Blocks())
}

// TestRoundTrip replays random walks through random programs, from the start and from
// each checkpoint.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, o := randomShell(rng), randomOptions(rng)
		pcs := walk(rng, s, rng.IntN(3000), []int{0, 2, 300}[seed%3])
		want := pcs
		if rng.IntN(2) == 0 {
			o.Functions = []uint64{uint64(rng.IntN(3)), uint64(rng.IntN(6))}
			want = nil
			for _, pc := range pcs {
				if b, ok := s[pc]; ok && slices.Contains(o.Functions, b.Func) {
					want = append(want, pc)
				}
			}
		}
		data, stats := encode(t, s, o, pcs)
		if stats.Bytes != int64(len(data)) || stats.Blocks != uint64(len(want)) {
			t.Errorf("seed %d: %+v of %d blocks in %d bytes", seed, stats, len(want), len(data))
		}
		got, err := decode(s, data)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("seed %d, %+v: %d blocks, want %d: %v", seed, o, len(got), len(want), err)
		}
		marks, err := Checkpoints(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if o.Checkpoint > 0 && len(want) > 0 && len(marks) != (len(want)-1)/o.Checkpoint {
			t.Errorf("seed %d: %d checkpoints in %d blocks, every %d", seed, len(marks), len(want), o.Checkpoint)
		}
		for _, c := range marks {
			d, err := NewDecoderAt(bytes.NewReader(data), int64(len(data)), s, c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := collect(d.Blocks())
			if err != nil || !slices.Equal(got, want[c.Blocks:]) {
				t.Fatalf("seed %d, from %+v: %d blocks, want %d: %v", seed, c, len(got), uint64(len(want))-c.Blocks, err)
			}
		}
	}
}

// TestLong exceeds the limits of a chunk: blocks, exceptions and code.
func TestLong(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	s := mapShell{0: {Kind: Branch, Targets: []uint64{0, 4}}, 4: {Kind: Branch, Targets: []uint64{0, 4}}}
	for name, next := range map[string]func(i int) uint64{
		"blocks":     func(i int) uint64 { return uint64(i/1000%2) * 4 },
		"random":     func(int) uint64 { return rng.Uint64N(2) * 4 },
		"exceptions": func(i int) uint64 { return uint64(i % 50000) },
	} {
		pcs := make([]uint64, 600_000)
		for i := range pcs {
			pcs[i] = next(i)
		}
		data, _ := encode(t, s, Options{}, pcs)
		got, err := decode(s, data)
		if err != nil || !slices.Equal(got, pcs) {
			t.Errorf("%s: %d blocks: %v", name, len(got), err)
		}
	}
}

// TestDeepRecursion exceeds the depth of the call stack that is kept.
func TestDeepRecursion(t *testing.T) {
	s := mapShell{
		0: {Kind: Branch, Targets: []uint64{4, 8}},
		4: {Kind: Call, Targets: []uint64{0}, Return: 8},
		8: {Kind: Return},
	}
	var pcs []uint64
	for range MaxDepth + 100 {
		pcs = append(pcs, 0, 4)
	}
	pcs = append(pcs, 0)
	for range MaxDepth + 100 {
		pcs = append(pcs, 8)
	}
	for _, o := range []Options{{}, {Intraprocedural: true, Checkpoint: 100_000}} {
		data, _ := encode(t, s, o, pcs)
		got, err := decode(s, data)
		if err != nil || !slices.Equal(got, pcs) {
			t.Errorf("%d blocks of %d: %v", len(got), len(pcs), err)
		}
	}
}

// TestImproved checks two things that take next to no space with the options beyond the
// paper's scheme, but not without them: ends of loops longer than the histories, and
// sequences that repeat.
func TestImproved(t *testing.T) {
	loop := mapShell{
		0: {Kind: Branch, Targets: []uint64{4, 8}},
		4: {Kind: Next, Targets: []uint64{0}},
		8: {Kind: Next, Targets: []uint64{0}},
	}
	var turns []uint64 // a triangular loop nest
	for n := range uint64(300) {
		for range n {
			turns = append(turns, 0, 4)
		}
		turns = append(turns, 0, 8)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	var again []uint64
	for range 2000 {
		again = append(again, 0, 4+4*rng.Uint64N(2))
	}
	for range 4 {
		again = append(again, again...)
	}
	for name, pcs := range map[string][]uint64{"loops": turns, "repeats": again} {
		paper, _ := encode(t, loop, Options{}, pcs)
		better, _ := encode(t, loop, Improved(), pcs)
		if len(better)*4 > len(paper) {
			t.Errorf("%s: %d bytes, %d in the paper's scheme", name, len(better), len(paper))
		}
		if got, err := decode(loop, better); err != nil || !slices.Equal(got, pcs) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCost checks that control flow takes space only for choices.
func TestCost(t *testing.T) {
	// A loop that calls by pointer, with one target, a function that is not
	// recorded, and one that is: after the first turn only the loop's branch
	// is a choice, and it always goes the same way.
	s := mapShell{
		0:   {Kind: CallIndirect, Return: 4},
		4:   {Kind: Call, Targets: []uint64{200}, Return: 8},
		8:   {Kind: Branch, Targets: []uint64{0, 12}},
		12:  {Kind: Return},
		100: {Kind: Next, Targets: []uint64{104}},
		104: {Kind: Return},
	}
	var pcs []uint64
	for range 1 << 14 {
		pcs = append(pcs, 0, 100, 104, 4, 8)
	}
	for _, scheme := range []Scheme{Symmetric, Asymmetric} {
		data, stats := encode(t, s, Options{Scheme: scheme}, pcs)
		// Two conditionals (the branch, and whether the call enters): with counters that
		// begin at 1, n directions take log2(n+1) bits for each context. Warming up the
		// histories adds a few contexts.
		if len(data) > 120 || stats.Exceptions != 3 {
			t.Errorf("%v: %d bytes, %+v", scheme, len(data), stats)
		}
	}
}

func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	s := randomShell(rng)
	pcs := walk(rng, s, 4000, 5)
	data, _ := encode(t, s, Options{Local: 3, Global: 3, Checkpoint: 1000}, pcs)
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 1 << rng.IntN(8)
		_, err := decode(s, bad)
		var e *wire.CorruptError
		if !errors.As(err, &e) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err = decode(s, data[:i]); !errors.Is(err, wire.ErrTruncated) {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if _, err = Checkpoints(bytes.NewReader(data[:i]), int64(i)); !errors.As(err, &e) {
			t.Fatalf("checkpoints, cut at %d: %v", i, err)
		}
	}
}

// TestOtherShell decodes with the control flow of another program. The result must be an
// error or other blocks, and nothing worse.
func TestOtherShell(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 9))
		s := randomShell(rng)
		data, _ := encode(t, s, Options{Local: 3, Global: 3, Checkpoint: 500}, walk(rng, s, 2000, 5))
		if _, err := decode(randomShell(rng), data); err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Local: 11, Global: 10}, {Local: -2}, {Table: 13, Local: 7, Global: 7}, {Table: -2}, {Repeats: true, Intraprocedural: true}, {Table: 17, Local: 1, Global: 1}, {Step: 256}, {Step: -1},
		{Limit: 17}, {Limit: 1 << 16}, {Scheme: 2}, {Functions: []uint64{}}, {Checkpoint: -1},
	} {
		if _, err := NewEncoder(io.Discard, mapShell{}, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

type full struct{ room int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	if f.room -= n; n < len(b) {
		return n, errFull
	}
	return n, nil
}

func TestWriteError(t *testing.T) {
	if _, err := NewEncoder(&full{3}, mapShell{}, Options{}); !errors.Is(err, errFull) {
		t.Errorf("header: %v", err)
	}
	e, err := NewEncoder(&full{30}, mapShell{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := e.Block(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
	if err := e.Block(1); !errors.Is(err, errFull) {
		t.Errorf("Block: %v", err)
	}
}

func TestClosed(t *testing.T) {
	var out bytes.Buffer
	e, _ := NewEncoder(&out, mapShell{}, Options{})
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := e.Block(1); err == nil {
		t.Error("a block behind the end")
	}
	if got, err := decode(mapShell{}, out.Bytes()); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzDecoder(f *testing.F) {
	s := randomShell(rand.New(rand.NewPCG(8, 8)))
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 2))
		data, _ := encode(f, s, Options{Local: 2, Global: 2, Checkpoint: 60, Scheme: Scheme(seed % 2), Intraprocedural: seed > 1}, walk(rng, s, 200, 10))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, sealed(data)} {
			pcs, err := decode(s, data)
			if err == nil {
				if len(pcs) > 0 && len(data) < 20 {
					t.Errorf("%d blocks out of %d bytes", len(pcs), len(data))
				}
				continue
			}
			var e *wire.CorruptError
			if !errors.As(err, &e) {
				t.Errorf("%v is no *wire.CorruptError", err)
			}
			marks, err := Checkpoints(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				continue
			}
			for _, c := range marks[:min(4, len(marks))] {
				if d, err := NewDecoderAt(bytes.NewReader(data), int64(len(data)), s, c); err == nil {
					_, _ = collect(d.Blocks())
				}
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(1), uint64(2), []byte{0, 1, 2, 3})
	f.Add(uint64(3), uint64(2), []byte{9, 9, 9, 4, 2, 250, 9, 9})
	f.Fuzz(func(t *testing.T, shell, opts uint64, path []byte) {
		s := randomShell(rand.New(rand.NewPCG(shell, 0)))
		o := randomOptions(rand.New(rand.NewPCG(opts, 0)))
		pcs := make([]uint64, 0, len(path))
		for _, b := range path {
			pc := uint64(b)
			if last, ok := s[pc]; ok && b%3 == 0 && len(last.Targets) > 0 {
				pc = last.Targets[0]
			}
			pcs = append(pcs, pc)
		}
		data, _ := encode(t, s, o, pcs)
		if got, err := decode(s, data); err != nil || !slices.Equal(got, pcs) {
			t.Fatalf("%v, want %v: %v", got, pcs, err)
		}
	})
}

func ExampleEncoder() {
	// Figure 2 of the paper: while (read_bit()) { if (read_bit()) { } }
	shell := mapShell{
		0x10: {Kind: Branch, Targets: []uint64{0x14, 0x20}}, // while
		0x14: {Kind: Branch, Targets: []uint64{0x18, 0x1c}}, // if
		0x18: {Kind: Next, Targets: []uint64{0x1c}},         // print
		0x1c: {Kind: Next, Targets: []uint64{0x10}},
		0x20: {Kind: Return},
	}
	var stream bytes.Buffer
	enc, _ := NewEncoder(&stream, shell, Options{})
	for _, pc := range []uint64{0x10, 0x14, 0x18, 0x1c, 0x10, 0x14, 0x1c, 0x10, 0x20} {
		if err := enc.Block(pc); err != nil {
			fmt.Println(err)
		}
	}
	if err := enc.Close(); err != nil {
		fmt.Println(err)
	}
	dec, _ := NewDecoder(&stream, shell)
	for pc, err := range dec.Blocks() {
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%x ", pc)
	}
	fmt.Println(enc.Stats().Branches)
	// Output: 10 14 18 1c 10 14 1c 10 20 5
}
