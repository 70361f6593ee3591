package report

import (
	"fmt"
	"io"
	"strings"

	"hindsight/tracefmt/numtext"
)

// WriteMarkdown writes the report for the page of a job or a pull request: a table with a
// row for each group of races, ranked as in the text, and below it the text of each
// group, folded (GitHub Flavored Markdown).
func (r *Report) WriteMarkdown(w io.Writer, opts TextOptions) error {
	opts.Color = false
	t := newText(r, opts)
	t.printf("### hindsight: %s\n\n", Markdown(r.found(len(t.shown))))
	if len(t.shown) > 0 {
		t.printf("| | variable | accesses | |\n| --- | --- | --- | --- |\n")
		for _, g := range t.shown {
			t.printf("| %s | %s | %s | %s |\n", g.lead.ID, Markdown(g.lead.Location.Words()), Markdown(g.where()), Markdown(t.often(g)))
		}
	}
	for _, g := range t.shown {
		t.printf("\n<details><summary>%s: %s</summary>\n\n", g.lead.ID, Markdown(g.where()))
		t.printf("%s\n</details>\n", Fenced(t.part(func() { t.group(g) })))
	}
	for i := range r.Deadlocks {
		d := &r.Deadlocks[i]
		t.printf("\n<details><summary>%s: deadlock in another schedule: %s</summary>\n\n", d.ID, Markdown(d.line()))
		t.printf("%s\n</details>\n", Fenced(t.part(func() { t.deadlock(d) })))
	}
	t.printf("\n%s", Fenced(t.part(t.totals)))
	for _, note := range r.Notes() {
		t.printf("\n> Note: %s\n", Markdown(note))
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

// found says in a line how many races in how many groups a report has.
func (r *Report) found(groups int) string {
	what := "no data race"
	if groups > 0 {
		what = numtext.Plural(uint64(groups), "data race")
	}
	what += " in " + r.Info.Program
	if r.Info.Runs > 0 {
		what += fmt.Sprintf(" (%s)", numtext.Plural(uint64(r.Info.Runs), "run"))
	}
	return what
}

// part returns what write would add to the text, without adding it.
func (t *text) part(write func()) string {
	n := t.out.Len()
	write()
	part := t.out.String()[n:]
	t.out.Truncate(n)
	return part
}

// Fenced returns a block of code that shows a text unchanged, whatever it contains.
func Fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
}

// special are the characters with a meaning in Markdown.
var special = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ", "\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "~", "\\~")

// Markdown escapes a text of a program, such as a name, for a cell.
func Markdown(s string) string { return special.Replace(s) }
