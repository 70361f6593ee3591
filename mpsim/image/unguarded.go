package image

import (
	"encoding/binary"
	"slices"
	"strings"
)

// unguarded are variables of glibc in which functions keep a state or a result that belongs
// to the caller: C (strtok, 7.24.5.8; localtime, 7.27.3) and POSIX (2.9.1) do not require
// these functions to avoid races, and glibc's manual lists them as unsafe because of a
// race. State that the library guards (rand) or keeps per thread (strerror) is not
// included. The object file distinguishes local variables with the same name.
var unguarded = map[string][]string{
	"_tmbuf":              nil,          // localtime, gmtime, ctime
	"__libc_drand48_data": nil,          // drand48, lrand48, …
	"olds":                {"strtok.o"}, // the rest of the string
	"result":              {"asctime.o", "l64a.o"},
	"htab":                {"hsearch.o"},
	"getopt_data":         {"getopt.o"},
	"resbuf":              {"getpwnam.o", "getpwuid.o", "getgrnam.o", "getgrgid.o", "getpwent.o", "getgrent.o"},
	"ecvt_buffer":         {"efgcvt.o"},
	"fcvt_buffer":         {"efgcvt.o"},
	"tmpnam_buffer":       {"tmpnam.o"},
	"name":                {"cuserid.o", "getlogin.o"},

	// The buffers of cin, cout, cerr and the wide streams after sync_with_stdio(false),
	// after which threads must not use them at the same time ([iostream.objects.overview]).
	"_ZN14__gnu_internal7buf_cinE": nil, "_ZN14__gnu_internal8buf_coutE": nil, "_ZN14__gnu_internal8buf_cerrE": nil,
	"_ZN14__gnu_internal8buf_wcinE": nil, "_ZN14__gnu_internal9buf_wcoutE": nil, "_ZN14__gnu_internal9buf_wcerrE": nil,
}

// callers reports whether s is a library variable that the callers of the library's
// functions must guard.
func (s Symbol) callers() bool {
	name, _, _ := strings.Cut(s.Name, ".") // of a static variable: olds.0
	files, listed := unguarded[name]
	if s.Global || s.File == "" {
		return listed && files == nil
	}
	return slices.Contains(files, s.File)
}

// StateOf returns the address of the variable in which a library function keeps its state:
// the first PC-relative address in the code at fn (auipc and addi with one register) that
// is not code. It is for shared objects, which have no symbols for such variables.
func (s *Space) StateOf(fn uint64) (addr uint64, ok bool) {
	const (
		auipc, addi = 0x17, 0x13
		few         = 16 // number of instructions
	)
	var at uint64 // content of register reg
	var reg uint32
	for pc, n := fn, 0; n < few; n++ {
		code := s.Code(pc, 4)
		if len(code) < 4 {
			break
		}
		word := binary.LittleEndian.Uint32(code)
		switch {
		case word&0x7f == auipc:
			at, reg = pc+uint64(int64(int32(word&^0xfff))), word>>7&31
		case word&0x707f == addi && reg != 0 && word>>15&31 == reg && word>>7&31 == reg:
			if at += uint64(int64(int32(word) >> 20)); len(s.Code(at, 2)) == 0 {
				return at, true
			}
		}
		if word&3 == 3 {
			pc += 4
		} else {
			pc += 2
		}
	}
	return 0, false
}
