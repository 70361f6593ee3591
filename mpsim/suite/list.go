package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindsight/mpsim/steer"
	"hindsight/tracefmt/numtext"
)

// List is a list of programs.
type List struct {
	Name     string // of its file
	Programs []*Program
}

// Program is a line of a list.
type Program struct {
	Name   string   // given in the line; otherwise the command as written
	Key    string   // names its directory; unique in the list, even ignoring case
	Env    []string // NAME=VALUE
	Words  []string // the program and its arguments
	Stdin  string   // file with the standard input; "": it is empty
	Expect Expect
	Limits Limits

	named bool
	line  int
}

// Limits are the limits that a line sets for its program. 0 means the limit of the whole
// list.
type Limits struct {
	Runs         int
	Instructions uint64
	Memory       uint64 // bytes
	RunTime      time.Duration
}

// Expect is what is expected of each run, and of all runs together.
type Expect struct {
	Ends   []string // exit statuses, deadlock, fault, signal, limit or any; nil: exit status 0
	Output string   // file that the standard output must equal; "": any output
	Races  string   // none, some, any or a number of reported races; "": none
}

// Values of [Expect.Races] that are not numbers.
const (
	racesNone = "none"
	racesSome = "some"
	racesAny  = "any"
)

// endings are the endings that a line may name besides an exit status.
var endings = []string{"deadlock", "fault", "signal", "limit", "any"}

// maxList bounds the size of a list in bytes, and maxPrograms its length. maxStatus is the
// highest exit status.
const (
	maxList     = 16 << 20
	maxPrograms = 100_000
	maxStatus   = 255
)

// Parse reads a list, one program a line:
//
//	[NAME:] [VARIABLE=VALUE …] PROGRAM [ARGUMENT …] [<FILE] [=> EXPECTED …]
//
// Words are split and quoted as in a shell, and # begins a comment. EXPECTED are words
// such as exit=0,3, output=FILE, races=none, runs=50, max-instructions=1000000,
// max-memory=512M and run-time=30s. An error names the list and the line.
func Parse(name string, text []byte) (*List, error) {
	if len(text) > maxList {
		return nil, fmt.Errorf("%s: larger than %s", name, numtext.Size(maxList))
	}
	l := &List{Name: name}
	lines := map[string]int{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		p, err := parseLine(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if p == nil {
			continue
		}
		p.line = n
		// Some file systems do not distinguish names that differ only in case.
		id := strings.ToLower(p.Key)
		if first := lines[id]; first > 0 {
			return nil, fmt.Errorf("%s:%d: the same name or command as line %d: begin the line with NAME: and another name", name, n, first)
		}
		lines[id] = n
		if l.Programs = append(l.Programs, p); len(l.Programs) > maxPrograms {
			return nil, fmt.Errorf("%s:%d: more than %s programs", name, n, numtext.Grouped(maxPrograms))
		}
	}
	if len(l.Programs) == 0 {
		return nil, fmt.Errorf("%s: no program in the list", name)
	}
	return l, nil
}

// assignment matches an environment variable, and clean a name that is a valid file name
// everywhere.
var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	clean      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$`)
)

// parseLine reads a line. It returns nil if the line contains no program.
func parseLine(line string) (*Program, error) {
	if i := strings.IndexFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }); i >= 0 {
		return nil, fmt.Errorf("a control character, %q", line[i])
	}
	words, err := splitWords(line)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	p := &Program{}
	if first := words[0]; !first.operator && first.plain == len(first.text) && len(first.text) > 1 && strings.HasSuffix(first.text, ":") {
		p.Name, p.named = strings.TrimSuffix(first.text, ":"), true
		words = words[1:]
	}
	for len(words) > 0 && !words[0].operator {
		name := assignment.FindString(words[0].text)
		if name == "" || len(name) > words[0].plain {
			break
		}
		p.Env = append(p.Env, words[0].text)
		words = words[1:]
	}
	if words, err = p.command(words); err != nil {
		return nil, err
	}
	for _, w := range words {
		if err := p.expected(w); err != nil {
			return nil, err
		}
	}
	p.name()
	return p, nil
}

// command parses the words of the command and returns those after the arrow.
func (p *Program) command(words []word) ([]word, error) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case !w.operator:
			p.Words = append(p.Words, w.text)
		case w.text == opExpect:
			if len(p.Words) == 0 || p.Words[0] == "" {
				return nil, errors.New("no program before =>")
			}
			return words[i+1:], nil
		case p.Stdin != "":
			return nil, errors.New("more than one standard input")
		case i+1 == len(words) || words[i+1].operator || words[i+1].text == "":
			return nil, errors.New("no file after <")
		default:
			i++
			p.Stdin = words[i].text
		}
	}
	if len(p.Words) == 0 || p.Words[0] == "" {
		return nil, errors.New("no program")
	}
	return nil, nil
}

// expected parses a word after the arrow.
func (p *Program) expected(w word) error {
	key, value, ok := strings.Cut(w.text, "=")
	if w.operator || !ok || value == "" {
		return fmt.Errorf("%q after =>: want KEY=VALUE", w.text)
	}
	e, l := &p.Expect, &p.Limits
	var err error
	switch key {
	case "exit":
		if e.Ends != nil {
			err = errors.New("named twice")
		} else {
			e.Ends, err = parseEnds(value)
		}
	case "output":
		err = once(&e.Output, value)
	case "races":
		if n, err := strconv.ParseUint(value, 10, 31); err == nil {
			value = racesNone
			if n > 0 {
				value = strconv.FormatUint(n, 10)
			}
		} else if !slices.Contains([]string{racesNone, racesSome, racesAny}, value) {
			return errors.New("races=" + value + ": want none, some, any or a number")
		}
		err = once(&e.Races, value)
	case "runs":
		err = number(&l.Runs, value, strconv.Atoi)
	case "max-instructions":
		err = number(&l.Instructions, value, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	case "max-memory":
		err = number(&l.Memory, value, numtext.ParseSize)
	case "run-time":
		err = number(&l.RunTime, value, time.ParseDuration)
	default:
		return fmt.Errorf("%s after =>: want exit, output, races, runs, max-instructions, max-memory or run-time", key)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", key, value, err)
	}
	return nil
}

// once sets a value that has not been set.
func once(to *string, value string) error {
	if *to != "" {
		return errors.New("named twice")
	}
	*to = value
	return nil
}

// number sets a positive number that has not been set.
func number[T int | uint64 | time.Duration](to *T, text string, parse func(string) (T, error)) error {
	n, err := parse(text)
	switch {
	case *to != 0:
		return errors.New("named twice")
	case err != nil || n <= 0:
		if err == nil || errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange) {
			err = errors.New("want a positive number")
		}
		return err
	}
	*to = n
	return nil
}

// parseEnds parses a list of endings.
func parseEnds(value string) ([]string, error) {
	var ends []string
	for _, end := range strings.Split(value, ",") {
		if n, err := strconv.ParseUint(end, 10, 31); err == nil && n <= maxStatus {
			end = strconv.FormatUint(n, 10)
		} else if !slices.Contains(endings, end) {
			return nil, fmt.Errorf("%q: want statuses from 0 to %d, %s", end, maxStatus, strings.Join(endings, ", "))
		}
		ends = append(ends, end)
	}
	slices.Sort(ends)
	return slices.Compact(ends), nil
}

// shownKey bounds how many bytes of a command are in the name of its directory.
const shownKey = 40

// name sets the program's name and key.
func (p *Program) name() {
	if !p.named {
		p.Name = p.Command()
	}
	if p.named && clean.MatchString(p.Name) {
		p.Key = p.Name
		return
	}
	text := p.Name
	if !p.named {
		text = p.Words[0][strings.LastIndexByte(p.Words[0], '/')+1:]
	}
	short := strings.Trim(strings.Map(func(c rune) rune {
		if c < 0x80 && clean.MatchString("a"+string(c)) {
			return c
		}
		return '-'
	}, text), ".-+")
	sum := sha256.Sum256([]byte(p.Name))
	p.Key = cmp.Or(short[:min(len(short), shownKey)], "program") + "-" + hex.EncodeToString(sum[:4])
}

// Command returns the command of the line, quoted for a shell.
func (p *Program) Command() string {
	var words []string
	for _, kv := range p.Env {
		name, value, _ := strings.Cut(kv, "=")
		words = append(words, name+"="+quote(value))
	}
	for i, w := range p.Words {
		q := quote(w)
		if q == w && (i == 0 && (assignment.MatchString(w) || strings.HasSuffix(w, ":")) || w == opExpect) {
			q = "'" + w + "'" // not an assignment, a name or the arrow
		}
		words = append(words, q)
	}
	if p.Stdin != "" {
		words = append(words, opInput+quote(p.Stdin))
	}
	return strings.Join(words, " ")
}

// quote returns a word in the form of a list.
func quote(s string) string { return steer.Quote(s) }

// String returns the line, in the form in which lists are compared.
func (p *Program) String() string {
	var b strings.Builder
	if p.named {
		b.WriteString(p.Name + ": ")
	}
	b.WriteString(p.Command())
	var after []string
	add := func(key, value string) { after = append(after, quote(key+"="+value)) }
	e, l := &p.Expect, &p.Limits
	if e.Ends != nil {
		add("exit", strings.Join(e.Ends, ","))
	}
	if e.Output != "" {
		add("output", e.Output)
	}
	if e.Races != "" {
		add("races", e.Races)
	}
	if l.Runs != 0 {
		add("runs", strconv.Itoa(l.Runs))
	}
	if l.Instructions != 0 {
		add("max-instructions", strconv.FormatUint(l.Instructions, 10))
	}
	if l.Memory != 0 {
		add("max-memory", numtext.Size(l.Memory))
	}
	if l.RunTime != 0 {
		add("run-time", l.RunTime.String())
	}
	if after != nil {
		b.WriteString(" " + opExpect + " " + strings.Join(after, " "))
	}
	return b.String()
}
