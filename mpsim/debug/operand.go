package debug

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hindsight/mpsim/image"
)

// operand is a value for arithmetic.
type operand struct {
	bits     int64
	float    float64
	isFloat  bool
	unsigned bool
	// step is the size of what a pointer points to. of is the pointer's type.
	step int64
	of   image.Type
}

func (n operand) truth() bool {
	if n.isFloat {
		return n.float != 0
	}
	return n.bits != 0
}

func (n operand) asFloat() float64 {
	switch {
	case n.isFloat:
		return n.float
	case n.unsigned:
		return float64(uint64(n.bits))
	}
	return float64(n.bits)
}

func (n operand) variable() Variable {
	switch {
	case n.isFloat:
		return computed(math.Float64bits(n.float), image.Basic(image.KindFloat, "double", 8))
	case n.step > 0:
		return computed(uint64(n.bits), n.of)
	case n.unsigned:
		return integer(n.bits, "unsigned long")
	}
	return integer(n.bits, "long")
}

// numberOf returns the number that a value is. For an array it is the address.
func numberOf(v *Variable) (n operand, err error) {
	s := v.Type.Shape()
	switch s.Kind {
	case image.KindFloat:
		f, ok := floating(v)
		if !ok {
			return n, errors.New("this is not in memory, or of an unknown floating-point format")
		}
		return operand{float: f, isFloat: true}, nil
	case image.KindArray:
		if v.Addr == 0 {
			return n, errors.New("this array is not in memory")
		}
		return operand{bits: int64(v.Addr), unsigned: true, step: int64(max(s.Elem.Shape().Size, 1)), of: s.Elem.Pointer()}, nil
	case image.KindStruct, image.KindFunction:
		return n, fmt.Errorf("%s is not a number", s.Name)
	case image.KindPointer:
		n.step, n.of = int64(max(s.Elem.Shape().Size, 1)), v.Type
	}
	if v.Type == stringType {
		return n, errors.New("a text is only for == and !=")
	}
	bits, ok := unsigned(v)
	if !ok {
		return n, errors.New("this is not in memory, or no number")
	}
	n.bits = int64(bits)
	switch s.Kind {
	case image.KindInt, image.KindEnum, image.KindUnknown:
		n.bits, _ = signed(v)
	case image.KindPointer:
		n.unsigned = true
	case image.KindUint:
		n.unsigned = v.Size == 8
	}
	return n, nil
}

var (
	longType   = image.Basic(image.KindInt, "long", 8)
	stringType = image.Basic(image.KindUnknown, "text", 0)
)

// basicTypes are the types whose names are known without debug information.
var basicTypes = map[string]image.Type{}

func init() {
	for _, b := range []struct {
		kind  image.Kind
		size  uint64
		names string
	}{
		{image.KindChar, 1, "char,signed char,unsigned char,byte"},
		{image.KindInt, 1, "int8_t,int8"}, {image.KindUint, 1, "uint8_t,uint8"},
		{image.KindInt, 2, "short,short int,int16_t,int16"}, {image.KindUint, 2, "unsigned short,uint16_t,uint16"},
		{image.KindInt, 4, "int,signed,int32_t,int32,rune"}, {image.KindUint, 4, "unsigned,unsigned int,uint32_t,uint32"},
		{image.KindInt, 8, "long,long int,long long,int64_t,int64,ssize_t,intptr_t"},
		{image.KindUint, 8, "unsigned long,unsigned long int,unsigned long long,uint64_t,uint64,size_t,uintptr_t,uintptr"},
		{image.KindFloat, 4, "float,float32"}, {image.KindFloat, 8, "double,float64"},
		{image.KindBool, 1, "bool,_Bool"}, {image.KindVoid, 0, "void"},
	} {
		for _, name := range strings.Split(b.names, ",") {
			basicTypes[name] = image.Basic(b.kind, name, b.size)
		}
	}
}

// computed returns a value of a type of at most eight bytes that is not in memory.
func computed(bits uint64, t image.Type) Variable {
	size := t.Shape().Size
	return Variable{Size: size, Type: t, Data: binary.LittleEndian.AppendUint64(nil, bits)[:size]}
}

func integer(n int64, name string) Variable { return computed(uint64(n), basicTypes[name]) }

func truth(yes bool) Variable {
	if yes {
		return integer(1, "int")
	}
	return integer(0, "int")
}

// literal parses a number in source notation.
func literal(token string) (Variable, error) {
	text := strings.TrimRight(strings.ToLower(token), "ul")
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		if int64(n) < 0 {
			return integer(int64(n), "unsigned long"), nil
		}
		return integer(int64(n), "long"), nil
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "f"), 64)
	if err != nil {
		return Variable{}, fmt.Errorf("%q is not a number", token)
	}
	return computed(math.Float64bits(f), basicTypes["double"]), nil
}

// convert converts a value to another type. A structure becomes an object of that type at
// the same place; anything else is converted as a number.
func convert(v *Variable, t image.Type) (Variable, error) {
	s := t.Shape()
	n, err := numberOf(v)
	if err != nil {
		return *v, err
	}
	switch s.Kind {
	case image.KindFloat:
		f := n.asFloat()
		if s.Size == 4 {
			return computed(uint64(math.Float32bits(float32(f))), t), nil
		}
		return computed(math.Float64bits(f), t), nil
	case image.KindBool:
		return computed(uint64(map[bool]int{true: 1}[n.truth()]), t), nil
	case image.KindStruct, image.KindArray, image.KindVoid, image.KindFunction:
		return *v, fmt.Errorf("a value cannot be converted to %s", s.Name)
	}
	if n.isFloat {
		n.bits = int64(n.float)
	}
	if s.Size == 0 || s.Size > 8 {
		return *v, fmt.Errorf("the size of %s is not known", s.Name)
	}
	return computed(uint64(n.bits), t), nil
}

// operate applies a binary operator.
func (d *Debugger) operate(op string, a, b *Variable) (Variable, error) {
	if op == "==" || op == "!=" {
		left, ok := d.textOf(a)
		right, ok2 := d.textOf(b)
		if ok && ok2 && (a.Type == stringType || b.Type == stringType || a.Type.Shape().Kind == image.KindStruct) {
			return truth(bytes.Equal(left, right) == (op == "==")), nil
		}
	}
	x, err := numberOf(a)
	if err != nil {
		return *a, err
	}
	y, err := numberOf(b)
	if err != nil {
		return *b, err
	}
	if x.isFloat || y.isFloat {
		return floats(op, x.asFloat(), y.asFloat())
	}
	return integers(op, x, y)
}

// textOf returns the text of a string, of an array of characters, or of the characters that
// a pointer points to.
func (d *Debugger) textOf(v *Variable) ([]byte, bool) {
	if v.Type == stringType {
		return v.Data, true
	}
	s := v.Type.Shape()
	data := v.Data
	switch {
	case s.Kind == image.KindStruct:
		data, length, ok := d.stringData(v)
		return data, ok && uint64(len(data)) == length
	case s.Kind == image.KindArray && s.Elem.Shape().Kind == image.KindChar:
	case s.Kind == image.KindPointer && s.Elem.Shape().Kind == image.KindChar:
		at, _ := unsigned(v)
		data = d.Memory(at, maxVariable)
	default:
		return nil, false
	}
	if end := bytes.IndexByte(data, 0); end >= 0 {
		data = data[:end]
	}
	return data, true
}

func floats(op string, x, y float64) (Variable, error) {
	var result float64
	switch op {
	case "==":
		return truth(x == y), nil
	case "!=":
		return truth(x != y), nil
	case "<":
		return truth(x < y), nil
	case "<=":
		return truth(x <= y), nil
	case ">":
		return truth(x > y), nil
	case ">=":
		return truth(x >= y), nil
	case "&&":
		return truth(x != 0 && y != 0), nil
	case "||":
		return truth(x != 0 || y != 0), nil
	case "+":
		result = x + y
	case "-":
		result = x - y
	case "*":
		result = x * y
	case "/":
		result = x / y
	default:
		return Variable{}, fmt.Errorf("%q is not for floating-point numbers", op)
	}
	return computed(math.Float64bits(result), basicTypes["double"]), nil
}

func integers(op string, x, y operand) (Variable, error) {
	less := x.bits < y.bits
	if x.unsigned || y.unsigned {
		less = uint64(x.bits) < uint64(y.bits)
	}
	switch op {
	case "==":
		return truth(x.bits == y.bits), nil
	case "!=":
		return truth(x.bits != y.bits), nil
	case "<":
		return truth(less), nil
	case "<=":
		return truth(less || x.bits == y.bits), nil
	case ">":
		return truth(!less && x.bits != y.bits), nil
	case ">=":
		return truth(!less), nil
	case "&&":
		return truth(x.truth() && y.truth()), nil
	case "||":
		return truth(x.truth() || y.truth()), nil
	}
	r := operand{unsigned: x.unsigned || y.unsigned}
	switch op {
	case "+", "-":
		return sum(op, x, y), nil
	case "*":
		r.bits = x.bits * y.bits
	case "/", "%":
		if y.bits == 0 {
			return Variable{}, errors.New("division by zero")
		}
		switch {
		case r.unsigned && op == "/":
			r.bits = int64(uint64(x.bits) / uint64(y.bits))
		case r.unsigned:
			r.bits = int64(uint64(x.bits) % uint64(y.bits))
		case op == "/":
			r.bits = x.bits / y.bits
		default:
			r.bits = x.bits % y.bits
		}
	case "&":
		r.bits = x.bits & y.bits
	case "|":
		r.bits = x.bits | y.bits
	case "^":
		r.bits = x.bits ^ y.bits
	case "<<":
		r.bits = x.bits << (y.bits & 63)
	case ">>":
		r.bits = x.bits >> (y.bits & 63)
		if x.unsigned {
			r.bits = int64(uint64(x.bits) >> (y.bits & 63))
		}
	}
	return r.variable(), nil
}

// sum adds or subtracts. For pointers it counts elements.
func sum(op string, x, y operand) Variable {
	if op == "-" {
		if x.step > 0 && y.step > 0 {
			return integer((x.bits-y.bits)/x.step, "long")
		}
		y.bits = -y.bits
	}
	switch {
	case x.step > 0:
		x.bits += y.bits * x.step
		return x.variable()
	case y.step > 0:
		y.bits += x.bits * y.step
		return y.variable()
	}
	return operand{bits: x.bits + y.bits, unsigned: x.unsigned || y.unsigned}.variable()
}
