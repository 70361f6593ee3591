package race

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// doubled returns the binary form of a grammar that repeats the terminals up to n 2^times
// times.
func doubled(t *testing.T, times, n int) []byte {
	t.Helper()
	body := make([]wpp.Symbol, n)
	for i := range body {
		body[i] = wpp.TerminalSymbol(wpp.Terminal(i))
	}
	if n == 1 {
		body = append(body, body[0])
		times--
	}
	rules := [][]wpp.Symbol{body}
	for i := range times {
		rules = append(rules, []wpp.Symbol{wpp.RuleSymbol(wpp.Rule(i)), wpp.RuleSymbol(wpp.Rule(i))})
	}
	g, err := wpp.NewGrammar(rules, wpp.Rule(times))
	if err != nil {
		t.Fatal(err)
	}
	return g.AppendBinary(nil)
}

// explosive returns the trace of threads that each execute one site len(diffs) * 2^times
// + 1 times, from address first on, with the differences diffs repeated.
func explosive(t *testing.T, threads, times int, diffs ...int64) (*cdr.Trace, error) {
	t.Helper()
	f := newFake(threads)
	w := f.site(0x10, 8, event.Write)
	for th := range event.ThreadID(threads) {
		f.run(th, w, 0x1000, 8, 3)
	}
	var out bytes.Buffer
	writer, err := tracefmt.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	file := f.file(t, 0)
	r, err := tracefmt.NewReader(bytes.NewReader(file), int64(len(file)), tracefmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(len(diffs))<<times + 1
	for _, h := range r.Blocks() {
		payload, err := r.Read(h)
		if err != nil {
			t.Fatal(err)
		}
		switch h.Kind {
		case tracefmt.KindControl:
			// No frames and one term, a path with its number; that path is run
			// more than once in what is read, and once in what is written.
			_, k := binary.Varint(payload[3:])
			payload = append(append([]byte{0, 1, 0}, payload[3:3+k]...), pathString(t, times, len(diffs))...)
		case tracefmt.KindData:
			dict := binary.AppendUvarint(nil, uint64(len(diffs)))
			for range diffs {
				dict = binary.AppendUvarint(dict, 1<<1)
			}
			for _, d := range diffs {
				dict = binary.AppendVarint(dict, d)
			}
			dict = append(dict, 1, 0)                // one stream, of site 0
			dict = binary.AppendVarint(dict, 0x1000) // from here on
			payload = append(append(dict, 0, 0), doubled(t, times, len(diffs))...)
		case tracefmt.KindCommit:
			payload = binary.AppendUvarint(nil, uint64(threads))
			for th := range uint64(threads) {
				for _, v := range []uint64{th, n, n, n, n, 0} {
					payload = binary.AppendUvarint(payload, v)
				}
			}
			if err := writer.Commit(payload); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := writer.Append(h.Kind, h.Thread, payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return cdr.OpenReaderAt(bytes.NewReader(out.Bytes()), int64(out.Len()))
}

// pathString returns a control string that executes terminal 0 n * 2^times + 1 times.
func pathString(t *testing.T, times, n int) []byte {
	t.Helper()
	one := wpp.TerminalSymbol(0)
	body := []wpp.Symbol{one, one}
	for len(body) < n {
		body = append(body, one)
	}
	if n == 1 {
		times--
	}
	rules := [][]wpp.Symbol{body}
	for i := range times {
		rules = append(rules, []wpp.Symbol{wpp.RuleSymbol(wpp.Rule(i)), wpp.RuleSymbol(wpp.Rule(i))})
	}
	rules = append(rules, []wpp.Symbol{wpp.RuleSymbol(wpp.Rule(times)), one})
	g, err := wpp.NewGrammar(rules, wpp.Rule(times+1))
	if err != nil {
		t.Fatal(err)
	}
	return g.AppendBinary(nil)
}

// TestExplosiveTraces analyses traces that cannot be expanded: a few hundred bytes of
// grammars for 2^40 accesses and more. If such a trace touches little memory, the races
// are counted exactly. If it touches too much, it is rejected.
func TestExplosiveTraces(t *testing.T) {
	race := func(workers, times int, diffs ...int64) (*Result, error) {
		trace, err := explosive(t, 2, times, diffs...)
		if err != nil {
			return nil, err
		}
		return Analyze(context.Background(), replay.FromTrace(trace), Options{Workers: workers})
	}
	// Back and forth: 8 more and 8 less, from 0x1000 on. Both of the last two accesses
	// are to 0x1000, and there are too many pairs to count.
	const n = uint64(1) << 40
	for _, workers := range []int{1, 3} {
		res, err := race(workers, 40, 8, -8)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Races) != 1 || res.Dynamic() != 1<<64-1 || res.Stats.Groups > 100 {
			t.Fatalf("to and fro: %d races, %d pairs, %d groups", len(res.Races), res.Dynamic(), res.Stats.Groups)
		}
		if last := res.Races[0].Last; last.Later.Ordinal != 2*n || last.Earlier.Ordinal != 2*n || last.Address != 0x1000 {
			t.Errorf("to and fro: last instance %+v", last)
		}
	}
	// The same, with a number of pairs that can be counted.
	res, err := race(2, 20, 8, -8)
	if err != nil {
		t.Fatal(err)
	}
	const m = uint64(1) << 20
	if want := (m+1)*(m+1) + m*m; res.Dynamic() != want {
		t.Errorf("%d pairs, want %d", res.Dynamic(), want)
	}
	// Always forward, in steps of a word and of a gigabyte.
	for _, diff := range []int64{8, 1 << 30} {
		if _, err := race(2, 45, diff); !errors.Is(err, ErrLimit) {
			t.Errorf("steps of %d: %v", diff, err)
		}
	}
	// More than a trace may have.
	if _, err := race(2, 60, 8, -8); !errors.Is(err, tracefmt.ErrMalformed) && !errors.Is(err, tracefmt.ErrTooLarge) {
		t.Errorf("doubled 60 times: %v", err)
	}
}
