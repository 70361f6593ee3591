package main

import (
	"bufio"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/analyze/view/browser"
	"hindsight/cmd/internal/cli"
	"hindsight/examples"
)

var viewPicture = flag.String("view-picture", "", "write the README's picture of the page to `FILE`")

var updateView = flag.Bool("update-view", false, "write the coarse pictures of the page anew")

// viewed records an example with values, and returns the trace and a folder with its
// source.
func viewed(t *testing.T, name string, flags ...string) (file, sources string) {
	t.Helper()
	text, err := examples.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".c"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return recordValues(t, name, flags...), dir
}

// serve starts `hindsight view` and returns the address that it prints.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		root := newRoot(cli.Streams{In: strings.NewReader(""), Out: out, Err: io.Discard})
		root.SetArgs(append([]string{"view"}, args...))
		done <- root.ExecuteContext(ctx)
		out.Close()
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("view: %v", err)
		}
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestViewServed opens the bank in a browser and checks a race, its source, and links.
func TestViewServed(t *testing.T) {
	file, sources := viewed(t, "bank")
	b := browser.Start(t, 1200, 800)
	url := serve(t, "--source-dir", sources, file)
	b.Open(url)
	if text := b.Text(".side"); !strings.Contains(text, "2 groups of 2 races") || !strings.Contains(text, "balance[]") {
		t.Errorf("the list is %q", text)
	}
	b.Click(".race[data-id=R2]")
	b.Until(`location.hash === '#R2'`)
	b.Ready()
	for _, want := range []string{"teller_lock", "audit_lock", "global variable balance", "transfer", "auditor"} {
		if text := b.Text(".detail"); !strings.Contains(text, want) {
			t.Errorf("the race has no %q: %s", want, text)
		}
	}
	lit := browser.Eval[[]string](b, `[...document.querySelectorAll('.snippet tr.lit .t')].map(e => e.textContent.trim())`)
	if len(lit) != 2 || !strings.HasPrefix(lit[0]+lit[1], "balance[") && !strings.HasPrefix(lit[1], "balance[") {
		t.Errorf("lines of source: %q", lit)
	}
	b.Like(filepath.Join(sourceDir, "testdata/view/race.png"), *updateView)
	b.Click(".side-of-race.writes .stack a")
	b.Until(`location.hash.startsWith('#source/')`)
	b.Ready()
	if text := b.Text("tr.at .t"); !strings.Contains(text, "balance[") {
		t.Errorf("the link of a frame leads to %q", text)
	}
	// 4 tellers transfer 200 times each.
	if count := b.Text("tr.at .c"); count == "" {
		t.Error("the line has no count")
	}
	b.Open(url + "#R1")
	if text := b.Text(".detail h2"); !strings.HasPrefix(text, "R1 ") {
		t.Errorf("#R1 shows %q", text)
	}
}

// TestViewFile checks the size of the page in one file, and opens it in a browser without
// the trace.
func TestViewFile(t *testing.T) {
	file, sources := viewed(t, "race_index")
	out := filepath.Join(t.TempDir(), "page.html")
	hindsight(t, 0, "view", "--source-dir", sources, "-o", out, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(out); err != nil || info.Size() > 500_000 {
		t.Errorf("the file: %v, %v", info, err)
	}
	b := browser.Start(t, 1200, 800)
	b.Open("file://" + out)
	id := browser.Eval[string](b, `document.querySelector('.race.artifact').dataset.id`)
	b.Click(".race.artifact")
	b.Until(`location.hash === '#` + id + `'`)
	b.Ready()
	if steps := browser.Eval[int](b, `document.querySelectorAll('.chain circle').length`); steps < 3 {
		t.Errorf("the way of the value has %d steps", steps)
	}
}

// TestViewTimeline zooms and pans, and opens a link to a part of the run.
func TestViewTimeline(t *testing.T) {
	file, sources := viewed(t, "bank")
	b := browser.Start(t, 1200, 500)
	url := serve(t, "--source-dir", sources, file)
	b.Open(url + "#timeline")
	b.Like(filepath.Join(sourceDir, "testdata/view/timeline.png"), *updateView)
	drawn := `document.querySelector('.timeline').dataset.drawn`
	whole := browser.Eval[string](b, drawn)
	b.Keys("+++")
	b.Until(drawn + ` !== '` + whole + `' && location.hash === '#timeline/' + ` + drawn)
	length := func() float64 {
		return browser.Eval[float64](b, drawn+`.split('-').reduce((a, b) => b - a)`)
	}
	zoomed := length()
	if all := browser.Eval[float64](b, `'`+whole+`'.split('-').reduce((a, b) => b - a)`); zoomed < all/8.1 || zoomed > all/7.9 {
		t.Errorf("an eighth of %v is %v", all, zoomed)
	}
	b.Keys("n") // the first race
	b.Until(`document.querySelector('.info a')?.textContent === 'R1'`)
	b.Keys("0")
	b.Until(drawn + ` === '` + whole + `'`)
	b.Open(url + "#timeline/1000-2000")
	if got := browser.Eval[string](b, drawn); got != "1000-2000" {
		t.Errorf("the link shows %s", got)
	}
	b.Click(".bar button[aria-label^=next]")
	b.Until(`document.querySelector('.info a')`)
	b.Click(".info a")
	b.Until(`/^#R[12]$/.test(location.hash)`)
	b.Ready()
}

// TestViewSlice asks which statement wrote the sum of an audit, and follows the answer
// into another thread.
func TestViewSlice(t *testing.T) {
	file, sources := viewed(t, "bank")
	b := browser.Start(t, 1200, 800)
	url := serve(t, "--source-dir", sources, file)
	b.Open(url + "#source/bank.c:52")
	if text := b.Text("tr.at .t"); !strings.HasPrefix(strings.TrimSpace(text), "sum += balance[i]") {
		t.Fatalf("line 52 is %q", text)
	}
	b.Click("tr.at .action") // the action "who wrote this?"
	b.Until(`location.hash.startsWith('#slice/backward/')`)
	b.Ready()
	b.Until(`document.querySelector('tr.begun .t')?.textContent.includes('sum += balance[i]')`)
	if other := b.Text("tr.begun .crossing"); !strings.Contains(other, " in T") {
		t.Errorf("the sum depends on %q", other)
	}
	b.Click("tr.begun .crossing")
	b.Until(`document.querySelector('tr.at .t')?.textContent.includes('balance[')`)
	b.Click("tr.at .action:last-child") // the action "where does it go?"
	b.Until(`location.hash.startsWith('#slice/forward/')`)
	b.Ready()
	b.Until(`document.querySelector('tr.begun')`)
	b.Open(url + "#slice/R1")
	b.Until(`document.querySelectorAll('.slices > section').length === 4`)
	b.Like(filepath.Join(sourceDir, "testdata/view/slice.png"), *updateView)
}

// TestViewPicture creates the picture of the README; see make picture.
func TestViewPicture(t *testing.T) {
	if *viewPicture == "" {
		t.Skip("no -view-picture")
	}
	file, sources := viewed(t, "bank")
	b := browser.Start(t, 1280, 720)
	b.Open(serve(t, "--source-dir", sources, file) + "#R1")
	if err := os.WriteFile(*viewPicture, b.Shot(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestViewImported checks that an imported run has races and no source.
func TestViewImported(t *testing.T) {
	dir := t.TempDir()
	std, trace, page := filepath.Join(dir, "x.std"), filepath.Join(dir, "x.hst"), filepath.Join(dir, "x.html")
	if err := os.WriteFile(std, []byte("T0|w(x)|1\nT1|w(x)|2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hindsight(t, 0, "import", "-o", trace, std)
	hindsight(t, 0, "view", "-o", page, trace)
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), `"parts":["races","run"]`) || !strings.Contains(string(text), `"id":"R1"`) {
		t.Errorf("%v: the page has no races, or has what it cannot", err)
	}
}

// TestViewGone checks that bad input leads to one error and status 2.
func TestViewGone(t *testing.T) {
	status, _, said := quietly("view", "-o", filepath.Join(t.TempDir(), "x.html"), "none.hst")
	if status != exitError || strings.Count(said, "\n") != 1 {
		t.Errorf("status %d: %s", status, said)
	}
}
