package app

import (
	"fmt"
	"slices"
)

// Scheme says how indirect jumps are recorded.
type Scheme uint8

const (
	Symmetric  Scheme = iota // by comparisons with each possible target
	Asymmetric               // by identifiers of targets
)

func (s Scheme) String() string {
	if s == Asymmetric {
		return "asymmetric"
	}
	return "symmetric"
}

// Options say how control flow is recorded. The zero value is the paper's choice:
// histories of 7 bits each, and 1024 conditionals with counters of their own.
type Options struct {
	// Local and Global are the bits of history of the conditional itself and of all
	// conditionals; at most 20 together. 0 means 7, None means none.
	Local, Global int
	// Table is the number of low bits of a conditional's number that count; 0 means 10,
	// None means none; at most 16. Table + Local + Global is at most 26: counters take
	// up to 2^(2+Table+Local+Global) bytes.
	Table int
	// Step is what a direction adds to its counter, which begins at 1; 0 means the
	// paper's 1; at most 255. A larger step learns faster.
	Step int
	// Limit is the largest sum of a pair of counters; 0 means 65000, the maximum. At
	// least 16 + 2·Step.
	Limit int

	// Loops adds two bits to the context of a conditional, beyond the paper:
	// see the package comment. It takes four times the counters, and Table +
	// Local + Global is at most 24.
	Loops bool
	// Repeats looks for earlier places that control reached by the same directions.
	// This, too, is beyond the paper. It takes 3 MB. It sees all functions' directions,
	// and so excludes Intraprocedural.
	Repeats bool

	Scheme          Scheme
	Intraprocedural bool

	// Functions are the identifiers of the functions that are recorded, at least one;
	// nil means all.
	Functions []uint64

	// Checkpoint is the number of blocks from one checkpoint to the next; 0 means no
	// checkpoints. Each takes 16 bytes of the encoder's memory.
	Checkpoint int
}

// Improved are options beyond the paper's scheme that make streams smaller, much
// smaller if the program consists of loops.
func Improved() Options {
	return Options{Local: 4, Global: 6, Step: 16, Loops: true, Repeats: true}
}

// None means zero bits, where 0 means a default.
const None = -1

const (
	maxHistory  = 20
	maxModel    = 26
	maxTable    = 16
	maxLimit    = 65000
	defaultBits = 7
	defaultIfs  = 10
)

// withDefaults fills in the defaults, and checks the options.
func (o Options) withDefaults() (Options, error) {
	bits := func(v *int, otherwise int) {
		switch *v {
		case 0:
			*v = otherwise
		case None:
			*v = 0
		}
	}
	bits(&o.Local, defaultBits)
	bits(&o.Global, defaultBits)
	bits(&o.Table, defaultIfs)
	if o.Step == 0 {
		o.Step = 1
	}
	if o.Limit == 0 {
		o.Limit = maxLimit
	}
	if o.Functions != nil {
		o.Functions = slices.Compact(slices.Sorted(slices.Values(o.Functions)))
		if len(o.Functions) == 0 {
			return o, fmt.Errorf("app: no functions are chosen")
		}
	}
	if o.Checkpoint < 0 {
		return o, fmt.Errorf("app: checkpoints every %d blocks", o.Checkpoint)
	}
	return o, o.check()
}

// contextBits returns the bits that select a pair of counters.
func (o *Options) contextBits() int {
	n := o.Table + o.Local + o.Global
	if o.Loops {
		n += runBits
	}
	return n
}

// check checks options after the defaults are filled in.
func (o *Options) check() error {
	switch {
	case o.Local < 0 || o.Global < 0 || o.Local+o.Global > maxHistory:
		return fmt.Errorf("app: histories of %d and %d bits: at most %d together", o.Local, o.Global, maxHistory)
	case o.Table < 0 || o.Table > maxTable:
		return fmt.Errorf("app: %d bits of a conditional's number: at most %d", o.Table, maxTable)
	case o.contextBits() > maxModel:
		return fmt.Errorf("app: %d bits of a conditional's number and %d of context: at most %d together", o.Table, o.contextBits()-o.Table, maxModel)
	case o.Step < 1 || o.Step > 255:
		return fmt.Errorf("app: step %d: want 1 to 255", o.Step)
	case o.Limit < 16+2*o.Step || o.Limit > maxLimit:
		return fmt.Errorf("app: limit %d: want %d to %d", o.Limit, 16+2*o.Step, maxLimit)
	case o.Repeats && o.Intraprocedural:
		return fmt.Errorf("app: repeats are found across functions, which intraprocedural histories exclude")
	case o.Scheme > Asymmetric:
		return fmt.Errorf("app: unknown scheme %d", o.Scheme)
	}
	return nil
}

// chosen reports whether blocks of a function are recorded.
func (o *Options) chosen(fn uint64) bool {
	if o.Functions == nil {
		return true
	}
	_, ok := slices.BinarySearch(o.Functions, fn)
	return ok
}
