package mem

import "fmt"

// Prot says what may be done with a range. It is a set of bits.
type Prot uint8

// The permissions of a mapping, and also the kinds of access to it.
const (
	Read Prot = 1 << iota
	Write
	Exec
)

// Access is one kind of access: [Read], [Write] or [Exec].
type Access = Prot

// String returns the permissions in the form of /proc/self/maps.
func (p Prot) String() string {
	b := [3]byte{'-', '-', '-'}
	if p&Read != 0 {
		b[0] = 'r'
	}
	if p&Write != 0 {
		b[1] = 'w'
	}
	if p&Exec != 0 {
		b[2] = 'x'
	}
	return string(b[:])
}

// Cause is the reason why an access failed.
type Cause uint8

const (
	// Unmapped: no mapping covers the address (SEGV_MAPERR).
	Unmapped Cause = iota + 1
	// Denied: the mapping does not allow the access (SEGV_ACCERR).
	Denied
	// BeyondFile: the page lies after the end of the mapped file (BUS_ADRERR).
	BeyondFile
	// OverLimit: the page could not be provided within the limit of the space. That is not
	// a fault of the guest; the run should end with an error.
	OverLimit
)

// Fault is an access that failed.
type Fault struct {
	Addr   uint64
	Access Access
	Cause  Cause
}

func (f *Fault) Error() string {
	what := "access to"
	switch {
	case f.Access&Write != 0:
		what = "write to"
	case f.Access&Exec != 0:
		what = "execution of"
	case f.Access&Read != 0:
		what = "read of"
	}
	why := "fault"
	switch f.Cause {
	case Unmapped:
		why = "not mapped"
	case Denied:
		why = "not permitted"
	case BeyondFile:
		why = "beyond the end of the mapped file"
	case OverLimit:
		why = "out of the memory given to the guest"
	}
	return fmt.Sprintf("%s %#x: %s", what, f.Addr, why)
}
