package rawtrace

import "encoding/binary"

// Record is a PC/ED record.
type Record struct {
	PC uint32
	ED uint64
}

// RecordSize is the size of a PC/ED record in bytes.
const RecordSize = 12

// Append appends the record to dst.
func (r Record) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.PC)
	return binary.LittleEndian.AppendUint64(dst, r.ED)
}

// GetRecord reads the record that b, of at least RecordSize bytes, starts with.
func GetRecord(b []byte) Record {
	return Record{PC: binary.LittleEndian.Uint32(b), ED: binary.LittleEndian.Uint64(b[4:])}
}

// WordSize is the size of a word of a block-leader trace in bytes.
const WordSize = 8

// LeaderBit marks the words of a block-leader trace that are addresses of
// instructions. No address of a user program has it.
const LeaderBit = 1 << 63

// AppendLeader appends the word of a block that begins at pc.
func AppendLeader(dst []byte, pc uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, pc|LeaderBit)
}

// AppendData appends the word of a data address.
func AppendData(dst []byte, addr uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, addr&^LeaderBit)
}
