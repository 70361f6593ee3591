package vfs

// File is an open file. Error numbers are negative, as calls return them.
type File interface {
	Stat() Stat
	// Close is called when the last descriptor is closed.
	Close()
}

// Regular is a file with offsets.
type Regular interface {
	File
	Size() int64
	ReadAt(p []byte, off int64) (int, int64)
	WriteAt(p []byte, off int64) (int, int64)
	Truncate(n int64) int64
}

// Directory is a file that lists names.
type Directory interface {
	File
	// Entries returns the names in order, without "." and "..".
	Entries() ([]DirEntry, int64)
}

// DirEntry is a name in a directory.
type DirEntry struct {
	Name string
	Mode uint32
	Ino  uint64
}

// Stat is what the guest can learn about a file. It contains no times, owners or inode
// numbers of the host.
type Stat struct {
	Mode  uint32
	Ino   uint64
	Size  int64
	Nlink uint32
	Rdev  uint64
}

// File types in a mode.
const (
	ModeFIFO    = 0o010000
	ModeChar    = 0o020000
	ModeDir     = 0o040000
	ModeRegular = 0o100000
	ModeLink    = 0o120000
	ModeSocket  = 0o140000
	ModeType    = 0o170000
)

// Flags of open that concern the file system.
const (
	OpenAccess    = 3
	OpenWriteOnly = 1
	OpenReadWrite = 2
	OpenCreate    = 0o100
	OpenExcl      = 0o200
	OpenTrunc     = 0o1000
	OpenDirectory = 0o200000
	OpenNoFollow  = 0o400000
)

// Error numbers that the file system returns, negated (asm-generic).
const (
	EPERM        = 1
	ENOENT       = 2
	ENXIO        = 6
	EBADF        = 9
	EACCES       = 13
	EEXIST       = 17
	EXDEV        = 18
	ENOTDIR      = 20
	EISDIR       = 21
	EINVAL       = 22
	EFBIG        = 27
	ENOSPC       = 28
	EROFS        = 30
	ENAMETOOLONG = 36
	ENOTEMPTY    = 39
	ELOOP        = 40
)
