package report

import (
	"encoding/xml"
	"io"
	"strings"
)

// The elements of JUnit's XML, as test runners and CI servers read them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr,omitempty"`
		Cases    []junitCase `xml:"testcase"`
		Notes    string      `xml:"system-err,omitempty"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
		Error   *junitFailure `xml:"error"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit's XML, for test runners and CI servers. The
// program is a suite, each group of races is a failed test, and a program without races
// has one test that passed.
func (r *Report) WriteJUnit(w io.Writer, opts TextOptions) error {
	opts.Color = false
	t := newText(r, opts)
	suite := junitSuite{Name: readable(r.Info.Program), Tests: max(len(t.shown)+len(r.Deadlocks), 1), Failures: len(t.shown) + len(r.Deadlocks)}
	for _, g := range t.shown {
		top := g.lead.Accesses[0].Top
		suite.Cases = append(suite.Cases, junitCase{
			Name: readable(g.lead.Location.Words() + ": " + g.where()), Class: suite.Name + ".races", File: readable(top.Path), Line: top.Line,
			Failure: &junitFailure{Type: "data race", Message: readable(g.lead.ID + ", " + t.often(g)), Text: readable(t.part(func() { t.group(g) }))},
		})
	}
	for i := range r.Deadlocks {
		d := &r.Deadlocks[i]
		at := top(d.Waits[0].Stack)
		suite.Cases = append(suite.Cases, junitCase{
			Name: readable("deadlock: " + d.line()), Class: suite.Name + ".deadlocks", File: readable(at.Path), Line: at.Line,
			Failure: &junitFailure{Type: "deadlock", Message: d.ID, Text: readable(t.part(func() { t.deadlock(d) }))},
		})
	}
	if len(suite.Cases) == 0 {
		suite.Cases = []junitCase{{Name: "no data race", Class: suite.Name + ".races"}}
	}
	for _, note := range r.Notes() {
		suite.Notes += "hindsight: note: " + note + "\n"
	}
	return writeJUnit(w, suite)
}

func writeJUnit(w io.Writer, suite junitSuite) error {
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// TestCase is a test for [WriteTestCases].
type TestCase struct {
	Name, Class string
	// Failure is the kind of failure, or "" if the test passed. Broken says that the test
	// could not run, which is an error and not a failure.
	Failure string
	Broken  bool
	Message string // one line
	Text    string
}

// WriteTestCases writes a suite of tests as JUnit's XML.
func WriteTestCases(w io.Writer, name string, cases []TestCase) error {
	suite := junitSuite{Name: readable(name), Tests: len(cases)}
	for _, c := range cases {
		out := junitCase{Name: readable(c.Name), Class: readable(c.Class)}
		failure := &junitFailure{Type: c.Failure, Message: readable(c.Message), Text: readable(c.Text)}
		switch {
		case c.Failure == "":
		case c.Broken:
			suite.Errors++
			out.Error = failure
		default:
			suite.Failures++
			out.Failure = failure
		}
		suite.Cases = append(suite.Cases, out)
	}
	return writeJUnit(w, suite)
}

// readable returns text without the characters that XML cannot represent.
func readable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return '\ufffd'
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
}
