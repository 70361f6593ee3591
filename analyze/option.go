package analyze

import (
	"errors"
	"fmt"
)

// OptionError says that an option cannot be fulfilled. A program whose options have
// other names (flags, form fields) finds in it which one is meant.
type OptionError struct {
	Option string // its name: instance, thread, from, race, order, predict, values
	Value  string // as it was given; "": it has none, or is either on or off
	Err    error  // why
}

func (e *OptionError) Error() string {
	if e.Value == "" {
		return e.Option + ": " + e.Err.Error()
	}
	return e.Option + " " + e.Value + ": " + e.Err.Error()
}

func (e *OptionError) Unwrap() error { return e.Err }

// optionErrorf makes an [OptionError].
func optionErrorf(option, value, format string, args ...any) error {
	return &OptionError{Option: option, Value: value, Err: fmt.Errorf(format, args...)}
}

// ErrNoCaches says that a run was recorded without a model of caches, which
// [Trace.Sharing] needs.
var ErrNoCaches = errors.New("recorded without a model of caches")

// KindError says that a query is about code and was asked of memory, or the other
// way round.
type KindError struct {
	At       string // what was asked about
	Variable bool   // it is a variable, else code
}

func (e *KindError) Error() string {
	if e.Variable {
		return e.At + " is a variable; ask who wrote it, or give a line or a function"
	}
	return e.At + " is code; ask what it produced, or give a variable or an address"
}
