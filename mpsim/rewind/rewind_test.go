package rewind

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
)

type node struct {
	n     int
	next  *node
	names map[string]*node
	table map[int]struct{ list []int }
	list  []byte
	any   any
	inner struct{ at *int }
	array [2]*node
	rng   *rand.PCG
	text  *bytes.Buffer
	fixed *constant
	get   func() int
	log   []line
}

type line struct{ n int }

func (line) Appended() {}

type constant struct{ n int }

func shared(t reflect.Type) bool { return t == reflect.TypeFor[constant]() }

func graph() *node {
	a, b := &node{n: 1}, &node{n: 2}
	a.next, b.next = b, a
	a.names = map[string]*node{"a": a, "b": b}
	a.table = map[int]struct{ list []int }{3: {[]int{1, 2, 3}}}
	a.list = []byte("hello")
	a.any = struct{ p *node }{&node{n: 7}}
	a.inner.at = &b.n
	a.array[1] = b
	a.rng = rand.NewPCG(1, 2)
	a.text = bytes.NewBufferString("text")
	a.fixed = &constant{1}
	a.get = func() int { return b.n }
	return a
}

// TestRestore changes everything in a graph in many ways, and compares the restored graph
// with one that was never changed.
func TestRestore(t *testing.T) {
	a, want := graph(), graph()
	b := a.next
	s := Save(shared, &a)
	for round := range 3 {
		b.n, a.next, b.next = 5, &node{}, nil
		a.names["c"] = a
		delete(a.names, "a")
		a.table[3].list[1] = 9
		a.table[4] = struct{ list []int }{}
		a.list[0] = 'j'
		a.list = append(a.list, '!')
		a.any.(struct{ p *node }).p.n = 8
		a.any = 4
		a.array[0], a.array[1] = b, nil
		a.rng.Uint64()
		a.text.WriteString(" and more")
		if round == 2 {
			a.names, a.list = nil, nil
			a = nil
		}
		s.Restore()
		if a.next != b || a.inner.at != &b.n || a.get() != 2 {
			t.Fatalf("round %d: objects are not where they were", round)
		}
		got, as := *a, *want
		got.get, as.get = nil, nil
		// The two refer to each other, so compare them without these references.
		got.next, as.next, got.names, as.names, got.array, as.array = nil, nil, nil, nil, [2]*node{}, [2]*node{}
		if !reflect.DeepEqual(got, as) {
			t.Errorf("round %d: got %+v, want %+v", round, got, as)
		}
		if len(a.names) != 2 || a.names["a"] != a || a.names["b"] != b || a.array[1] != b || a.array[0] != nil {
			t.Errorf("round %d: names are %v, the array is %v", round, a.names, a.array)
		}
	}
}

// TestShared checks that values of shared types are not restored.
func TestShared(t *testing.T) {
	a := graph()
	s := Save(shared, a)
	a.fixed.n = 2
	if s.Restore(); a.fixed.n != 2 {
		t.Errorf("the constant is %d: it was put back", a.fixed.n)
	}
	if s.Bytes() == 0 {
		t.Error("the state costs nothing")
	}
}

// TestAppended alternates between two states of a log.
func TestAppended(t *testing.T) {
	a := &node{log: make([]line, 0, 100)}
	add := func(list ...int) {
		for _, n := range list {
			a.log = append(a.log, line{n})
		}
	}
	add(1, 2)
	early := Save(shared, a)
	add(3, 4)
	late := Save(shared, a)
	for range 3 {
		early.Restore()
		add(5, 6, 7)
		late.Restore()
		if want := []line{{1}, {2}, {3}, {4}}; !reflect.DeepEqual(a.log, want) {
			t.Fatalf("the log is %v, want %v", a.log, want)
		}
		add(8)
	}
}
