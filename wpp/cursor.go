package wpp

import "slices"

// Step is an edge of a path down a grammar: the symbol at Index in the body of
// Rule.
type Step struct {
	Rule  Rule
	Index uint32
}

// Path leads from the start rule down to a terminal, or to any node on the way. Two paths
// of one grammar are equal if and only if they lead to the same place in the string.
type Path []Step

// Cursor is a position in the string of a grammar: at a terminal, or at the end. It is
// the path from the start rule, so a step in either direction takes amortised constant
// time and expands nothing.
type Cursor struct {
	g    *Grammar
	path Path // the last step is at a terminal, or at the end of the start rule
}

// Begin returns a cursor at the first terminal, or at the end if there is none.
func (g *Grammar) Begin() *Cursor {
	c := &Cursor{g: g}
	c.ToBegin()
	return c
}

// End returns a cursor at the end of the string.
func (g *Grammar) End() *Cursor {
	c := &Cursor{g: g}
	c.ToEnd()
	return c
}

// ToBegin moves to the first terminal.
func (c *Cursor) ToBegin() {
	c.path = append(c.path[:0], Step{Rule: c.g.Start()})
	c.descendFirst()
}

// ToEnd moves to the end of the string.
func (c *Cursor) ToEnd() {
	start := c.g.Start()
	c.path = append(c.path[:0], Step{start, uint32(len(c.g.Body(start)))})
}

// Grammar returns the grammar that the cursor moves in.
func (c *Cursor) Grammar() *Grammar { return c.g }

// symbol returns the symbol at the last step. ok is false at the end of a body.
func (c *Cursor) symbol() (s Symbol, ok bool) {
	top := c.path[len(c.path)-1]
	at := c.g.off[top.Rule] + top.Index
	if at >= c.g.off[top.Rule+1] {
		return 0, false
	}
	return c.g.body[at], true
}

// descendFirst goes down to the first terminal of the symbol at the last step.
func (c *Cursor) descendFirst() {
	for {
		s, ok := c.symbol()
		if !ok || !s.IsRule() {
			return
		}
		c.path = append(c.path, Step{Rule: s.Rule()})
	}
}

// descendLast goes down to the last terminal of the symbol at the last step.
func (c *Cursor) descendLast() {
	for {
		s, ok := c.symbol()
		if !ok || !s.IsRule() {
			return
		}
		c.path = append(c.path, Step{s.Rule(), uint32(len(c.g.Body(s.Rule()))) - 1})
	}
}

// AtEnd reports whether the cursor is at the end of the string.
func (c *Cursor) AtEnd() bool {
	_, ok := c.symbol()
	return !ok
}

// Terminal returns the terminal at the cursor. ok is false at the end.
func (c *Cursor) Terminal() (t Terminal, ok bool) {
	s, ok := c.symbol()
	return s.Terminal(), ok
}

// Next moves to the next terminal, or to the end. It reports false if the cursor is then
// at the end.
func (c *Cursor) Next() bool {
	if c.AtEnd() {
		return false
	}
	if !c.ascendNext() {
		return false
	}
	c.descendFirst()
	return true
}

// ascendNext moves to the symbol after the current one. It goes up as far as needed, but
// not down. It reports false at the end of the string.
func (c *Cursor) ascendNext() bool {
	for {
		c.path[len(c.path)-1].Index++
		if _, ok := c.symbol(); ok {
			return true
		}
		if len(c.path) == 1 {
			return false
		}
		c.path = c.path[:len(c.path)-1]
	}
}

// Prev moves to the previous terminal. At the first terminal it reports false and stays.
func (c *Cursor) Prev() bool {
	up := len(c.path) - 1
	for up >= 0 && c.path[up].Index == 0 {
		up--
	}
	if up < 0 {
		return false
	}
	c.path = c.path[:up+1]
	c.path[up].Index--
	c.descendLast()
	return true
}

// Skip moves to the first terminal, at the cursor or after it, whose symbol is
// interesting. It enters only interesting rules: a rule is interesting if its string
// contains an interesting terminal. If there is none, Skip reports false and the cursor
// is at the end.
func (c *Cursor) Skip(interesting func(Symbol) bool) bool {
	for {
		s, ok := c.symbol()
		switch {
		case !ok:
			return false
		case !interesting(s):
			if !c.ascendNext() {
				return false
			}
		case !s.IsRule():
			return true
		default:
			c.path = append(c.path, Step{Rule: s.Rule()})
		}
	}
}

// Path returns the path of the cursor. It is valid until the cursor moves; at the end of
// the string its only step is after the last symbol of the start rule.
func (c *Cursor) Path() Path { return c.path }

// Depth returns the number of steps of the path.
func (c *Cursor) Depth() int { return len(c.path) }

// Clone returns an independent cursor at the same position.
func (c *Cursor) Clone() *Cursor { return &Cursor{g: c.g, path: slices.Clone(c.path)} }

// Set moves to the position of d, a cursor of the same grammar.
func (c *Cursor) Set(d *Cursor) {
	c.g = d.g
	c.path = append(c.path[:0], d.path...)
}

// SetPath moves to the terminal that a path of the grammar leads to.
func (c *Cursor) SetPath(p Path) { c.path = append(c.path[:0], p...) }

// Compare orders positions in the string of one grammar: negative if c is before d, 0 if
// they are the same.
func (c *Cursor) Compare(d *Cursor) int {
	for i := range min(len(c.path), len(d.path)) {
		if a, b := c.path[i].Index, d.path[i].Index; a != b {
			if a < b {
				return -1
			}
			return 1
		}
	}
	return 0
}
