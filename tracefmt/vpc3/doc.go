// Package vpc3 compresses traces of PC/ED records, a 32-bit program counter and 64 bits
// of extended data (an effective address, a loaded value), with value predictors that
// turn the trace into streams which a general compressor compresses well (Burtscher,
// "VPC3: A Fast and Effective Trace-Compression Algorithm", SIGMETRICS 2004).
//
// # The paper's profile
//
// This profile follows sections 3.3 and 4.4 to the letter where they are explicit:
//
//   - PC: FCM1ab and FCM3ab, global. 131,072 and 524,288 lines of two 4-byte
//     values. They share their first level: three hashes.
//   - Extended data: DFCM1ab (131,072 lines), DFCM3ab (524,288 lines), L4V, and
//     FCM1ab (524,288 lines), two 8-byte values per line. First-level tables
//     have 65,536 lines, indexed by the PC modulo that number; the last value
//     of the DFCMs is the first of the L4V.
//   - Every predictor is updated with every value: the line's first value
//     becomes its second. There are no counters in lines.
//   - If several predictors are right, the one named most often so far is
//     named, and on a tie the first in the order above.
//   - Four streams, of bytes: the number of the PC's predictor (4: none is
//     right), the PCs not predicted, the number of the extended data's (10:
//     none), the extended data not predicted.
//
// Where the paper is silent: a hash of order n is, from the table sizes (a table of order
// three has four times the lines), fold(v1) ^ fold(v2)<<1 ^ fold(v3)<<2, where v1 is the
// latest value and fold the exclusive or of its 17-bit parts; it is updated
// incrementally, which takes the three hashes per line that the paper counts. FCM1 of the
// extended data, whose table is larger and whose first level is one hash, folds by 19
// bits.
//
// The tables take 26 MB for any trace, in addition to zstd's windows.
//
// # The mixed profile
//
// The second profile produces smaller output on every trace that was measured, and is
// slower on irregular ones. It predicts PCs by FCM6ab, FCM3ab and FCM1ab, and extended
// data by DFCM3ab, DFCM1ab, FCM3ab, FCM1ab (all but the first with the PC in their
// context), the last two values, the extended data of the previous record plus the
// difference the last time that these two instructions were adjacent, and what last
// followed that extended data at this instruction. The two values of a line are distinct.
// Instead of streams and a post-compressor there is one arithmetic-coded string of
// decisions, whose probabilities are mixed from four contexts each:
//
//   - after 32 records as expected: how many more are, up to 32;
//   - else, whether both fields are what is expected first: the PC of FCM6a,
//     and the extended data of the predictor that was right at this PC before;
//   - when not, candidate by candidate, duplicates left out, whether it is
//     right, first for the PC and then for the extended data; after the first
//     of the latter, whether any is;
//   - when none is, how many high bytes are those of the previous value, and the
//     other bytes bit by bit.
//
// Where the same predictor of an instruction was right more than eight times in a row
// (one of the first values of a line, or the last value), and 32 records were as
// expected, only FCM6 and that predictor are consulted, and a record as expected changes
// no table. The values of regular parts therefore do not fill the tables, and do not
// touch the tables' memory.
//
// The writer tries, on the first 65,536 records, how fast the hash of FCM6 should forget
// (it is shifted by 5, 3 or 8 bits a PC, which makes it of order six, ten or four,
// roughly), and continues with the best. Tables are smaller for traces that end before
// that. The tables take at most 17 MB, twice that while it chooses.
//
// # Format
//
//	head     "VPC3", version 2, profile, post-compressor (0 zstd, 1 bzip2, 2 none)
//	         uvarint length of the trace's header, the header
//	chunks   uvarint records (not 0, at most 2^21)
//	         for each stream: uvarint compressed length
//	         the compressed streams
//	end      a chunk of no records, which ends the streams; then
//	         uvarint length of the tail (0 to 11), the bytes after the last
//	         whole record
//
// A zstd stream is one frame through all chunks, flushed at the end of each. A bzip2
// stream starts again in each chunk, and is left out if empty. The mixed profile has one
// stream and no post-compressor: the coder is restarted in each chunk but keeps what it
// has learned, and it writes no bytes at the end. Its first chunk begins with two bytes:
// how often the tables' sizes are halved (0 to 7), and the shift of FCM6's hash (1 to
// 16). The format has no checksum; package packed adds one.
//
// A [Writer] or [Reader] belongs to one goroutine and leaves the underlying stream open.
package vpc3
