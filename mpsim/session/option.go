package session

import "fmt"

// OptionError is an error that the caller may fix by changing options. It says which ones,
// for programs whose options have other names (flags, form fields).
type OptionError struct {
	// Options are the names of the options: stdin, root, limits, images, functions, from,
	// resume, dir, suppressions.
	Options []string
	Err     error // what is wrong
}

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// optionErrorf returns an [OptionError] about one option.
func optionErrorf(option, format string, args ...any) error {
	return &OptionError{Options: []string{option}, Err: fmt.Errorf(format, args...)}
}
