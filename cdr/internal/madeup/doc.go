// Package madeup makes the control flow of programs that do not exist, for the
// tests of traces.
package madeup
