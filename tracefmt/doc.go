// Package tracefmt is the container of a trace file: a versioned sequence of checksummed,
// separately compressed blocks with an index at the tail. It knows the purpose of a block
// (its [Kind]) but not the content.
//
// # Layout, version 2
//
// All integers are little endian. CRC is CRC-32C (Castagnoli).
//
//	file   = header block* index-block footer
//
//	header, 16 bytes
//	+0  8  magic 89 48 53 54 0D 0A 1A 0A  ("\x89HST\r\n\x1a\n")
//	+8  2  version (2)
//	+10 2  flags (0)
//	+12 4  CRC of bytes 0..11
//
//	block, 28 bytes and the stored payload
//	+0  1  kind   1 meta, 2 image, 3 tables, 4 control, 5 data, 6 sync,
//	              7 commit, 8 index, 9 arch, 10 arch-summary, 11 names,
//	              12 wet-tables, 13 wet-labels, 14 flow, 15 schedule,
//	              16 object, 17 notes; numbers are only ever appended
//	+1  1  codec  0 stored, 1 one zstd frame
//	+2  2  zero
//	+4  4  epoch  FFFFFFFF for blocks that belong to no epoch (meta, image, index,
//	              object, arch-summary, names, notes, wet)
//	+8  4  thread control, flow, data, arch: the thread; image: the part's number;
//	              commit: how many blocks of this epoch come before it; else 0
//	+12 4  raw    bytes of the payload when decoded
//	+16 4  stored bytes of the payload in the file
//	+20 4  CRC of the stored payload
//	+24 4  CRC of bytes 0..23
//	+28 …  payload, stored bytes
//
//	index payload (kind 8), one entry a block in file order; the offsets
//	follow from the stored lengths, the first block is at 16
//	uvarint number of entries, then for each
//	1 kind, 1 codec, uvarint epoch+1 (0: none), uvarint thread, uvarint raw, uvarint stored
//
//	footer, 24 bytes
//	+0  8  offset of the index block
//	+8  4  length of the index block with its header
//	+12 4  CRC of bytes 0..11
//	+16 8  magic 89 48 53 54 45 4E 44 0A  ("\x89HSTEND\n")
//
// # Epochs and salvage
//
// A recorder works in epochs, numbered from 0. The blocks of an epoch are valid only if
// the epoch's commit block follows them. A file without a valid footer (a recording that
// was killed, a cut copy) is read from the front. The reader walks the blocks and
// verifies their checksums. It offers exactly the epochs whose commit block it reaches,
// and [Reader.Complete] is false.
//
// # Use
//
// A [Writer] belongs to one goroutine and does not close its destination. It holds one
// compressed block and 32 bytes of index for each block. The output depends only on the
// payloads. A [Reader] may be used from several goroutines. Whatever a file contains, a
// reader never panics but returns errors, and allocates at most [ReaderOptions.MaxBlock]
// bytes for a block and 64 MiB for the index.
package tracefmt
