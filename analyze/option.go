package analyze

import (
	"errors"
	"fmt"
)

// OptionError says that an option cannot be fulfilled. Programs whose options have other
// names, such as flags or form fields, can find out from it which option is meant.
type OptionError struct {
	Option string // one of instance, thread, from, race, order, predict, values
	Value  string // the value, or "" if the option has none or is a bool
	Err    error  // the reason
}

func (e *OptionError) Error() string {
	if e.Value == "" {
		return e.Option + ": " + e.Err.Error()
	}
	return e.Option + " " + e.Value + ": " + e.Err.Error()
}

func (e *OptionError) Unwrap() error { return e.Err }

// optionErrorf returns an [OptionError].
func optionErrorf(option, value, format string, args ...any) error {
	return &OptionError{Option: option, Value: value, Err: fmt.Errorf(format, args...)}
}

// ErrNoCaches says that a run was recorded without a model of caches, which
// [Trace.Sharing] needs.
var ErrNoCaches = errors.New("recorded without a model of caches")

// KindError says that a query about code was made about memory, or the other way round.
type KindError struct {
	At       string // what the query was about
	Variable bool   // whether it is a variable, and not code
}

func (e *KindError) Error() string {
	if e.Variable {
		return e.At + " is a variable; ask who wrote it, or give a line or a function"
	}
	return e.At + " is code; ask what it produced, or give a variable or an address"
}
