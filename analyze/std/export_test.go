package std

import "strconv"

// Append appends the line's text, with a line break, to b.
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
