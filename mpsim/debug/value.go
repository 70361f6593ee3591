package debug

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hindsight/mpsim/image"
)

// Limits of texts. Longer values end with "…".
const (
	shownParts  = 16 // elements or members
	shownDepth  = 3  // structures in structures
	shownString = 200
	shownBytes  = 64
)

// raw returns the bits of a value of at most eight bytes. It reports false for other sizes
// and for what is not in memory.
func raw(v *Variable) (bits uint64, ok bool) {
	const most = 8
	if v.Bits > 0 {
		if len(v.Data)*8 < int(v.Shift)+int(v.Bits) {
			return 0, false
		}
		var b [2 * most]byte
		copy(b[:], v.Data)
		bits = binary.LittleEndian.Uint64(b[:]) >> v.Shift
		if v.Shift > 0 {
			bits |= binary.LittleEndian.Uint64(b[most:]) << (64 - v.Shift)
		}
		return bits << (64 - v.Bits) >> (64 - v.Bits), true
	}
	if v.Size == 0 || v.Size > most || uint64(len(v.Data)) < v.Size {
		return 0, false
	}
	var b [most]byte
	copy(b[:], v.Data[:v.Size])
	return binary.LittleEndian.Uint64(b[:]), true
}

// unsigned returns the value of an unsigned integer or pointer.
func unsigned(v *Variable) (uint64, bool) { return raw(v) }

// signed returns the value of a signed integer.
func signed(v *Variable) (int64, bool) {
	bits, ok := raw(v)
	width := 8 * int(v.Size)
	if v.Bits > 0 {
		width = int(v.Bits)
	}
	return int64(bits<<(64-width)) >> (64 - width), ok
}

// floating returns the value of a floating-point number of 4 or 8 bytes.
func floating(v *Variable) (float64, bool) {
	bits, ok := raw(v)
	switch v.Size {
	case 4:
		return float64(math.Float32frombits(uint32(bits))), ok
	case 8:
		return math.Float64frombits(bits), ok
	}
	return 0, false
}

const absent = "<not in memory>"

// Text formats a value, in the manner of gdb.
func (d *Debugger) Text(v *Variable) string { return d.text(v, shownDepth) }

func (d *Debugger) text(v *Variable, depth int) string {
	s := v.Type.Shape()
	switch s.Kind {
	case image.KindBool, image.KindInt, image.KindUint, image.KindChar, image.KindFloat, image.KindEnum:
		return scalarText(v, s)
	case image.KindPointer:
		return d.pointerText(v, s)
	case image.KindFunction:
		return "{" + s.Name + "} " + d.code(v.Addr)
	case image.KindArray:
		if element := s.Elem.Shape(); element.Kind == image.KindChar && uint64(len(v.Data)) >= min(s.Size, maxVariable) {
			return quoted(v.Data, s.Size > uint64(len(v.Data)))
		}
		return d.elementsText(v, int(min(s.Count, 1<<24)), depth)
	case image.KindStruct:
		if text, ok := d.string(v); ok {
			return text
		}
		if _, n, name, ok := d.sequence(v); ok {
			return name + " " + d.elementsText(v, n, depth)
		}
		return d.structText(v, s, depth)
	}
	return untypedText(v)
}

// scalarText formats a number or another simple value.
func scalarText(v *Variable, s *image.Shape) string {
	bits, ok := unsigned(v)
	if !ok {
		if len(v.Data) > 0 && uint64(len(v.Data)) >= v.Size { // such as a long double
			return untypedText(v)
		}
		return absent
	}
	n, _ := signed(v)
	switch s.Kind {
	case image.KindBool:
		return strconv.FormatBool(bits != 0)
	case image.KindInt:
		return strconv.FormatInt(n, 10)
	case image.KindChar:
		if strings.HasPrefix(s.Name, "signed") || strings.HasPrefix(s.Name, "int8") {
			bits = uint64(n)
		}
		return fmt.Sprintf("%d %s", int64(bits), strconv.QuoteRune(rune(byte(bits))))
	case image.KindFloat:
		f, ok := floating(v)
		if !ok {
			return untypedText(v)
		}
		return strconv.FormatFloat(f, 'g', -1, int(8*v.Size))
	case image.KindEnum:
		for _, e := range s.Names {
			if e.Value == n || uint64(e.Value) == bits {
				return fmt.Sprintf("%s (%d)", e.Name, e.Value)
			}
		}
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatUint(bits, 10)
}

// pointerText formats an address, with the text or the name of the function there.
func (d *Debugger) pointerText(v *Variable, s *image.Shape) string {
	at, ok := unsigned(v)
	if !ok {
		return absent
	}
	text := fmt.Sprintf("%#x", at)
	switch s.Elem.Shape().Kind {
	case image.KindFunction:
		return d.code(at)
	case image.KindChar:
		if data := d.Memory(at, shownString); at != 0 && len(data) > 0 {
			text += " " + quoted(data, bytes.IndexByte(data, 0) < 0)
		}
	}
	return text
}

// code formats an address of code, with the name of its function.
func (d *Debugger) code(at uint64) string {
	if f, ok := d.Journal().Image().Func(at); ok {
		name := f.Demangled()
		if at > f.Addr {
			name += fmt.Sprintf("+%d", at-f.Addr)
		}
		return fmt.Sprintf("%#x <%s>", at, name)
	}
	return fmt.Sprintf("%#x", at)
}

// quoted quotes the text up to its zero byte. more says that it continues after the data.
func quoted(data []byte, more bool) string {
	if end := bytes.IndexByte(data, 0); end >= 0 {
		data, more = data[:end], false
	}
	if len(data) > shownString {
		data, more = data[:shownString], true
		for len(data) > 0 && !utf8.Valid(data) && len(data) > shownString-utf8.UTFMax {
			data = data[:len(data)-1]
		}
	}
	text := strconv.Quote(string(data))
	if more {
		text += "…"
	}
	return text
}

// elementsText formats the first elements of an array. Equal elements in a row are counted.
func (d *Debugger) elementsText(v *Variable, count, depth int) string {
	if depth == 0 {
		return "{…}"
	}
	const least = 4 // number of equal elements that are counted instead of shown
	var parts []string
	i := 0
	for shown := 0; i < count && shown < shownParts && i < maxVariable; shown++ {
		e := d.Element(v, i)
		text := d.text(&e, depth-1)
		same := 1
		for i+same < count && same < maxVariable {
			next := d.Element(v, i+same)
			if !bytes.Equal(next.Data, e.Data) {
				break
			}
			same++
		}
		if same >= least {
			text = fmt.Sprintf("%s <%d times>", text, same)
		} else {
			same = 1
		}
		parts = append(parts, text)
		i += same
	}
	text := strings.Join(parts, ", ")
	if i < count {
		text += ", …"
	}
	return "{" + text + "}"
}

func (d *Debugger) structText(v *Variable, s *image.Shape, depth int) string {
	if depth == 0 {
		return "{…}"
	}
	if len(s.Fields) == 0 && s.Size == 0 {
		return "<incomplete type>"
	}
	var parts []string
	for i := range s.Fields {
		if i == shownParts {
			parts = append(parts, "…")
			break
		}
		m := d.member(v, "", ".", i)
		text := d.text(&m, depth-1)
		if s.Fields[i].Name != "" {
			text = s.Fields[i].Name + " = " + text
		} else if s.Fields[i].Base {
			text = "<" + m.Name + "> = " + text
		}
		parts = append(parts, text)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// untypedText formats a value without a type: as an integer if it has the size of one,
// otherwise as bytes.
func untypedText(v *Variable) string {
	b := v.Data
	if uint64(len(b)) < min(v.Size, shownBytes) || v.Size == 0 {
		return absent
	}
	switch v.Size {
	case 1, 2, 4:
		n, _ := signed(v)
		return strconv.FormatInt(n, 10)
	case 8:
		n, _ := unsigned(v)
		if n>>32 != 0 && n>>32 != 1<<32-1 { // more likely an address
			return fmt.Sprintf("%#x", n)
		}
		return strconv.FormatInt(int64(n), 10)
	}
	text := fmt.Sprintf("% x", b[:min(len(b), shownBytes)])
	if v.Size > shownBytes {
		text += " …"
	}
	return text
}

// Element returns the nth element of an array, of a library's sequence, or after a pointer.
// For a value without a type, it is the nth word of four bytes.
func (d *Debugger) Element(v *Variable, n int) Variable {
	const word = 4
	name := fmt.Sprintf("[%d]", n)
	path := ""
	if v.Path != "" {
		path = v.Path + name
		if strings.HasPrefix(v.Path, "*") {
			path = "(" + v.Path + ")" + name
		}
	}
	s := v.Type.Shape()
	switch s.Kind {
	case image.KindArray:
		return d.within(v, name, path, uint64(n)*s.Elem.Shape().Size, s.Elem)
	case image.KindPointer:
		at, _ := unsigned(v)
		return d.object(name, path, at+uint64(n)*s.Elem.Shape().Size, s.Elem)
	case image.KindStruct:
		if first, _, _, ok := d.sequence(v); ok {
			e := d.Element(&first, n)
			e.Path = path
			return e
		}
	}
	addr := v.Addr + uint64(n)*word
	return Variable{Name: name, Path: path, Addr: addr, Size: word, Data: d.Memory(addr, word)}
}

// string returns the text of a Go or C++ string.
func (d *Debugger) string(v *Variable) (string, bool) {
	data, length, ok := d.stringData(v)
	if !ok {
		return "", false
	}
	text := strconv.Quote(string(data[:min(len(data), shownString)]))
	if length > shownString {
		text += "…"
	}
	return text, true
}

// stringData returns the bytes of a Go or C++ string, or the beginning of them, and the
// length of the string.
func (d *Debugger) stringData(v *Variable) (data []byte, length uint64, ok bool) {
	s := v.Type.Shape()
	var start, size Variable
	switch {
	case len(s.Fields) == 2 && s.Fields[0].Name == "str" && s.Fields[1].Name == "len":
		start, size = d.member(v, "", ".", 0), d.member(v, "", ".", 1)
	case strings.Contains(s.Name, "basic_string<char,") || strings.HasSuffix(s.Name, "string"):
		if start, ok = d.Member(v, "_M_dataplus"); !ok {
			return nil, 0, false
		}
		start, _ = d.Member(&start, "_M_p")
		if size, ok = d.Member(v, "_M_string_length"); !ok {
			return nil, 0, false
		}
	default:
		return nil, 0, false
	}
	at, _ := unsigned(&start)
	length, ok = unsigned(&size)
	data = d.Memory(at, int(min(length, maxVariable)))
	return data, length, ok && uint64(len(data)) >= min(length, maxVariable)
}

// sequence returns the pointer to the first element of a Go slice or a C++ vector, the
// number of elements, and the text that precedes them.
func (d *Debugger) sequence(v *Variable) (first Variable, n int, name string, ok bool) {
	s := v.Type.Shape()
	switch {
	case len(s.Fields) == 3 && s.Fields[0].Name == "array" && s.Fields[1].Name == "len" && s.Fields[2].Name == "cap":
		first = d.member(v, v.Path, ".", 0)
		length, room := d.member(v, "", ".", 1), d.member(v, "", ".", 2)
		count, ok := signed(&length)
		most, ok2 := signed(&room)
		if !ok || !ok2 || count < 0 || count > most {
			return first, 0, "", false
		}
		return first, int(count), fmt.Sprintf("%s, len %d, cap %d", s.Name, count, most), true
	case strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(s.Name, "const "), "std::"), "vector<") && !strings.Contains(s.Name, "vector<bool"):
		from, ok := d.Member(v, "_M_impl")
		if !ok {
			return first, 0, "", false
		}
		first, ok = d.Member(&from, "_M_start")
		last, ok2 := d.Member(&from, "_M_finish")
		low, _ := unsigned(&first)
		high, _ := unsigned(&last)
		each := first.Type.Shape().Elem.Shape().Size
		if !ok || !ok2 || each == 0 || high < low || (high-low)/each > 1<<32 {
			return first, 0, "", false
		}
		count := int((high - low) / each)
		return first, count, fmt.Sprintf("vector of length %d", count), true
	}
	return first, 0, "", false
}
