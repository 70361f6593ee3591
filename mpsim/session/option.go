package session

import "fmt"

// OptionError is an error that the caller may mend by other options. Programs that
// have options by other names (flags, form fields) find in it which ones are meant.
type OptionError struct {
	// Options are their names: stdin, root, limits, images, functions, from,
	// resume, dir, suppressions.
	Options []string
	Err     error // what is wrong
}

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// optionErrorf makes an [OptionError] about one option.
func optionErrorf(option, format string, args ...any) error {
	return &OptionError{Options: []string{option}, Err: fmt.Errorf(format, args...)}
}
