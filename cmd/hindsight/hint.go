package main

import (
	"errors"
	"strings"

	"hindsight/analyze"
)

// hint is the text of an error for who typed the command: the options of the
// library are flags, and what to do next is a command.
func hint(err error) string {
	text := err.Error()
	var option *analyze.OptionError
	if errors.As(err, &option) {
		text = strings.Replace(text, option.Error(), "--"+option.Error(), 1)
	}
	var kind *analyze.KindError
	switch {
	case !errors.As(err, &kind):
	case kind.Variable:
		text = strings.Replace(text, "ask who wrote it", "ask who wrote it (query writes --to "+kind.At+")", 1)
	default:
		text = strings.Replace(text, "ask what it produced", "ask what it produced (query values --at "+kind.At+")", 1)
	}
	if errors.Is(err, analyze.ErrNoCaches) {
		text += "; record it again with hindsight run --arch"
	}
	return text
}
