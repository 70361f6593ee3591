package std

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Op is an operation of an STD line.
type Op uint8

const (
	Read Op = iota
	Write
	Acquire
	Release
	Fork
	Join
	Begin // of a block of code that should be atomic: orders nothing
	End
	numOps
)

var opNames = [numOps]string{"r", "w", "acq", "rel", "fork", "join", "begin", "end"}

func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "op?"
}

// Line is an event of an STD text. The names are parts of the text that was parsed.
type Line struct {
	Thread   []byte
	Op       Op
	Operand  []byte // empty in some begin and end lines
	Location uint64
}

// ErrSyntax is wrapped by errors about lines that are not events.
var ErrSyntax = errors.New("not an STD event")

// ParseLine parses a line without its line break.
func ParseLine(text []byte) (Line, error) {
	var l Line
	thread, rest, ok := bytes.Cut(text, []byte{'|'})
	what, location, ok2 := bytes.Cut(rest, []byte{'|'})
	if !ok || !ok2 || bytes.IndexByte(location, '|') >= 0 {
		return l, fmt.Errorf("%w: want thread|op(operand)|location", ErrSyntax)
	}
	if !isName(thread) {
		return l, fmt.Errorf("%w: thread %.40q", ErrSyntax, thread)
	}
	name, operand, _ := bytes.Cut(what, []byte{'('})
	closed := len(operand) > 0 && operand[len(operand)-1] == ')'
	if closed {
		operand = operand[:len(operand)-1]
	}
	l.Op = numOps
	for op, known := range opNames {
		if string(name) == known {
			l.Op = Op(op)
		}
	}
	switch {
	case l.Op == Begin || l.Op == End: // with an operand or without
		if closed == (len(name) == len(what)) || len(operand) > 0 && !isName(operand) {
			return l, fmt.Errorf("%w: want begin, end, or one with an operand, not %.40q", ErrSyntax, what)
		}
	case !closed || !isName(operand):
		return l, fmt.Errorf("%w: want op(operand), not %.40q", ErrSyntax, what)
	case l.Op == numOps:
		return l, fmt.Errorf("%w: no operation %.40q", ErrSyntax, name)
	}
	n, err := strconv.ParseUint(string(location), 10, 63)
	if err != nil {
		return l, fmt.Errorf("%w: location %.40q", ErrSyntax, location)
	}
	l.Thread, l.Operand, l.Location = thread, operand, n
	return l, nil
}

// isName reports whether a name can occur in a line.
func isName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c == '|' || c == '(' || c == ')' || c == 0x7f {
			return false
		}
	}
	return len(name) > 0
}
