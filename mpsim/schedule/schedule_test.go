package schedule

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hindsight/tracefmt/event"
)

// random returns a schedule with steps of all kinds.
func random(r *rand.Rand) *Schedule {
	s := &Schedule{}
	for range r.IntN(30) {
		st := Step{Kind: Kind(r.IntN(5)), Thread: event.ThreadID(r.IntN(9))}
		switch st.Kind {
		case Run:
			st.Count = r.Uint64N(1 << r.IntN(60))
		case To:
			st.Count, st.PC = 1+r.Uint64N(3), 1+r.Uint64N(1<<47)
		case Until:
			st.Events, st.Accesses = r.Uint64N(1<<r.IntN(60)), r.Uint64N(3)
		case Clock:
			st.Thread, st.Time = 0, r.Uint64N(1<<40)
		}
		if (st.Kind == Run || st.Kind == Rest || st.Kind == Until) && r.IntN(2) == 0 {
			st.At = 1 + r.Uint64N(1<<47)
		}
		s.Steps = append(s.Steps, st)
	}
	return s
}

// without returns the steps without the numbers of their lines.
func without(s *Schedule) []Step {
	steps := slices.Clone(s.Steps)
	for i := range steps {
		steps[i].Line = 0
	}
	return steps
}

func TestTextComesBack(t *testing.T) {
	for seed := range uint64(500) {
		want := random(rand.New(rand.NewPCG(seed, 1)))
		var b bytes.Buffer
		if err := want.Write(&b, func(s *Step) string { return "stands at\n" + strings.Repeat("x", int(s.Count%5000)) }); err != nil {
			t.Fatal(err)
		}
		got, err := Parse("s", &b)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !slices.Equal(without(got), without(want)) {
			t.Fatalf("seed %d: %v came back as %v", seed, want.Steps, got.Steps)
		}
	}
}

func TestParseSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "s:1: want \"hindsight schedule 1\"",
		"hindsight schedule 2\n":            "s:1: want",
		header + "\n\nT1\n":                 "s:3: want after the thread",
		header + "\nT1 5 6\n":               `s:2: "6": nothing more`,
		header + "\nT1 -5\n":                `s:2: "-5": want a number`,
		header + "\nT270000 5\n":            `s:2: "270000": want the number of a thread`,
		header + "\nT1 to 12\n":             `s:2: "12": want an address`,
		header + "\nT1 to\n":                "s:2: to: want an address",
		header + "\nT1 to 0x12 x0\n":        "s:2: x0: want 1 or more",
		header + "\nT1 5 @0\n":              `s:2: "0": want an address`,
		header + "\nT1 events\n":            "s:2: events: want a number",
		header + "\nT1 events 5 accesses\n": "s:2: accesses: want a number",
		header + "\nT1 events 5 6\n":        `s:2: "6": nothing more`,
		header + "\nclock\n":                "s:2: want: clock",
		header + "\nX1 5\n":                 `s:2: "X1": want a thread`,
		header + strings.Repeat("x", 5000):  "s:1: a line of more",
	} {
		_, err := Parse("s", strings.NewReader(text))
		if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestCounts(t *testing.T) {
	s, err := Parse("s", strings.NewReader(header+"\nT0 5\nclock 7\nT0 6\nT1 rest\nT0 to 0x10\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Switches() != 2 || s.Insts() != 11 || s.Steps[4].Line != 6 {
		t.Errorf("%d switches, %d instructions, line %d", s.Switches(), s.Insts(), s.Steps[4].Line)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(header + "\nT0 1234 @0x10450 # place\nT1 to 0x104f2 x3\nT2 rest\nT3 events 12 accesses 34 @0x10\nclock 500\n"))
	f.Add([]byte(header + "\nT1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("s", bytes.NewReader(text))
		if err != nil {
			return
		}
		again, err := Parse("s", bytes.NewReader(s.Text()))
		if err != nil {
			t.Fatalf("its own text: %v", err)
		}
		if !slices.Equal(without(again), without(s)) {
			t.Fatalf("%v came back as %v", s.Steps, again.Steps)
		}
	})
}
