// Package stream compresses the label streams of a whole execution trace, its second
// tier: X. Zhang and R. Gupta, "Whole Execution Traces" (MICRO 2004), section 4. A stream
// is a sequence of uint64: timestamps, patterns, unique values, or one side of the labels
// of an edge.
//
// # Predictors
//
// Values are predicted. A correct prediction takes a bit or less. A stream has one of
// thirteen methods: the four predictors of the paper with three context sizes each, or
// none ([Plain]). Differential FCM and last-n-stride are FCM and last-n on the
// differences of neighbours (modulo 2^64, the first from 0), which are invertible from
// either side. What a predictor sees, values or zigzagged differences, is called symbols
// below.
//
// A finite context method (FCM) hashes the n symbols beside a position, n from 1 to 3, to
// a line of a table that holds the symbol seen there last. A last-n method keeps the n
// symbols, n of 1, 3 or 15 so that codes are filled, that it last failed to predict.
//
// All methods are tried on the first 4096 values, and the one with the shortest binary
// form is used for the whole stream. Streams below 32 values stay plain, and so does a
// stream that would be shorter plain because of its remainder.
//
// # Both directions
//
// A [Cursor] is between two values and steps either way at the same cost.
//
// For FCM this is the machine of figure 5. With the cursor at position i and a context of
// n symbols left of it, the symbols before the context are compressed with their right
// context (FR), those from i on with their left context (BL), each with its own table. A
// step takes a symbol out of one form into the context, and puts the one that leaves at
// the other end into the other form. On a miss the form keeps the line that is replaced,
// not the symbol: the symbol is in the table, and taking it out restores the line. A step
// back therefore undoes a step exactly, and the tables at a position do not depend on the
// path to it (figure 6). Nor do the codes. The package uses that: both forms are written
// once, when a stream is first walked, and all cursors share them. A cursor has only its
// own context, tables and two counters. The paper rewrites the forms in place, which
// allows one traversal at a time. A stream in memory therefore holds both forms, about
// twice what one takes; the binary form holds one.
//
// For last-n one table serves both directions, as section 4 requires. A miss adds the
// symbol and removes the oldest one, and a hit changes nothing. The table at any position
// is then a part of the list of all misses, and one list of misses and one of codes can
// be read in either direction.
//
// The paper pads streams by n values at both ends. Here zeros on the left are enough,
// because the cursor is right of its context.
//
// # Checkpoints
//
// [Cursor.Seek] steps from the nearest checkpoint, or from its position. A checkpoint of
// a last-n method is a rank in the list of misses, every 1024 values. A checkpoint of FCM
// has both tables, and there is one for every 16 values per line. That takes up to a byte
// per value in memory, nearly nothing where the stream is regular, and a seek takes at
// most 8 steps per line. Plain streams need none. Checkpoints are created when a stream
// is first walked, in the two passes that also create the forms. They are not in the
// binary form, where they would be larger than what they index. Long streams are cut by
// the epochs of the trace.
//
// # Sizes of tables
//
// A table has 2^10 lines for n of 1, 2^11 for 2 and 2^12 for 3: longer contexts have more
// variety. A cursor has two, 64 KiB at most, which stays in the second-level cache of
// today's machines and lets thousands of cursors be open; a stream that never fills 4096
// lines is small, and one that overfills them is rarely regular. Streams shorter than the
// trial have tables no larger than themselves, 2^4 lines at least. The size is in the
// binary form.
//
// # Binary form
//
// The form is the paper's one-directional compression, hits and missed symbols, from
// which both directions are rebuilt. It carries no checksum; the container does.
//
//	stream  = version:1 (1) method:1 length:v body
//	body    = [table bits:1 (FCM)] [codes misses:v (not plain)] numbers
//	codes   = 0 bits | 1 (((run length - 1) << width | code):v)…
//	numbers = 0 base:v width:1 bits | 1 number:v…
//
// v is an unsigned LEB128 number. Bits are numbers of one width, the first in the low
// bits of the first byte, the last byte filled with zeros. Codes have one bit for FCM (1
// is a hit) and for last-1, two for last-3, four for last-15: how many misses ago the
// right prediction was added, 0 for a miss. Numbers are the missed symbols in order, or
// the values of a plain stream; at one width they are counted from base.
//
// # Several goroutines
//
// A [Stream] is immutable and may be used by any number of goroutines at once. A
// [Builder] and a [Cursor] belong to one.
package stream
