// Package rawtrace reads and writes the uncompressed trace formats that the
// trace-compression papers studied (docs/raw-formats.md):
//
//   - PC/ED records (VPC3, section 3.1): a 32-bit program counter and 64 bits
//     of extended data, an effective address or a loaded value;
//   - block leaders (LD&R, section 3): the address of the first instruction of
//     each basic block executed, followed by the data addresses of the block;
//   - the text that Valgrind's lackey prints with --trace-mem=yes, and its
//     lossless translation into PC/ED records and back.
//
// All numbers are little-endian. No more than one line of a trace is held in memory.
// Writers and iterators belong to one goroutine.
package rawtrace
