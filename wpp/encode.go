package wpp

import "encoding/binary"

// The binary form of a grammar. All numbers are unsigned LEB128, in their
// shortest form.
//
//	rules      number of rules, the start among them, at least 1
//	symbols    number of symbols in all bodies
//	length     for each rule but the start, in order of first use: symbols - 2
//	code       for each symbol
//
// Codes follow a walk from the start rule that enters a rule at its first use,
// depth first and left to right, so the first use of a rule needs no number,
// and terminals that are numbered by first use need none either:
//
//	0          first use of a rule; its body follows at once
//	1          the terminal that follows the greatest so far (0 at first)
//	2 + 2t     terminal t
//	3 + 2d     rule that was finished d rules before the last finished one
//
// Lengths and codes stand in separate columns, mostly a byte each, so that an
// entropy stage behind has something to hold on to.
const (
	codeNewRule = iota
	codeNewTerminal
	codeTerminal
	codeRule
)

// walk calls visit for each symbol in order of the binary form. fresh marks
// the first use of a rule, whose body follows.
func (g *Grammar) walk(visit func(s Symbol, fresh bool, finished uint32)) {
	finished := uint32(0)
	stack := []step32{{rule: uint32(g.Start())}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		at := g.off[top.rule] + top.index
		if at == g.off[top.rule+1] {
			finished++
			stack = stack[:len(stack)-1]
			continue
		}
		top.index++
		s := g.body[at]
		fresh := s.IsRule() && uint32(s.Rule()) >= finished
		visit(s, fresh, finished)
		if fresh {
			stack = append(stack, step32{rule: uint32(s.Rule())})
		}
	}
}

// AppendBinary appends the binary form of the grammar to dst. [Decode] reads
// it back.
func (g *Grammar) AppendBinary(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(g.Rules()))
	dst = binary.AppendUvarint(dst, uint64(g.Symbols()))
	dst = g.appendLengths(dst)
	dst, _ = g.appendCodes(dst, 0)
	return dst
}

func (g *Grammar) appendLengths(dst []byte) []byte {
	if g.Rules() == 1 {
		return dst
	}
	g.walk(func(s Symbol, fresh bool, _ uint32) {
		if fresh {
			dst = binary.AppendUvarint(dst, uint64(len(g.Body(s.Rule()))-2))
		}
	})
	return dst
}

// appendCodes appends the codes of all symbols; next is the terminal that
// codeNewTerminal stands for, before and after.
func (g *Grammar) appendCodes(dst []byte, next Terminal) ([]byte, Terminal) {
	g.walk(func(s Symbol, fresh bool, finished uint32) {
		var code uint64
		switch {
		case fresh:
			code = codeNewRule
		case s.IsRule():
			code = codeRule + 2*uint64(finished-1-uint32(s.Rule()))
		case s.Terminal() == next:
			code = codeNewTerminal
		default:
			code = codeTerminal + 2*uint64(s.Terminal())
		}
		if !s.IsRule() && s.Terminal() >= next {
			next = s.Terminal() + 1
		}
		dst = binary.AppendUvarint(dst, code)
	})
	return dst, next
}
