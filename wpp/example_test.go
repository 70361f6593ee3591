package wpp_test

import (
	"fmt"

	"hindsight/wpp"
)

// The example of PPoPP 2003, section 2: abcabc.
func ExampleBuilder() {
	var b wpp.Builder
	for _, c := range "abcabc" {
		b.Append(wpp.Terminal(c - 'a'))
	}
	fmt.Print(b.Grammar())
	// Output:
	// R1 → R0 R0
	// R0 → 0 1 2
}

// Blocks 3 and 4 are synchronisation operations: what ran between the second
// and the third of them?
func ExampleSyncCounts() {
	var b wpp.Builder
	for _, t := range []wpp.Terminal{1, 2, 3, 4, 5, 3, 4, 6} {
		b.Append(t)
	}
	g := b.Grammar()
	counts, err := wpp.NewSyncCounts(g, func(t wpp.Terminal) bool { return t == 3 || t == 4 })
	if err != nil {
		fmt.Println(err)
		return
	}
	from, _, _ := counts.Select(1)
	to, _, _ := counts.Select(2)
	for from.Next(); from.Compare(to) < 0; from.Next() {
		t, _ := from.Terminal()
		fmt.Println(t)
	}
	// Output: 5
}
