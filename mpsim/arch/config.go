package arch

import (
	"errors"
	"fmt"
	"math/bits"
)

// Defaults of a [Config].
const (
	DefaultSize        = 32 << 10
	DefaultWays        = 8
	DefaultLine        = 64
	DefaultTable       = 4096
	DefaultHistoryBits = 12
)

// Limits of a [Config].
const (
	MinLine  = 16
	MaxLine  = 256
	maxSize  = 1 << 26
	maxTable = 1 << 20
)

// Config describes the modelled machine. The zero value means caches of 32 KiB with 8 ways
// and lines of 64 bytes, and 4096 counters indexed by 12 bits of history.
type Config struct {
	Size int // bytes of a hart's L1 data cache
	Ways int // per set
	Line int // bytes of a line: a power of two from MinLine to MaxLine

	Table       int // two-bit counters of a hart's branch predictor, a power of two
	HistoryBits int // of global history, at most log2 of Table; negative means none

	// History receives the history bits; nil discards them.
	History History
}

// ErrConfig wraps errors about an invalid Config.
var ErrConfig = errors.New("arch: bad configuration")

// Filled returns c with its defaults filled in.
func (c Config) Filled() Config {
	for _, f := range []struct {
		field *int
		value int
	}{{&c.Size, DefaultSize}, {&c.Ways, DefaultWays}, {&c.Line, DefaultLine}, {&c.Table, DefaultTable}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	switch {
	case c.HistoryBits == 0:
		c.HistoryBits = min(DefaultHistoryBits, max(bits.Len(uint(max(c.Table, 1)))-1, 0))
	case c.HistoryBits < 0:
		c.HistoryBits = 0
	}
	return c
}

// check returns what is wrong with a configuration that has been filled in.
func (c *Config) check() error {
	power := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	switch {
	case !power(c.Line) || c.Line < MinLine || c.Line > MaxLine:
		return fmt.Errorf("%w: lines of %d bytes: want a power of two from %d to %d", ErrConfig, c.Line, MinLine, MaxLine)
	case c.Ways < 1 || c.Size < c.Line || c.Size > maxSize || c.Size%(c.Line*max(c.Ways, 1)) != 0 || !power(c.Size/(c.Line*max(c.Ways, 1))):
		return fmt.Errorf("%w: a cache of %d bytes with %d ways: size / (ways × line) must be a power of two, and size at most %d", ErrConfig, c.Size, c.Ways, maxSize)
	case !power(c.Table) || c.Table > maxTable:
		return fmt.Errorf("%w: a predictor of %d counters: want a power of two up to %d", ErrConfig, c.Table, maxTable)
	case c.HistoryBits > bits.Len(uint(c.Table))-1:
		return fmt.Errorf("%w: %d bits of branch history are more than index %d counters", ErrConfig, c.HistoryBits, c.Table)
	}
	return nil
}
