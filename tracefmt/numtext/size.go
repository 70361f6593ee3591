package numtext

import (
	"errors"
	"strconv"
	"strings"
)

// units are the units of sizes that users write.
var units = []struct {
	shift uint
	name  string
}{{30, "G"}, {20, "M"}, {10, "K"}}

// maxSize is the largest size that users may write, in bytes.
const maxSize = 1 << 40

// Size formats a number of bytes as [ParseSize] reads it, with K, M or G if it is a
// multiple of that power of 1024.
func Size(n uint64) string {
	for _, unit := range units {
		if n != 0 && n&(1<<unit.shift-1) == 0 {
			return strconv.FormatUint(n>>unit.shift, 10) + unit.name
		}
	}
	return strconv.FormatUint(n, 10)
}

// ParseSize parses a number of bytes, which may end in K, M or G for powers of 1024.
func ParseSize(s string) (uint64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I")
	var shift uint
	for _, unit := range units {
		if rest, ok := strings.CutSuffix(number, unit.name); ok {
			number, shift = rest, unit.shift
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || n > maxSize>>shift {
		return 0, errors.New("want a size such as 512M or 4G, at most 1024G")
	}
	return n << shift, nil
}
