package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
)

// TestMarkdown and TestJUnit compare the two forms for CI with golden files. TestJUnit
// also parses the XML.
func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	if err := build(t, "").WriteMarkdown(&out, TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("there are escape sequences")
	}
	golden(t, "ci.md", out.Bytes())
}

func TestJUnit(t *testing.T) {
	var out bytes.Buffer
	r := build(t, "")
	r.Info.Program = "a\x01<b>&\xff"
	if err := r.WriteJUnit(&out, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "ci.xml", out.Bytes())
	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Suites[0]
	if want := len(newText(r, TextOptions{}).shown); want == 0 || s.Tests != want || s.Failures != want || len(s.Cases) != want {
		t.Errorf("%d tests, %d failures, %d cases of %d groups", s.Tests, s.Failures, len(s.Cases), want)
	}
	r.Races = nil
	out.Reset()
	if err := r.WriteJUnit(&out, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "<failure") || !strings.Contains(s, `tests="1"`) {
		t.Errorf("without a race:\n%s", s)
	}
}

// TestMarkdownMeansItself checks that a name cannot become a column, a tag or the end of
// a block of code.
func TestMarkdownMeansItself(t *testing.T) {
	if got := Markdown("a|b<script>\n`c`"); strings.ContainsAny(got, "<>\n") || strings.Contains(got, "a|") {
		t.Errorf("%q", got)
	}
	text := "x\n````\n</details>"
	if got := Fenced(text); !strings.HasPrefix(got, "`````\n") || strings.Count(got, "`````") != 2 {
		t.Errorf("%q", got)
	}
}
