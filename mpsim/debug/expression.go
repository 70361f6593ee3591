package debug

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hindsight/mpsim/image"
)

// Evaluate evaluates an expression in a frame. It may contain names of variables (also
// namespace::name and, for Go, package.name), registers ($a0), numbers, characters and
// strings, members (a.b, p->c; "." also works for a pointer), elements, *p, &x, casts,
// sizeof, and the operators of C except assignments and "?:". f is nil if there is no
// frame.
func (d *Debugger) Evaluate(f *Frame, text string) (Variable, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return Variable{}, err
	}
	e := evaluation{d: d, frame: f, tokens: tokens}
	v, err := e.binary(0)
	if err != nil {
		return v, err
	}
	if rest := e.peek(); rest != "" {
		return v, fmt.Errorf("%q is not expected here", rest)
	}
	if v.Path == "" {
		v.Path = text
	}
	v.Name = text
	return v, nil
}

// True evaluates an expression and reports whether it is not zero.
func (d *Debugger) True(f *Frame, text string) (bool, error) {
	v, err := d.Evaluate(f, text)
	if err != nil {
		return false, err
	}
	n, err := numberOf(&v)
	return n.truth(), err
}

// evaluation evaluates an expression while parsing it.
type evaluation struct {
	d      *Debugger
	frame  *Frame
	tokens []string
	at     int
	depth  int
	// skipped is not 0 in a part of an expression that has no effect, such as what follows
	// "0 &&". That part is only parsed.
	skipped int
}

// maxNesting bounds the nesting of an expression.
const maxNesting = 100

var errNesting = errors.New("the expression is nested too deeply")

func (e *evaluation) peek() string {
	if e.at < len(e.tokens) {
		return e.tokens[e.at]
	}
	return ""
}

func (e *evaluation) accept(token string) bool {
	if e.peek() != token {
		return false
	}
	e.at++
	return true
}

func (e *evaluation) expect(token string) error {
	if !e.accept(token) {
		return fmt.Errorf("want %q, not %q", token, e.peek())
	}
	return nil
}

// binding is the precedence of binary operators. The strongest has the largest number.
var binding = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8,
	"+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

// binary parses operators that bind more strongly than a bound.
func (e *evaluation) binary(bound int) (Variable, error) {
	if e.depth++; e.depth > maxNesting {
		return Variable{}, errNesting
	}
	defer func() { e.depth-- }()
	left, err := e.unary()
	for err == nil {
		op := e.peek()
		strength := binding[op]
		if strength <= bound {
			break
		}
		e.at++
		short := false
		if (op == "&&" || op == "||") && e.skipped == 0 {
			n, err := numberOf(&left)
			if err != nil {
				return left, err
			}
			short = n.truth() == (op == "||")
		}
		if short {
			e.skipped++
		}
		right, err := e.binary(strength)
		if short {
			e.skipped--
		}
		if err != nil {
			return right, err
		}
		switch {
		case e.skipped > 0:
		case short:
			left = truth(op == "||")
		default:
			if left, err = e.d.operate(op, &left, &right); err != nil {
				return left, err
			}
		}
	}
	return left, err
}

// unary parses an operand with the operators before it.
func (e *evaluation) unary() (v Variable, err error) {
	if e.depth++; e.depth > maxNesting {
		return v, errNesting
	}
	defer func() { e.depth-- }()
	op := e.peek()
	switch op {
	case "*", "&", "-", "+", "!", "~":
		e.at++
		if v, err = e.unary(); err != nil || e.skipped > 0 {
			return v, err
		}
		return e.prefixed(op, &v)
	case "sizeof":
		e.at++
		if t, ok := e.cast(); ok {
			return integer(int64(t.Shape().Size), "unsigned long"), nil
		}
		v, err = e.unary()
		return integer(int64(v.Size), "unsigned long"), err
	case "(":
		if t, ok := e.cast(); ok {
			if v, err = e.unary(); err != nil || e.skipped > 0 {
				return v, err
			}
			return convert(&v, t)
		}
	}
	return e.postfix()
}

// prefixed applies an operator that precedes its operand.
func (e *evaluation) prefixed(op string, v *Variable) (Variable, error) {
	switch op {
	case "*":
		return e.deref(v)
	case "&":
		if v.Addr == 0 {
			return *v, errors.New("this has no address: it is in a register, or was computed")
		}
		if v.Bits > 0 {
			return *v, errors.New("a bit-field has no address")
		}
		return computed(v.Addr, v.Type.Pointer()), nil
	}
	n, err := numberOf(v)
	if err != nil {
		return *v, err
	}
	switch op {
	case "!":
		return truth(!n.truth()), nil
	case "~":
		return integer(^n.bits, "long"), nil
	case "-":
		n.bits, n.float = -n.bits, -n.float
	}
	return n.variable(), nil
}

// deref returns what a pointer points to. For an array it is the first element, and for a
// number the word of eight bytes at that address.
func (e *evaluation) deref(v *Variable) (Variable, error) {
	switch s := v.Type.Shape(); s.Kind {
	case image.KindPointer:
		if s.Elem.Shape().Kind == image.KindVoid {
			return *v, errors.New("this points to void: use a cast")
		}
		return e.readable(e.d.Target(v))
	case image.KindArray:
		return e.readable(e.d.Element(v, 0))
	case image.KindInt, image.KindUint, image.KindUnknown:
		if at, ok := unsigned(v); ok {
			return e.readable(e.d.object("", "", at, longType))
		}
	}
	return *v, errors.New("this is not a pointer")
}

// readable returns an error for what is not in memory.
func (e *evaluation) readable(v Variable) (Variable, error) {
	if v.Addr != 0 && v.Size > 0 && len(v.Data) == 0 || v.Addr == 0 && len(v.Data) == 0 && v.Size > 0 {
		return v, fmt.Errorf("there is no memory at %#x", v.Addr)
	}
	return v, nil
}

// postfix parses an operand with the operators after it.
func (e *evaluation) postfix() (Variable, error) {
	v, err := e.primary()
	for err == nil {
		op := e.peek()
		switch op {
		case "[":
			e.at++
			var index Variable
			if index, err = e.binary(0); err != nil {
				return v, err
			}
			if err = e.expect("]"); err != nil || e.skipped > 0 {
				continue
			}
			v, err = e.element(&v, &index)
		case ".", "->":
			e.at++
			name := e.peek()
			e.at++
			if !isName(name) {
				return v, fmt.Errorf("want the name of a member after %q", op)
			}
			if e.skipped == 0 {
				v, err = e.memberOf(&v, name)
			}
		default:
			return v, nil
		}
	}
	return v, err
}

func (e *evaluation) element(v, index *Variable) (Variable, error) {
	n, err := numberOf(index)
	if err != nil {
		return *v, err
	}
	at := int(n.bits)
	switch s := v.Type.Shape(); s.Kind {
	case image.KindArray, image.KindPointer:
		if s.Elem.Shape().Size == 0 {
			return *v, errors.New("the elements have no known size: use a cast")
		}
		if s.Kind == image.KindArray && s.Count > 0 && (at < 0 || uint64(at) >= s.Count) {
			return *v, fmt.Errorf("element %d of %d", at, s.Count)
		}
		return e.readable(e.d.Element(v, at))
	case image.KindUnknown:
		if v.Addr == 0 || at < 0 || uint64(at+1)*4 > v.Size {
			return *v, fmt.Errorf("there is no element %d of 4 bytes", at)
		}
		return e.readable(e.d.Element(v, at))
	}
	if _, count, _, ok := e.d.sequence(v); ok {
		if at < 0 || at >= count {
			return *v, fmt.Errorf("element %d of %d", at, count)
		}
		return e.readable(e.d.Element(v, at))
	}
	return *v, errors.New("this has no elements")
}

func (e *evaluation) memberOf(v *Variable, name string) (Variable, error) {
	from := *v
	if from.Type.Shape().Kind == image.KindPointer {
		to, err := e.readable(e.d.Target(&from))
		if err != nil {
			return from, err
		}
		from = to
	}
	if m, ok := e.d.Member(&from, name); ok {
		return m, nil
	}
	if s := from.Type.Shape(); s.Kind != image.KindUnknown {
		return from, fmt.Errorf("%s has no member %s", s.Name, name)
	}
	return from, fmt.Errorf("the type of this is not known: it has no member %s", name)
}

// primary parses a name, a number, a register or an expression in parentheses.
func (e *evaluation) primary() (v Variable, err error) {
	token := e.peek()
	e.at++
	switch {
	case token == "":
		return v, errors.New("the expression is not complete")
	case token == "(":
		if v, err = e.binary(0); err == nil {
			err = e.expect(")")
		}
		return v, err
	case token[0] == '$':
		return e.register(token[1:])
	case token[0] == '"':
		text, err := strconv.Unquote(token)
		return Variable{Data: []byte(text), Size: uint64(len(text)), Type: stringType}, err
	case token[0] == '\'':
		r, _, _, err := strconv.UnquoteChar(token[1:len(token)-1], '\'')
		return integer(int64(r), "int"), err
	case token[0] >= '0' && token[0] <= '9':
		return literal(token)
	case !isName(token):
		return v, fmt.Errorf("%q is not expected here", token)
	}
	if e.skipped > 0 {
		return v, nil
	}
	return e.name(token)
}

// name finds a variable: of the frame, global, or a member of the object whose method the
// frame executes. In Go, the name of a package precedes it.
func (e *evaluation) name(name string) (Variable, error) {
	switch name {
	case "true", "false":
		return truth(name == "true"), nil
	case "NULL", "nullptr", "nil":
		return computed(0, image.Basic(image.KindVoid, "void", 0).Pointer()), nil
	}
	if v, ok := e.d.Variable(e.frame, name); ok {
		return v, nil
	}
	if e.at+1 < len(e.tokens) && e.tokens[e.at] == "." && isName(e.tokens[e.at+1]) {
		if v, ok := e.d.Variable(e.frame, name+"."+e.tokens[e.at+1]); ok {
			e.at += 2
			return v, nil
		}
	}
	if this, ok := e.d.Variable(e.frame, "this"); ok && e.frame != nil {
		if v, err := e.memberOf(&this, name); err == nil {
			return v, nil
		}
	}
	if f, ok := e.d.Journal().Image().Lookup(name); ok {
		return computed(f.Addr, image.Basic(image.KindFunction, "code", 0).Pointer()), nil
	}
	return Variable{}, fmt.Errorf("there is no variable %q here", name)
}

// register returns the value of a register of the frame.
func (e *evaluation) register(name string) (Variable, error) {
	f := e.frame
	switch {
	case e.skipped > 0:
		return Variable{}, nil
	case f == nil:
		return Variable{}, errors.New("there is no frame")
	case name == "pc":
		return computed(f.PC, image.Basic(image.KindFunction, "code", 0).Pointer()), nil
	case name == "_thread" || name == "thread":
		return integer(int64(f.Thread), "long"), nil
	case name == "fp":
		name = "s0"
	}
	for i, v := range f.X {
		if IntegerNames[i] == name || fmt.Sprintf("x%d", i) == name {
			return integer(int64(v), "long"), nil
		}
	}
	for i, register := range FloatNames {
		if register == name && f.F != nil {
			return computed(f.F[i], image.Basic(image.KindFloat, "double", 8)), nil
		}
	}
	return Variable{}, fmt.Errorf("there is no register %s", name)
}

// cast reads a type in parentheses; ok is false if there is something else, and nothing
// is read.
func (e *evaluation) cast() (t image.Type, ok bool) {
	start := e.at
	defer func() {
		if !ok {
			e.at = start
		}
	}()
	if !e.accept("(") {
		return t, false
	}
	var words []string
	for isName(e.peek()) {
		if word := e.peek(); word != "const" && word != "volatile" {
			words = append(words, word)
		}
		e.at++
		for e.accept(".") { // main.account
			words[len(words)-1] += "." + e.peek()
			e.at++
		}
	}
	stars := 0
	for e.accept("*") {
		stars++
	}
	if len(words) == 0 || !e.accept(")") {
		return t, false
	}
	name := strings.Join(words, " ")
	if t, ok = basicTypes[name]; !ok {
		if len(words) == 1 && stars == 0 {
			if _, variable := e.d.Variable(e.frame, name); variable {
				return t, false
			}
		}
		for _, m := range e.d.Journal().Image().Images() {
			if t, ok = m.TypeNamed(name); ok {
				break
			}
		}
	}
	for ; ok && stars > 0; stars-- {
		t = t.Pointer()
	}
	return t, ok
}

// tokenize splits an expression into names, numbers, texts and operators.
func tokenize(text string) (tokens []string, err error) {
	const maxTokens = 10000
	operators := []string{"->", "::", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}
	for i := 0; i < len(text) && len(tokens) < maxTokens; {
		c := text[i]
		end := i + 1
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			i++
			continue
		case c >= '0' && c <= '9':
			for end < len(text) && (wordByte(text[end]) || text[end] == '.') {
				end++
			}
		case wordByte(c):
			for end < len(text) && (wordByte(text[end]) || strings.HasPrefix(text[end:], "::") || text[end-1] == ':' && text[end] == ':') {
				end++
			}
		case c == '"' || c == '\'':
			for end < len(text) && text[end] != c {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end++; end > len(text) {
				return nil, fmt.Errorf("%s has no end", text[i:])
			}
		default:
			for _, op := range operators {
				if strings.HasPrefix(text[i:], op) {
					end = i + len(op)
				}
			}
		}
		tokens = append(tokens, text[i:end])
		i = end
	}
	return tokens, nil
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isName(token string) bool {
	return token != "" && wordByte(token[0]) && token[0] != '$' && (token[0] < '0' || token[0] > '9')
}
