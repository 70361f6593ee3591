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
	numOps
)

var opNames = [numOps]string{"r", "w", "acq", "rel", "fork", "join"}

func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "op?"
}

// Line is an event of an STD text. The names are bytes of the text that was
// parsed.
type Line struct {
	Thread   []byte
	Op       Op
	Operand  []byte
	Location uint64
}

// ErrSyntax is wrapped by errors about lines that are no events.
var ErrSyntax = errors.New("not an STD event")

// ParseLine reads a line without its line break.
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
	open := bytes.IndexByte(what, '(')
	if open < 0 || what[len(what)-1] != ')' || !isName(what[open+1:len(what)-1]) {
		return l, fmt.Errorf("%w: want op(operand), not %.40q", ErrSyntax, what)
	}
	l.Op = numOps
	for op, name := range opNames {
		if string(what[:open]) == name {
			l.Op = Op(op)
		}
	}
	if l.Op == numOps {
		return l, fmt.Errorf("%w: no operation %.40q", ErrSyntax, what[:open])
	}
	n, err := strconv.ParseUint(string(location), 10, 63)
	if err != nil {
		return l, fmt.Errorf("%w: location %.40q", ErrSyntax, location)
	}
	l.Thread, l.Operand, l.Location = thread, what[open+1:len(what)-1], n
	return l, nil
}

// isName says whether a name can stand in a line.
func isName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c == '|' || c == '(' || c == ')' || c == 0x7f {
			return false
		}
	}
	return len(name) > 0
}

// Append adds the line's text, with a line break, to b.
func (l *Line) Append(b []byte) []byte {
	b = append(b, l.Thread...)
	b = append(b, '|')
	b = append(b, l.Op.String()...)
	b = append(b, '(')
	b = append(b, l.Operand...)
	b = append(b, ")|"...)
	b = strconv.AppendUint(b, l.Location, 10)
	return append(b, '\n')
}
