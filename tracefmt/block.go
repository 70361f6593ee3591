package tracefmt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// Version is the format version that this package writes and reads.
const Version = 2

const (
	headerSize      = 16
	blockHeaderSize = 28
	footerSize      = 24

	magicHead = "\x89HST\r\n\x1a\n"
	magicTail = "\x89HSTEND\n"

	// maxBlocks limits the index, which takes 32 bytes of memory for each block.
	maxBlocks = 1 << 21
)

// MaxPayload is the size in bytes of the largest payload that a [Writer] accepts. Larger
// contents are split into several blocks.
const MaxPayload = 64 << 20

// NoEpoch is the epoch of blocks that do not belong to one.
const NoEpoch = math.MaxUint32

// Kind says what a block contains. The numbers are part of the format.
type Kind uint8

const (
	KindMeta    Kind = 1 // what was run and how; the last such block in the file counts
	KindImage   Kind = 2 // a part of the ELF file
	KindTables  Kind = 3 // blocks, sites and paths first used in an epoch
	KindControl Kind = 4 // control flow of a thread in an epoch
	KindData    Kind = 5 // address streams of a thread in an epoch
	KindSync    Kind = 6 // ordered events of an epoch
	KindCommit  Kind = 7 // closes an epoch
	KindIndex   Kind = 8 // handles of all preceding blocks

	KindArch        Kind = 9  // history bits of a thread in an epoch (package archinfo)
	KindArchSummary Kind = 10 // results of a modelled memory system (package archinfo)

	KindNames Kind = 11 // names of an imported run: a part of the table (package analyze/std)

	KindFlow Kind = 14 // control flow of a thread in an epoch, as directions of branches

	KindSchedule Kind = 15 // the order in which accesses of an epoch were executed

	KindObject Kind = 16 // a shared object that the program loaded, or a further part of it

	KindNotes Kind = 17 // facts from the program's source files (image.Notes)

	KindFollowed Kind = 18 // the schedule that the run had to follow, as text, or a further part of it (package mpsim/schedule)

	KindInput Kind = 19 // standard input that the run read: a further part of it; an empty block means that the rest was not kept

	KindWetTables Kind = 12 // nodes of a whole execution trace, and what was executed in a part of the run (package wet)
	KindWetLabels Kind = 13 // labels of those nodes; the next tables block refers to them (package wet)
)

var kindNames = [...]string{KindMeta: "meta", KindImage: "image", KindTables: "tables", KindControl: "control", KindData: "data", KindSync: "sync", KindCommit: "commit", KindIndex: "index", KindArch: "arch", KindArchSummary: "arch-summary", KindNames: "names", KindWetTables: "wet-tables", KindWetLabels: "wet-labels", KindFlow: "flow", KindSchedule: "schedule", KindObject: "object", KindNotes: "notes", KindFollowed: "followed", KindInput: "input"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind-%d", uint8(k))
}

// Codec says how a payload is stored.
type Codec uint8

const (
	CodecStore Codec = 0
	CodecZstd  Codec = 1
)

// Handle describes a block without its payload.
type Handle struct {
	Offset int64 // of the block's header in the file
	Epoch  uint32
	Thread uint32 // see the package comment
	Raw    uint32 // bytes of the payload
	Stored uint32 // bytes of the payload in the file
	Kind   Kind
	Codec  Codec
}

// Size returns the number of bytes that the block takes in the file.
func (h Handle) Size() int64 { return blockHeaderSize + int64(h.Stored) }

// global reports whether blocks of the kind belong to no epoch.
func (k Kind) global() bool {
	switch k {
	case KindMeta, KindImage, KindObject, KindArchSummary, KindNames, KindNotes, KindFollowed, KindInput, KindWetTables, KindWetLabels:
		return true
	}
	return false
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func appendHeader(dst []byte) []byte {
	n := len(dst)
	dst = append(dst, magicHead...)
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[n:]))
}

// IsTrace reports whether the file called name begins as a trace does.
func IsTrace(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [len(magicHead)]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == magicHead
}

func checkHeader(b []byte) error {
	if len(b) < len(magicHead) || string(b[:8]) != magicHead {
		return Corrupt(0, 0, ErrMagic)
	}
	if len(b) < headerSize {
		return Corrupt(int64(len(b)), 0, ErrTruncated)
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != Version {
		return Corrupt(8, 0, fmt.Errorf("%w %d (this build reads %d)", ErrVersion, v, Version))
	}
	if binary.LittleEndian.Uint32(b[12:]) != checksum(b[:12]) {
		return Corrupt(0, 0, ErrChecksum)
	}
	return nil
}

func appendBlockHeader(dst []byte, h Handle, payloadSum uint32) []byte {
	n := len(dst)
	dst = append(dst, byte(h.Kind), byte(h.Codec), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, h.Epoch)
	dst = binary.LittleEndian.AppendUint32(dst, h.Thread)
	dst = binary.LittleEndian.AppendUint32(dst, h.Raw)
	dst = binary.LittleEndian.AppendUint32(dst, h.Stored)
	dst = binary.LittleEndian.AppendUint32(dst, payloadSum)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[n:]))
}

// parseBlockHeader reads the header at offset.
func parseBlockHeader(b []byte, offset int64) (h Handle, payloadSum uint32, err error) {
	if len(b) < blockHeaderSize {
		return h, 0, Corrupt(offset, 0, ErrTruncated)
	}
	h = Handle{
		Offset: offset,
		Kind:   Kind(b[0]),
		Codec:  Codec(b[1]),
		Epoch:  binary.LittleEndian.Uint32(b[4:]),
		Thread: binary.LittleEndian.Uint32(b[8:]),
		Raw:    binary.LittleEndian.Uint32(b[12:]),
		Stored: binary.LittleEndian.Uint32(b[16:]),
	}
	if binary.LittleEndian.Uint32(b[24:]) != checksum(b[:24]) {
		return h, 0, Corrupt(offset, h.Kind, ErrChecksum)
	}
	if b[2]|b[3] != 0 || h.Kind == 0 || h.Codec > CodecZstd || h.Codec == CodecStore && h.Raw != h.Stored {
		return h, 0, Corrupt(offset, h.Kind, fmt.Errorf("block header %w", ErrMalformed))
	}
	return h, binary.LittleEndian.Uint32(b[20:]), nil
}

func appendFooter(dst []byte, index Handle) []byte {
	n := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(index.Offset))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(index.Size()))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[n:]))
	return append(dst, magicTail...)
}

// parseFooter returns the place of the index block. ok is false if the bytes are not the
// footer of a file of that size.
func parseFooter(b []byte, size int64) (offset int64, length uint32, ok bool) {
	if len(b) != footerSize || string(b[16:]) != magicTail || binary.LittleEndian.Uint32(b[12:]) != checksum(b[:12]) {
		return 0, 0, false
	}
	at := binary.LittleEndian.Uint64(b)
	length = binary.LittleEndian.Uint32(b[8:])
	if at < headerSize || length < blockHeaderSize || at > uint64(size) || at+uint64(length)+footerSize != uint64(size) {
		return 0, 0, false
	}
	return int64(at), length, true
}
