package sharing

import (
	"testing"

	"hindsight/tracefmt/event"
)

// TestRivals checks that the two sides of false sharing are parts of the variable itself
// if it has such parts, whatever else was written in the line.
func TestRivals(t *testing.T) {
	field := func(name string, offset uint64, thread event.ThreadID) Field {
		return Field{Name: name, Offset: offset, Size: 8, Uses: []Use{{Thread: thread, Write: true}}}
	}
	startup := field("", 0, 0)
	other := field("completed.0", 8, 0)
	a, b := field("s.a", 16, 1), field("s.b", 24, 2)
	for _, c := range []struct {
		fields      []Field
		first, last string
	}{
		{[]Field{startup, other, a, b}, "s.a", "s.b"},
		{[]Field{startup, other, a}, "completed.0", "s.a"},
		{[]Field{startup, a}, "", "s.a"},
	} {
		f, g := rivals(c.fields, "s")
		if f == nil || f.Name != c.first || g.Name != c.last {
			t.Errorf("%v: %v and %v", c.fields, f, g)
		}
	}
	if f, _ := rivals([]Field{startup, other}, "s"); f != nil {
		t.Errorf("one thread has rivals: %v", f)
	}
}
