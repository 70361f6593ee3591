package std

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrNames is wrapped by errors about damaged tables of names.
var ErrNames = errors.New("damaged table of names")

// namesPart is the approximate number of bytes in a part of an encoded table.
const namesPart = 1 << 20

// Encode returns the table in parts, for storage in a trace. Each line is a letter and a
// name.
func (n *Names) Encode() (parts [][]byte) {
	var part []byte
	for _, list := range []struct {
		letter byte
		names  []string
	}{{'T', n.Threads}, {'V', n.Variables}, {'L', n.Locks}} {
		for _, name := range list.names {
			part = append(part, list.letter)
			part = append(part, name...)
			part = append(part, '\n')
			if len(part) >= namesPart {
				parts, part = append(parts, part), nil
			}
		}
	}
	if len(part) > 0 || parts == nil {
		parts = append(parts, part)
	}
	return parts
}

// Add takes the next part of an encoded table.
func (n *Names) Add(part []byte) error {
	for line := range bytes.Lines(part) {
		name := bytes.TrimSuffix(line[1:], []byte("\n"))
		if len(name) == len(line)-1 || !isName(name) {
			return fmt.Errorf("%w: %.40q", ErrNames, line)
		}
		switch line[0] {
		case 'T':
			n.Threads = append(n.Threads, string(name))
		case 'V':
			n.Variables = append(n.Variables, string(name))
		case 'L':
			n.Locks = append(n.Locks, string(name))
		default:
			return fmt.Errorf("%w: %.40q", ErrNames, line)
		}
	}
	return nil
}
