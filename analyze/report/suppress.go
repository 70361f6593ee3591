package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrSuppression is wrapped by errors about suppression files.
var ErrSuppression = errors.New("bad suppression")

// Rule is a line of a suppression file.
type Rule struct {
	Type    string // race, race_top, thread, mutex, called_from_lib, deadlock, signal
	Pattern string
	File    string
	Line    int
	Matched int // number of races for which it was the first matching rule
}

// Suppressions are the rules of one or more files, in ThreadSanitizer's
// syntax. See docs/semantics.md for what each type matches. A nil
// *Suppressions covers nothing.
type Suppressions struct {
	Rules []Rule
}

var ruleTypes = map[string]bool{"race": true, "race_top": true, "thread": true, "mutex": true,
	"called_from_lib": true, "deadlock": true, "signal": true}

// ParseSuppressions parses rules. name is the name of the file, for errors.
func ParseSuppressions(name string, r io.Reader) (*Suppressions, error) {
	s := new(Suppressions)
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		kind, pattern, ok := strings.Cut(text, ":")
		switch {
		case !ok:
			return nil, fmt.Errorf("%s:%d: %w: %q has no type; write type:pattern", name, n, ErrSuppression, text)
		case !ruleTypes[kind]:
			return nil, fmt.Errorf("%s:%d: %w: unknown type %q", name, n, ErrSuppression, kind)
		case pattern == "":
			return nil, fmt.Errorf("%s:%d: %w: no pattern after %q", name, n, ErrSuppression, kind+":")
		}
		s.Rules = append(s.Rules, Rule{Type: kind, Pattern: pattern, File: name, Line: n})
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: %w: longer than %d bytes", name, n+1, ErrSuppression, bufio.MaxScanTokenSize)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return s, nil
}

// WriteSuppressions writes rules that cover the reported races, one for each group: by
// the global variable or, if there is none, by the function of the later access.
func (r *Report) WriteSuppressions(w io.Writer) error {
	t := newText(r, TextOptions{List: true})
	seen := map[string]bool{}
	for _, g := range t.shown {
		rule := "race_top:^" + g.lead.Accesses[0].Top.Function + "$"
		if l := &g.lead.Location; l.Kind == "global" && l.Symbol != "" {
			rule = "race:^" + l.Symbol + "$"
		} else if g.lead.Accesses[0].Top.Function == "" {
			continue // there is no name to write
		}
		if _, err := fmt.Fprintf(w, "# %s %s\n", g.lead.ID, g.where()); err != nil {
			return err
		}
		if seen[rule] {
			rule = "# likewise " + rule
		}
		seen[rule] = true
		if _, err := fmt.Fprintln(w, rule); err != nil {
			return err
		}
	}
	return nil
}

// covers returns the first rule that covers the race and counts the match. It returns nil
// if none does.
func (s *Suppressions) covers(rep *Report, r *Race) *Rule {
	if s == nil {
		return nil
	}
	for i := range s.Rules {
		if rule := &s.Rules[i]; rule.covers(rep, r) {
			rule.Matched++
			return rule
		}
	}
	return nil
}

func (rule *Rule) covers(rep *Report, r *Race) bool {
	switch rule.Type {
	case "race":
		if l := &r.Location; rule.match(l.Symbol) || rule.match(l.Path) || rule.match(l.Name) && l.Kind != "heap" || rule.match(l.Words()) {
			return true
		}
		return rule.any(r.Accesses[0].Stack) || rule.any(r.Accesses[1].Stack)
	case "race_top":
		for i := range r.Accesses {
			if stack := r.Accesses[i].Stack; len(stack) > 0 && rule.any(stack[:1]) || rule.any([]Frame{r.Accesses[i].Top}) {
				return true
			}
		}
	case "thread":
		return rule.any(rep.Threads[r.Accesses[0].Thread].Stack) || rule.any(rep.Threads[r.Accesses[1].Thread].Stack)
	case "mutex":
		return rule.mutex(rep, &r.Accesses[0]) || rule.mutex(rep, &r.Accesses[1])
	case "called_from_lib":
		for i := range r.Accesses {
			for _, f := range r.Accesses[i].Stack {
				if f.User {
					break
				}
				if rule.any([]Frame{f}) {
					return true
				}
			}
		}
	}
	return false // deadlock is about deadlocks, and signal about other reports
}

func (rule *Rule) mutex(rep *Report, a *Access) bool {
	for _, l := range a.Locks {
		if rule.match(l.Symbol) {
			return true
		}
		for i := range rep.Mutexes {
			if m := &rep.Mutexes[i]; m.Name == l.Name && rule.any(m.Stack) {
				return true
			}
		}
	}
	return false
}

// any reports whether the pattern matches the function, the file or the line of a
// frame.
func (rule *Rule) any(stack []Frame) bool {
	for _, f := range stack {
		if rule.match(f.Function) || rule.match(f.Path) || rule.match(f.File) || f.Line > 0 && rule.match(lineOf(f)) {
			return true
		}
	}
	return false
}

// anonymous is how a demangled name denotes an unnamed namespace.
const anonymous = "(anonymous namespace)::"

// match reports whether the pattern matches a text that a report prints. A name matches
// as it is, or without its unnamed namespaces. Names that the text shortens contain … .
func (rule *Rule) match(text string) bool {
	pattern := strings.ReplaceAll(rule.Pattern, "…", "*")
	return text != "" && (match(pattern, text) || strings.Contains(text, anonymous) && match(pattern, strings.ReplaceAll(text, anonymous, "")))
}

// match reports whether a pattern matches a text. * matches anything. A ^ at the
// beginning and a $ at the end anchor the pattern to the ends of the text; otherwise it
// may match anywhere.
func match(pattern, text string) bool {
	pattern, begin := strings.CutPrefix(pattern, "^")
	pattern, end := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	for i, part := range parts {
		switch {
		case i == last && end:
			if i == 0 && begin {
				return text == part
			}
			return strings.HasSuffix(text, part)
		case i == 0 && begin:
			rest, ok := strings.CutPrefix(text, part)
			if !ok {
				return false
			}
			text = rest
		default:
			at := strings.Index(text, part)
			if at < 0 {
				return false
			}
			text = text[at+len(part):]
		}
	}
	return true
}
