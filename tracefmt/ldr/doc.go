// Package ldr compresses block-leader address traces by loop detection and reduction
// (Elnozahy, "Address Trace Compression Through Loop Detection and Reduction", extended
// abstract, SIGMETRICS 1999).
//
// # The raw trace
//
// 64-bit little-endian words. A word with bit 63 set is the address of the first
// instruction of a basic block that is executed; the words after it, with bit 63 clear,
// are the data addresses that the block touches, in order. Any bytes are a trace: words
// before the first leader form blocks without one, and an incomplete last word is stored
// unchanged.
//
// # Algorithm
//
// The trace is processed window by window (section 2 of the abstract, where the window is
// the whole trace):
//
//  1. The dynamic control-flow graph of the window is built: its nodes are the
//     blocks, and its edges are the observed successions. Back edges are those
//     to a dominator; natural loops and their nesting follow.
//  2. The window is read as a tree of loops, their iterations, and blocks.
//     Innermost first, consecutive iterations that take the same path are
//     merged into one loop with a count. A reference that is constant or
//     changes by a constant from iteration to iteration is stored as its first
//     address and its stride (zero for constant references). A chaotic one is
//     stored as all its addresses. Counts, first addresses and strides of a
//     loop are values of the enclosing iteration like any address, so nests
//     reduce as a whole.
//  3. What remains, the top level of the tree, is written as references to
//     shapes (a piece of the tree without its values) with their values, each
//     as its difference from the previous value at the same place of the same
//     shape, extrapolated by the stride seen there. The data of a new block are
//     compared with those of the previous block.
//
// The result is compressed with zstd, unlike in the abstract's tool. Options.Plain omits
// that step.
//
// # Format
//
//	head     "HLDR", version 2, a byte: 1 when zstd follows, 0 when not
//	windows  uvarint words of the window (not 0, at most 2^17)
//	         uvarint length, shapes section: uvarint codes until the window is full:
//	           0  a block is defined: uvarint data words*2+1 (without leader: +0),
//	              zigzag uvarint: leader without bit 63, from that of the block
//	              defined before
//	           1  a sequence is defined: uvarint members, and for each the
//	              uvarint distance back to its shape
//	           2  a loop is defined: uvarint distance back to its body, a bit
//	              for each value of the body (1: chaotic), in bytes from bit 0;
//	              when one is set, uvarint iterations
//	           3  the table of shapes is emptied
//	           4+n  an item of shape n; its values are in the values section
//	         uvarint length, values section: zigzag uvarint residuals
//	end      a zero byte, uvarint length of the tail (0 to 7), tail
//
// Values of a block: its data words. Of a sequence: those of its members. Of a loop: its
// count of iterations, unless the shape has it; then for each value of the body its first
// and its stride, or all of them when it is chaotic.
//
// Writers and readers belong to one goroutine and leave the underlying stream open.
// Memory is bounded by the window and by the table of shapes.
package ldr
