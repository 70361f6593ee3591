package wpp

import "errors"

// ErrLimit says that a grammar is larger than the caller allows.
var ErrLimit = errors.New("wpp: grammar exceeds limit")
