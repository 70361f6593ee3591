// Package numtext formats numbers for people: with commas between thousands, with their
// nouns, and sizes in bytes with a unit.
package numtext

import (
	"fmt"
	"strconv"
	"strings"
)

// Grouped returns n with a comma between thousands.
func Grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural returns a count with its noun: "1 race", "2,000 races", "3 misses".
func Plural(n uint64, noun string) string {
	if strings.HasSuffix(noun, "s") {
		return Count(n, noun, noun+"es")
	}
	return Count(n, noun, noun+"s")
}

// Count returns a count with its noun, which has a separate form for other numbers than
// one: "1 race is known", "2 races are known".
func Count(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + many
}

// Bytes returns a size in bytes with a decimal unit: "313.4 kB".
func Bytes(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
