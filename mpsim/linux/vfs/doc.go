// Package vfs is the file system of a guest: a tree in memory, and directories of the host
// that the guest can read. The host's files are never changed; see scratch.go for what the
// guest writes. The package knows neither descriptors nor system calls.
//
// # Files of this package
//
// file.go (what an open file is), fs.go (looking up and opening paths), names.go (creating,
// removing and renaming), mode.go (permissions), node.go and memfs.go (the tree in memory
// and its files), hostfs.go (directories of the host), scratch.go (files that the guest
// writes where the host has them), digest.go, contents.go (a cache of host files that are
// loaded as images).
//
// Errors are negative error numbers of Linux, as system calls return them. An [FS] belongs
// to one goroutine at a time.
package vfs
