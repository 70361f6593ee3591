package std

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// pair is two locations that race, the lower one first.
type pair [2]uint64

// naive is a detector of happens-before races in STD text. It has vector clocks and, for
// each variable, every access to it. It does not use traces.
type naive struct {
	clocks map[string]map[string]int
	locks  map[string]map[string]int
	seen   map[string][]naiveAccess
	last   map[string]map[naiveKey]int // accesses of a thread at one place and time are the same
	pairs  map[pair]bool
	lines  int
}

type naiveAccess struct {
	thread   string
	time     int
	write    bool
	location uint64
}

type naiveKey struct {
	thread   string
	location uint64
	write    bool
}

func detect(t *testing.T, text []byte) *naive {
	t.Helper()
	n := &naive{clocks: map[string]map[string]int{}, locks: map[string]map[string]int{}, seen: map[string][]naiveAccess{},
		last: map[string]map[naiveKey]int{}, pairs: map[pair]bool{}}
	owner := map[string]string{}
	for row := range bytes.Lines(text) {
		n.lines++
		l, err := ParseLine(bytes.TrimSuffix(row, []byte("\n")))
		if err != nil {
			t.Fatalf("line %d %q: %v", n.lines, row, err)
		}
		thread, operand := string(l.Thread), string(l.Operand)
		c := n.clock(thread)
		switch l.Op {
		case Acquire:
			if o, held := owner[operand]; held {
				t.Fatalf("line %d: %s takes lock %s, which %s holds", n.lines, thread, operand, o)
			}
			owner[operand] = thread
			merge(c, n.locks[operand])
		case Release:
			if owner[operand] != thread {
				t.Fatalf("line %d: %s gives lock %s back, which %s holds", n.lines, thread, operand, owner[operand])
			}
			delete(owner, operand)
			n.locks[operand] = maps.Clone(c)
			c[thread]++
		case Fork:
			merge(n.clock(operand), c)
			c[thread]++
		case Join:
			merge(c, n.clock(operand))
		default:
			n.access(c, thread, operand, &l)
		}
	}
	return n
}

func (n *naive) clock(thread string) map[string]int {
	if n.clocks[thread] == nil {
		n.clocks[thread] = map[string]int{thread: 1}
	}
	return n.clocks[thread]
}

func merge(c, d map[string]int) {
	for t, v := range d {
		c[t] = max(c[t], v)
	}
}

func (n *naive) access(c map[string]int, thread, variable string, l *Line) {
	a := naiveAccess{thread, c[thread], l.Op == Write, l.Location}
	for _, b := range n.seen[variable] {
		if b.thread != thread && (a.write || b.write) && b.time > c[b.thread] {
			n.pairs[pair{min(a.location, b.location), max(a.location, b.location)}] = true
		}
	}
	key := naiveKey{thread, l.Location, a.write}
	if n.last[variable] == nil {
		n.last[variable] = map[naiveKey]int{}
	}
	if n.last[variable][key] != a.time {
		n.last[variable][key] = a.time
		n.seen[variable] = append(n.seen[variable], a)
	}
}

// ours returns the pairs of locations that the analysis of a trace finds.
func ours(t *testing.T, tr *cdr.Trace, img *image.Space) map[pair]bool {
	t.Helper()
	var opts race.Options
	if img != nil {
		opts.Program, opts.TLSSize = img, img.TLSSize()
	}
	res, err := race.Analyze(context.Background(), replay.FromTrace(tr), opts)
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[pair]bool{}
	for _, r := range res.Races {
		a, b := r.First.Later.PC, r.First.Earlier.PC
		pairs[pair{min(a, b), max(a, b)}] = true
	}
	return pairs
}

// counts returns how often each of these pairs races.
func counts(t *testing.T, tr *cdr.Trace, img *image.Space) map[pair]uint64 {
	t.Helper()
	var opts race.Options
	if img != nil {
		opts.Program, opts.TLSSize = img, img.TLSSize()
	}
	res, err := race.Analyze(context.Background(), replay.FromTrace(tr), opts)
	if err != nil {
		t.Fatal(err)
	}
	return countsOf(res)
}

func countsOf(res *race.Result) map[pair]uint64 {
	all := map[pair]uint64{}
	for _, r := range res.Races {
		a, b := r.First.Later.PC, r.First.Earlier.PC
		all[pair{min(a, b), max(a, b)}] += r.Dynamic
	}
	return all
}

func same(t *testing.T, what string, got, want map[pair]bool) {
	t.Helper()
	for p := range got {
		if !want[p] {
			t.Errorf("%s: %#x races with %#x, which they should not", what, p[0], p[1])
		}
	}
	for p := range want {
		if !got[p] {
			t.Errorf("%s: the race of %#x with %#x is missing", what, p[0], p[1])
		}
	}
}

func record(t *testing.T, name string, seed uint64) (*cdr.Trace, *image.Space) {
	t.Helper()
	p, ok := examples.Lookup(name)
	if !ok {
		t.Fatalf("no example %q", name)
	}
	img := cross.Image(t, name)
	var out bytes.Buffer
	r, err := recorder.New(&out, recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{Image: img, Args: append([]string{name}, p.Args...), Seed: seed, Policy: mpsim.Random,
		Stdout: io.Discard, Stderr: io.Discard, Observer: r, Hooks: hooks, HookAt: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return open(t, out.Bytes()), img
}

func open(t *testing.T, file []byte) *cdr.Trace {
	t.Helper()
	tr, err := cdr.OpenReaderAt(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func imported(t *testing.T, text []byte) (*cdr.Trace, *Names) {
	t.Helper()
	var out bytes.Buffer
	r, err := recorder.New(&out, recorder.Options{Meta: format.Meta{Alphabet: format.AlphabetBlock}})
	if err != nil {
		t.Fatal(err)
	}
	names := &Names{}
	if err := Import(context.Background(), bytes.NewReader(text), r, names); err != nil {
		t.Fatal(err)
	}
	return open(t, out.Bytes()), names
}

// gallery are examples that are small enough for the naive detector.
func gallery(t *testing.T) (names []string) {
	for _, p := range examples.Programs() {
		if strings.HasPrefix(p.Name, "race_") || strings.HasPrefix(p.Name, "norace_") || strings.HasPrefix(p.Name, "fig") || p.Name == "bank" {
			names = append(names, p.Name)
		}
	}
	if len(names) < 40 {
		t.Fatalf("only %d examples", len(names))
	}
	return names
}

// TestExport exports runs, finds the races of the text with an independent detector,
// reads the text back into a trace, and finds the races again.
func TestExport(t *testing.T) {
	racy := 0
	for _, name := range gallery(t) {
		t.Run(name, func(t *testing.T) {
			tr, img := record(t, name, 3)
			var text bytes.Buffer
			stats, err := Export(context.Background(), &text, tr, Options{Program: img, TLSSize: img.TLSSize()})
			if err != nil {
				t.Fatal(err)
			}
			want := ours(t, tr, img)
			if len(want) > 0 {
				racy++
			}
			n := detect(t, text.Bytes())
			same(t, "export", n.pairs, want)
			back, _ := imported(t, text.Bytes())
			same(t, "import", ours(t, back, nil), want)
			if got, want := counts(t, back, nil), counts(t, tr, img); !maps.Equal(got, want) {
				t.Errorf("counts of an import %v, want %v", got, want)
			}
			if uint64(n.lines) != stats.Lines {
				t.Errorf("%d lines, said to be %d", n.lines, stats.Lines)
			}
			t.Logf("%+v, %d pairs", stats, len(want))
		})
	}
	if racy < 15 {
		t.Errorf("only %d of the examples raced", racy)
	}
}

// randomText returns a text of threads that lock, fork, join and access at random.
func randomText(rng *rand.Rand, n int) []byte {
	var out []byte
	state := make([]int, 2+rng.IntN(5)) // 0 not born, 1 alive, 2 joined
	state[0] = 1
	owner := map[int]int{}
	emit := func(t int, op Op, operand string, loc int) {
		l := Line{Thread: fmt.Appendf(nil, "thread-%d", t), Op: op, Operand: []byte(operand), Location: uint64(loc)}
		out = l.Append(out)
	}
	for range n {
		t, loc := rng.IntN(len(state)), rng.IntN(12)
		if state[t] != 1 {
			continue
		}
		switch other, lock := rng.IntN(len(state)), rng.IntN(3); rng.IntN(8) {
		case 0:
			if state[other] == 0 {
				state[other] = 1
				emit(t, Fork, fmt.Sprintf("thread-%d", other), loc)
			}
		case 1:
			holds := false
			for _, o := range owner {
				holds = holds || o == other
			}
			if other != t && other != 0 && state[other] != 0 && !holds && rng.IntN(3) == 0 {
				state[other] = 2
				emit(t, Join, fmt.Sprintf("thread-%d", other), loc)
			}
		case 2, 3:
			if o, held := owner[lock]; !held {
				owner[lock] = t
				emit(t, Acquire, fmt.Sprintf("lock%d", lock), loc)
			} else if o == t {
				delete(owner, lock)
				emit(t, Release, fmt.Sprintf("lock%d", lock), loc)
			}
		default:
			emit(t, Op(rng.IntN(2)), fmt.Sprintf("x.%d", rng.IntN(4)), loc)
		}
	}
	return out
}

// TestImport imports random texts, compares the races, exports the trace, and compares
// again.
func TestImport(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		text := randomText(rand.New(rand.NewPCG(seed, 1)), 150)
		want := detect(t, text).pairs
		found += len(want)
		tr, names := imported(t, text)
		if err := tr.Verify(); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("seed %d: import", seed), ours(t, tr, nil), want)
		for i, name := range names.Variables {
			if got, start, ok := names.Variable(firstVariable + 8*uint64(i) + 3); !ok || got != name || start != firstVariable+8*uint64(i) {
				t.Errorf("variable %d: %q at %#x", i, got, start)
			}
		}
		var read Names
		for _, part := range names.Encode() {
			if err := read.Add(part); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(read.Threads, names.Threads) || !slices.Equal(read.Variables, names.Variables) || !slices.Equal(read.Locks, names.Locks) {
			t.Errorf("names %+v became %+v", names, read)
		}
		var back bytes.Buffer
		stats, err := Export(context.Background(), &back, tr, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if stats.Messages != 0 {
			t.Errorf("seed %d: %d messages for nothing but locks, forks and joins", seed, stats.Messages)
		}
		same(t, fmt.Sprintf("seed %d: export", seed), detect(t, back.Bytes()).pairs, want)
		if a, b := perThread(t, text), perThread(t, back.Bytes()); !slices.Equal(a, b) {
			t.Errorf("seed %d: what each thread did has changed:\n%q\n%q", seed, a, b)
		}
	}
	if found < 500 {
		t.Errorf("only %d races in all texts", found)
	}
}

// perThread returns what each thread did, in order, without names.
func perThread(t *testing.T, text []byte) []string {
	t.Helper()
	var order []string
	did := map[string]string{}
	for row := range bytes.Lines(text) {
		l, err := ParseLine(bytes.TrimSuffix(row, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := did[string(l.Thread)]; !ok {
			order = append(order, string(l.Thread))
		}
		did[string(l.Thread)] += fmt.Sprintf("%v@%d ", l.Op, l.Location)
	}
	var all []string
	for _, name := range order {
		all = append(all, did[name])
	}
	slices.Sort(all)
	return all
}

func TestBadText(t *testing.T) {
	for text, want := range map[string]string{
		"T0|r(x)":                      "line 1: ",
		"T0|r(x)|1|2":                  "line 1: ",
		"T0|r(x)|-1":                   "line 1: ",
		"T0|rw(x)|1":                   "no operation",
		"T0|r(x|1":                     "op(operand)",
		"T0|r()|1":                     "op(operand)",
		"|r(x)|1":                      "thread",
		"# a comment":                  "line 1: ",
		"T0|w(x)|1\nT0|w(x)|x":         "line 2: ",
		"T0|acq(l)|1\nT1|acq(l)|1":     "while thread T0 holds it",
		"T0|rel(l)|1":                  "does not hold",
		"T0|fork(T0)|1":                "itself",
		"T0|fork(T1)|1\nT0|fork(T1)|1": "after it has started",
		"T0|fork(T1)|1\nT0|join(T1)|1\nT1|r(x)|1": "after it was joined",
		strings.Repeat("x", 5000):                 "too long",
	} {
		err := Import(context.Background(), strings.NewReader(text), discard{}, &Names{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q in it", text, err, want)
		}
		if err != nil && strings.Contains(want, "line") && !errors.Is(err, ErrSyntax) {
			t.Errorf("%.40q: %v is no ErrSyntax", text, err)
		}
	}
	if err := Import(context.Background(), strings.NewReader("T0|acq(l)|1\r\n\nT0|acq(l)|1\nT0|rel(l)|1\nT0|rel(l)|9223372036854775807"), discard{}, &Names{}); err != nil {
		t.Error(err)
	}
}

func TestBadNames(t *testing.T) {
	for _, text := range []string{"\n", "V", "V\n", "Vx", "Xx\n", "Vx y\n"} {
		if err := new(Names).Add([]byte(text)); !errors.Is(err, ErrNames) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

type discard struct{}

func (discard) Define([]event.Block) error { return nil }
func (discard) Batch(*event.Batch) error   { return nil }
func (discard) Finish(event.Outcome) error { return nil }

// FuzzParse parses lines. What can be parsed must be written in the same form.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"T0|r(V1)|345", "a|acq(b)|0", "T|fork(T1)|1", "x|w(y.z)|01", "||", "T|r((x))|1", "T|rel(l)|99999999999999999999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ParseLine(text)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := ParseLine(bytes.TrimSuffix(l.Append(nil), []byte("\n")))
		if err != nil || again.Op != l.Op || again.Location != l.Location || !bytes.Equal(again.Thread, l.Thread) || !bytes.Equal(again.Operand, l.Operand) {
			t.Fatalf("%+v became %+v, %v", l, again, err)
		}
	})
}

// FuzzImport imports texts. The trace of a text that can be read must be sound and have
// the races of the text.
func FuzzImport(f *testing.F) {
	f.Add([]byte("T0|fork(T1)|1\nT1|w(x)|2\nT0|r(x)|3\nT0|join(T1)|4\nT0|w(x)|5\n"))
	f.Add([]byte("A|acq(l)|1\nA|w(x)|2\nA|rel(l)|3\nB|acq(l)|4\nB|w(x)|5\nB|rel(l)|6\n"))
	f.Add(randomText(rand.New(rand.NewPCG(1, 2)), 60))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		var out bytes.Buffer
		r, err := recorder.New(&out, recorder.Options{Meta: format.Meta{Alphabet: format.AlphabetBlock}})
		if err != nil {
			t.Fatal(err)
		}
		if err := Import(context.Background(), bytes.NewReader(text), r, &Names{}); err != nil {
			return
		}
		tr := open(t, out.Bytes())
		if err := tr.Verify(); err != nil {
			t.Fatal(err)
		}
		var back bytes.Buffer
		if _, err := Export(context.Background(), &back, tr, Options{}); err != nil {
			t.Fatal(err)
		}
		same(t, "export", detect(t, back.Bytes()).pairs, ours(t, tr, nil))
	})
}
