// Package jsonform has the JSON forms that all reports share.
package jsonform

import "fmt"

// Address is an address; JSON has it as a string in hexadecimal, since not every
// reader keeps 64 bits of a number.
type Address uint64

// MarshalJSON implements [encoding/json.Marshaler].
func (a Address) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"0x%x"`, uint64(a)), nil }

// Tool is what wrote a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Hindsight is this program, of a version.
func Hindsight(version string) Tool { return Tool{"hindsight", version} }

// Frame is a place in the program.
type Frame struct {
	Function string  `json:"function"`
	File     string  `json:"file"`
	Line     int     `json:"line"`
	PC       Address `json:"pc"`
}
