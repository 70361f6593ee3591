package wpp

import "fmt"

// Terminal is a letter of the string. The caller defines its meaning. Small dense numbers
// lead to small traces.
type Terminal uint32

// MaxTerminal is the greatest terminal that a grammar can hold.
const MaxTerminal Terminal = 1<<31 - 1

// Rule numbers a rule of a [Grammar], dense from 0.
type Rule uint32

// Symbol is a terminal or the use of a rule, as it occurs in a rule body.
type Symbol uint32

const ruleBit = 1 << 31

// TerminalSymbol returns the symbol of a terminal. The terminal must not exceed
// [MaxTerminal].
func TerminalSymbol(t Terminal) Symbol { return Symbol(t) &^ ruleBit }

// RuleSymbol returns the symbol of a use of rule r.
func RuleSymbol(r Rule) Symbol { return Symbol(r) | ruleBit }

// IsRule reports whether the symbol is the use of a rule.
func (s Symbol) IsRule() bool { return s&ruleBit != 0 }

// Terminal returns the terminal of a symbol that is not a rule.
func (s Symbol) Terminal() Terminal { return Terminal(s &^ ruleBit) }

// Rule returns the rule of a symbol that is one.
func (s Symbol) Rule() Rule { return Rule(s &^ ruleBit) }

func (s Symbol) String() string {
	if s.IsRule() {
		return fmt.Sprintf("R%d", s.Rule())
	}
	return fmt.Sprintf("%d", s.Terminal())
}
