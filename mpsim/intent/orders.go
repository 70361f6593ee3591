package intent

import (
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Some memory orders of C appear only in the source text: gcc before version 14 emits a
// compare-and-swap with release like one without, and every fence as a full one. The line
// table has the column at which the operation begins, which leads to its name in the text.

// orderNames are the constants of memory orders without the prefixes in orderPrefixes.
// Their indices are the numbers that compilers use.
var (
	orderNames    = [...]string{"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"}
	orderPrefixes = [...]string{"std::", "memory_order::", "memory_order_", "__ATOMIC_"}
)

// orderArguments says which arguments of an operation are the memory orders for success and
// failure, counted from 0.
var orderArguments = map[string][2]int{
	"atomic_thread_fence":                     {0, 0},
	"__atomic_thread_fence":                   {0, 0},
	"atomic_compare_exchange_weak_explicit":   {3, 4},
	"atomic_compare_exchange_strong_explicit": {3, 4},
	"__atomic_compare_exchange_n":             {4, 5},
	"__atomic_compare_exchange":               {4, 5},
}

// findOrders returns the operations in a text without comments whose orders are given as
// constants. In the line table, an operation in the arguments of a macro has the place of
// the macro. So inMacros has an operation at each name that is followed by parentheses
// around exactly one operation.
func findOrders(text string) (list, inMacros []image.OrderNotes) {
	type around struct {
		at               image.OrderNotes // place of the name
		operations       int
		success, failure uint8
	}
	var open []around
	at := image.OrderNotes{Line: 1} // of the previous name
	line, begin := 1, 0             // of the line
	for n := 0; n < len(text); {
		switch c := text[n]; {
		case c == '\n':
			line, begin = line+1, n+1
		case c == '(':
			open = append(open, around{at: at})
		case c == ')' && len(open) > 0:
			if o := open[len(open)-1]; o.operations == 1 && o.at.Column > 0 {
				o.at.Success, o.at.Failure = o.success, o.failure
				inMacros = append(inMacros, o.at)
			}
			open = open[:len(open)-1]
		case c == ';' && len(open) == 0, c == '#':
			open = nil
		case wordByte(c):
			from := n
			for n < len(text) && wordByte(text[n]) {
				n++
			}
			at = image.OrderNotes{Line: line, Column: from - begin + 1}
			which, known := orderArguments[text[from:n]]
			if !known {
				if strings.Contains(text[from:n], "atomic") {
					at.Column = 0 // the name is itself inside an argument
				}
				continue
			}
			success, failure, ok := readOrders(text[n:], which)
			if ok {
				list = append(list, image.OrderNotes{Line: line, Column: at.Column, Success: success, Failure: failure})
			}
			for i := range open {
				open[i].operations++
				if !ok {
					open[i].operations++
				}
				open[i].success, open[i].failure = success, failure
			}
			at.Column = 0
			continue
		}
		if text[n] > ' ' && text[n] != '(' {
			at.Column = 0
		}
		n++
	}
	return list, inMacros
}

// readOrders reads two of the arguments in the parentheses at the beginning of text.
func readOrders(text string, which [2]int) (success, failure uint8, ok bool) {
	args := arguments(text)
	if len(args) != max(which[0], which[1])+1 {
		return 0, 0, false
	}
	success, ok = orderNumber(args[which[0]])
	failure, too := orderNumber(args[which[1]])
	return success, failure, ok && too
}

// arguments splits the content of the parentheses at the beginning of text at the commas.
// It returns nil if they are not closed.
func arguments(text string) []string {
	text = strings.TrimLeft(text, " \t\r\n")
	if !strings.HasPrefix(text, "(") {
		return nil
	}
	var list []string
	depth, from := 0, 1
	for n := range len(text) {
		switch text[n] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
			if depth == 0 {
				return append(list, text[from:n])
			}
		case ',':
			if depth == 1 {
				list = append(list, text[from:n])
				from = n + 1
			}
		case ';':
			return nil
		}
	}
	return nil
}

func orderNumber(arg string) (uint8, bool) {
	arg = strings.TrimSpace(arg)
	for _, p := range orderPrefixes {
		arg = strings.TrimPrefix(arg, p)
	}
	arg = strings.ToLower(arg)
	for n, name := range orderNames {
		if arg == name {
			return uint8(n), true
		}
	}
	return 0, false
}

// Orders returns the memory orders of the compare-and-swap at pc according to the source
// text, for success and for failure, with the numbers that compilers use.
func (c *Code) Orders(pc uint64) (success, failure uint64, ok bool) {
	o := c.orders(pc)
	return uint64(o.Success), uint64(o.Failure), o.Line > 0
}

// FenceMode returns what the fence at pc orders according to the source text. If nothing is
// known, it returns everything that the fence might order.
func (c *Code) FenceMode(pc uint64) event.Mode {
	o := c.orders(pc)
	if o.Line == 0 {
		return event.Acquire | event.Release
	}
	switch orderNames[o.Success] {
	case "relaxed":
		return 0
	case "consume", "acquire":
		return event.Acquire
	case "release":
		return event.Release
	}
	return event.Acquire | event.Release
}

// NextFenceMode is [Code.FenceMode] for the fence that is treated as part of the access at
// pc, if it is a statement of its own. If there is none, it returns everything.
func (c *Code) NextFenceMode(pc uint64) event.Mode {
	i, ok := c.at(pc)
	if !ok {
		return event.Acquire | event.Release
	}
	at, ok := c.fenceOf(pc, i)
	if !ok {
		return event.Acquire | event.Release
	}
	return c.FenceMode(at)
}

// orders returns the note on the operation at pc. Line 0 means that there is none.
func (c *Code) orders(pc uint64) image.OrderNotes {
	if c.img.Notes == nil {
		return image.OrderNotes{}
	}
	return remember(c, c.ordered, pc, func(pc uint64) image.OrderNotes {
		p := c.place(pc)
		at, ok := c.img.Statement(pc)
		if !ok || p.notes == nil || int(at.Line) != p.line {
			return image.OrderNotes{}
		}
		for _, o := range p.notes.Orders {
			if o.Line == p.line && o.Column == int(at.Column) {
				return o
			}
		}
		return image.OrderNotes{}
	})
}
