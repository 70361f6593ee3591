// Package image reads the program that the simulator runs, an RV64 Linux ELF executable,
// and the shared objects that it loads: their memory images, their symbols, and their DWARF
// information about lines, inlining and variables. A [Space] is all of them as placed in
// memory; an [Image] is one of them.
//
// The file is untrusted. Every size in it is checked against the length of the file or
// against a stated limit before anything of that size is allocated. A file that cannot be
// used results in an error, never in a panic. Damaged debug information is not an error:
// the image is still usable, its queries fall back to the symbol table, and
// [Image.DebugErr] says what was wrong.
//
// An [Image] is immutable after [Parse]. Debug information is decoded on demand, one
// compilation unit at a time, under a lock. All methods may be called from several
// goroutines at once. Nothing needs to be closed.
//
// # Addresses
//
// A position-independent executable is placed at [PIEBase]. Every address that
// this package takes or returns is an address of the running program; callers
// never see the addresses of the file. The words of the program's data are not
// relocated: the start-up code of a static PIE does that itself.
//
// # What counts as the user's code
//
// [Image.User] and [Image.UserObject] distinguish the program under examination
// from the libraries linked into it. With debug information, the user's code is
// what a compilation unit covers, because the C library, libgcc and libstdc++
// of the cross toolchains have none. Without any debug information, the names
// of the source files in the symbol table decide, by the rule at userBySymbols.
package image
