package intent

import (
	"slices"
	"strings"

	"hindsight/mpsim/image"
)

// sourceText is what matters in a C or C++ source file.
type sourceText struct {
	// hides says that the file may contain an atomic access that does not look like one,
	// because of volatile variables, assembly, pragmas in macros, or unknown headers.
	hides bool
	// types says that the file may use atomic types. They hide accesses in C. In C++ each
	// access to them is in a function of the library, as the debug information shows.
	types      bool
	includes   []string // with a < before those in <…>, of which only unknown ones are here
	statements []statement
	// orders are those of operations, inMacros those that may be in arguments of macros.
	// macros says that the file defines macros that may access memory atomically.
	orders, inMacros []image.OrderNotes
	macros           bool
	defines          []define
	atomics          bool   // it mentions atomic operations
	text             string // without comments
}

// statement covers the lines from to to, inclusive.
type statement struct {
	from, to int
	kind     image.NoteKind // 0: nothing atomic
}

// scanner reads a text.
type scanner struct {
	sourceText
	line   int
	open   statement // from 0: none
	pragma []directive
	depth  int // number of open braces
}

// directive is an "omp atomic" whose statement has not ended.
type directive struct {
	from, depth int
	kind        image.NoteKind
	begun       bool
}

// scanSource reads a text statement by statement. It is not a parser: it assumes that
// whatever it does not understand hides something.
func scanSource(text string) *sourceText {
	s := scanner{line: 1}
	text = withoutComments(text)
	s.atomics = mentionsAtomics(text)
	s.text = text
	if s.atomics {
		s.orders, s.inMacros = findOrders(text)
	} else if !slices.ContainsFunc(hiding, func(w string) bool { return strings.Contains(text, w) }) {
		s.directives(text)
		return &s.sourceText
	}
	for len(text) > 0 {
		switch c := text[0]; {
		case c == '\n':
			s.line++
			text = strings.TrimLeft(text[1:], " \t\r")
			if strings.HasPrefix(text, "#") {
				text = s.directive(text)
			}
		case c == '#' && s.line == 1:
			text = s.directive(text)
		case c == ';' || c == '{' || c == '}':
			s.end(c)
			text = text[1:]
		case wordByte(c):
			n := 1
			for n < len(text) && wordByte(text[n]) {
				n++
			}
			s.word(text[:n])
			text = text[n:]
		default:
			if c > ' ' {
				s.begin()
			}
			text = text[1:]
		}
	}
	return &s.sourceText
}

// hiding are words of which a text has one if more matters than its includes and macros,
// and it mentions no atomic operations.
var hiding = []string{"volatile", "asm", "_Pragma", "pragma", "_Atomic"}

// directives reads the lines of the preprocessor.
func (s *scanner) directives(text string) {
	for len(text) > 0 {
		text = strings.TrimLeft(text, " \t\r")
		if strings.HasPrefix(text, "#") {
			text = s.directive(text)
		}
		_, text, _ = strings.Cut(text, "\n")
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// directive reads a preprocessor line with its continuation lines. It returns the rest of
// the text.
func (s *scanner) directive(text string) string {
	from, n := s.line, 0
	for n < len(text) && (text[n] != '\n' || n > 0 && text[n-1] == '\\') {
		if text[n] == '\n' {
			s.line++
		}
		n++
	}
	words := strings.FieldsFunc(text[:n], func(r rune) bool { return r <= ' ' || r == '#' || r == '\\' || r == ',' })
	if len(words) == 0 {
		return text[n:]
	}
	switch words[0] {
	case "include":
		s.include(strings.Join(words[1:], " "))
	case "define":
		_, body, _ := strings.Cut(text[:n], "define")
		s.defines = append(s.defines, readDefine(body))
		has := func(w string) bool { return strings.Contains(text[:n], w) }
		hides := slices.ContainsFunc([]string{"volatile", "asm", "_Pragma"}, has)
		s.hides = s.hides || hides
		s.types = s.types || has("tomic") && slices.ContainsFunc(splitWords(body), func(w string) bool { return strings.HasPrefix(w, "atomic") || strings.HasPrefix(w, "_Atomic") })
		s.macros = s.macros || hides || has("atomic") || has("ATOMIC") || has("__sync")
	case "pragma":
		s.omp(from, words[1:], text[:n])
	}
	return text[n:]
}

func (s *scanner) include(what string) {
	if name, ok := strings.CutPrefix(what, `"`); ok {
		s.includes = append(s.includes, strings.TrimSuffix(name, `"`))
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(what, "<"), ">")
	known := slices.Contains(plainHeaders, name)
	if !strings.Contains(name, ".") { // of the C++ library
		known = true
		s.types = s.types || name == "atomic"
	}
	if !known {
		s.hides = true
		s.includes = append(s.includes, "<"+name)
	}
}

// plainHeaders are headers without macros that access memory atomically.
var plainHeaders = strings.Fields(`
	assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h
	stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h threads.h time.h
	uchar.h wchar.h wctype.h tgmath.h pthread.h semaphore.h sched.h unistd.h fcntl.h poll.h dirent.h dlfcn.h getopt.h
	libgen.h regex.h mqueue.h aio.h netdb.h err.h error.h search.h ucontext.h malloc.h alloca.h memory.h omp.h
	sys/types.h sys/stat.h sys/time.h sys/times.h sys/wait.h sys/mman.h sys/socket.h sys/un.h sys/uio.h sys/select.h
	sys/epoll.h sys/eventfd.h sys/timerfd.h sys/signalfd.h sys/syscall.h sys/queue.h sys/resource.h sys/ioctl.h
	sys/param.h sys/poll.h sys/sem.h sys/shm.h sys/ipc.h sys/msg.h sys/file.h sys/random.h sys/prctl.h sys/utsname.h
	linux/futex.h linux/limits.h arpa/inet.h netinet/in.h netinet/tcp.h`)

// omp handles the words of a pragma.
func (s *scanner) omp(from int, words []string, text string) {
	if len(words) < 2 || words[0] != "omp" {
		return
	}
	switch {
	case words[1] == "atomic":
		kind := image.NoteAtomic
		if slices.Contains(words, "read") {
			kind = image.NoteLoad
		} else if slices.Contains(words, "write") {
			kind = image.NoteStore
		}
		s.pragma = append(s.pragma, directive{from: from, depth: s.depth, kind: kind})
	case strings.Contains(text, "reduction"):
		s.statements = append(s.statements, statement{from, s.line, image.NoteReduction})
	}
	if writesBack(words, text) {
		s.statements = append(s.statements, statement{from, s.line, image.NoteWriteBack})
	}
}

// writesBack reports whether gcc adds stores to the directive that the source does not
// contain: with simd, those of the loop's variables; with a task, those of references that
// it shares.
func writesBack(words []string, text string) bool {
	return slices.ContainsFunc([]string{"simd", "task", "taskloop"}, func(w string) bool { return slices.Contains(words, w) }) &&
		!strings.Contains(text, "lastprivate") && !strings.Contains(text, "linear")
}

// begin is called for everything that belongs to a statement.
func (s *scanner) begin() {
	if s.open.from == 0 {
		s.open = statement{from: s.line}
	}
	s.open.to = s.line
	for n := range s.pragma {
		s.pragma[n].begun = true
	}
}

func (s *scanner) word(w string) {
	s.begin()
	switch {
	case w == "__atomic_load" || w == "__atomic_load_n":
		s.open.kind = combine(s.open.kind, image.NoteLoad)
	case w == "__atomic_store" || w == "__atomic_store_n" || w == "__atomic_clear":
		s.open.kind = combine(s.open.kind, image.NoteStore)
	case strings.HasPrefix(w, "__ATOMIC"), w == "__sync_synchronize", w == "__atomic_thread_fence", w == "__atomic_signal_fence": // no access
	case strings.HasPrefix(w, "__atomic") || strings.HasPrefix(w, "__sync"):
		s.open.kind = image.NoteAtomic
	case strings.HasPrefix(strings.TrimLeft(w, "_"), "atomic"):
		s.types = true
	case w == "_Atomic", w == "volatile", w == "__volatile__", w == "asm", w == "__asm__", w == "__asm", w == "_Pragma":
		s.hides = true
	}
}

// combine returns the kind of a statement that does both.
func combine(a, b image.NoteKind) image.NoteKind {
	if a == 0 || a == b {
		return b
	}
	return image.NoteAtomic
}

// end closes a statement at ';', '{' or '}'.
func (s *scanner) end(c byte) {
	switch c {
	case '{':
		for n := range s.pragma {
			s.pragma[n].begun = true
		}
		s.depth++
	case '}':
		s.depth--
	}
	if s.open.from != 0 {
		s.open.to = s.line
	}
	if n := len(s.pragma) - 1; n >= 0 && s.pragma[n].begun && c != '{' && s.depth <= s.pragma[n].depth {
		p := s.pragma[n]
		s.pragma = s.pragma[:n]
		s.statements = append(s.statements, statement{p.from, s.line, p.kind})
		s.open = statement{}
		return
	}
	if len(s.pragma) == 0 && s.open.from != 0 {
		s.statements = append(s.statements, s.open)
	}
	s.open = statement{}
}

// withoutComments replaces comments by spaces, and also the content of quotes except in an
// include. Line numbers do not change.
func withoutComments(text string) string {
	b := []byte(text)
	blank := func(from, to int) {
		for ; from < to && from < len(b); from++ {
			if b[from] != '\n' {
				b[from] = ' '
			}
		}
	}
	line := 0 // where the line starts
	for n := 0; n < len(b); n++ {
		switch c := b[n]; {
		case c == '\n':
			line = n + 1
		case c == '/' && n+1 < len(b) && b[n+1] == '/':
			from := n
			for n < len(b) && b[n] != '\n' {
				n++
			}
			blank(from, n)
			n--
		case c == '/' && n+1 < len(b) && b[n+1] == '*':
			from := n
			for n += 2; n < len(b) && (b[n] != '/' || b[n-1] != '*' || n < from+3); n++ {
			}
			blank(from, n+1)
		case c == '"' && strings.HasPrefix(strings.TrimLeft(strings.TrimLeft(string(b[line:n]), " \t"), "# \t"), "include"):
			for n++; n < len(b) && b[n] != '"' && b[n] != '\n'; n++ {
			}
		case c == '"' || c == '\'' && (n == 0 || !wordByte(b[n-1])):
			from := n
			for n++; n < len(b) && b[n] != c && b[n] != '\n'; n++ {
				if b[n] == '\\' {
					n++
				}
			}
			blank(from+1, n)
		}
	}
	return string(b)
}
