// Package jsonform has the JSON forms that reports share.
package jsonform

import "fmt"

// Address is an address. In JSON it is a hexadecimal string, because not every reader
// keeps 64 bits of a number.
type Address uint64

// MarshalJSON implements [encoding/json.Marshaler].
func (a Address) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"0x%x"`, uint64(a)), nil }

// Tool is the program that wrote a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Hindsight returns the Tool of this program in a version.
func Hindsight(version string) Tool { return Tool{"hindsight", version} }

// Frame is a place in the program, as it occurs in call stacks.
type Frame struct {
	Function string  `json:"function"`
	File     string  `json:"file"`
	Line     int     `json:"line"`
	PC       Address `json:"pc"`
}
