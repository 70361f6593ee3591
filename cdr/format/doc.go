// Package format encodes and decodes the payloads of a trace's blocks, and defines what
// they consist of: sites, events, terminals, and the record of what was run and how.
// Package cdr/recorder writes payloads, package cdr reads them. The container around them
// is package tracefmt; docs/trace-format.md describes both.
//
// Each payload has a file, which begins with its layout: tables.go, controlblock.go,
// flowblock.go, datablock.go, siteblocks.go, commit.go, schedule.go, object.go and
// meta.go. Decoding bounds what a payload may hold. A payload that holds more or
// contradicts itself causes an error that wraps one of package tracefmt.
//
// Decoded values may be used by several goroutines at once, except [Tables].
package format
