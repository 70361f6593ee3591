// Package format is what the recorder and the view of a trace share: the payloads
// of the file's blocks, written and read, and the words that these are made of:
// sites, events, terminals, the record of what was run and how.
//
// Every payload stands in one file with its layout drawn at the top: tables.go,
// controlblock.go, flowblock.go, datablock.go, commit.go, schedule.go, object.go,
// meta.go. What a payload may hold is bounded when it is read; one that holds more,
// or contradicts itself, is an error that wraps one of package tracefmt.
//
// Decoded values may be used from several goroutines at once; [Tables] may not.
package format
