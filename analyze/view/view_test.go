package view

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/analyze/report"
	"hindsight/analyze/view/browser"
	"hindsight/tracefmt/event"
)

// hostile are names that must appear as text and nothing else.
const hostile = `</script><img src=x onerror="throw 1">"'&` + "\u202e\u0001"

// manyRaces returns a report of n groups of races with hostile names.
func manyRaces(n int) *report.Report {
	rep := &report.Report{Threads: map[event.ThreadID]report.Thread{0: {ID: 0}, 1: {ID: 1, HasParent: true}}}
	for i := range n {
		frame := func(line int) report.Frame {
			return report.Frame{Function: hostile, File: "x.c", Path: "/src/x.c", Line: line, PC: uint64(line), User: true, Own: true}
		}
		access := func(th event.ThreadID, op replay.Op, line int) report.Access {
			f := frame(line)
			return report.Access{Thread: th, Op: op, Size: 8, Address: 0x1000, Stack: []report.Frame{f, frame(1)}, Top: f}
		}
		id := fmt.Sprintf("R%d", i+1)
		rep.Races = append(rep.Races, report.Race{ID: id, Group: id, Fingerprint: fmt.Sprintf("%024x", i), Dynamic: uint64(n - i),
			Accesses: [2]report.Access{access(0, replay.Write, 2*i+2), access(1, replay.Write, 2*i+3)},
			Location: report.Location{Kind: "global", Name: fmt.Sprintf("v%d%s", i, hostile), Path: fmt.Sprintf("v%d%s", i, hostile)}})
	}
	return rep
}

func pageOf(rep *report.Report) *Page {
	return New(Data{Title: hostile, Facts: []Fact{{"Program", hostile}}, Races: func(context.Context) (*report.Report, error) { return rep, nil }})
}

func get(t *testing.T, h http.Handler, host, path string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// TestHandler checks that only clients that know the token get answers, and only at an
// address of this machine.
func TestHandler(t *testing.T) {
	h, err := pageOf(manyRaces(3)).Handler("secret")
	if err != nil {
		t.Fatal(err)
	}
	const local = "127.0.0.1:4000"
	for _, c := range []struct {
		host, path string
		status     int
	}{
		{local, "/secret/", 200}, {"localhost:4000", "/secret/", 200}, {local, "/secret/data/races", 200}, {local, "/secret/data/head", 200},
		{"evil.example", "/secret/", 404}, {"evil.example:4000", "/secret/data/races", 404},
		{local, "/", 404}, {local, "/secret", 404}, {local, "/other/", 404}, {local, "/other/data/races", 404},
		{local, "/secret/assets/page.css", 404}, {local, "/secret/data/source/0", 404}, {local, "/secret/data/../../etc/passwd", 404},
	} {
		res := get(t, h, c.host, c.path)
		if res.StatusCode != c.status {
			t.Errorf("%s%s: status %d, want %d", c.host, c.path, res.StatusCode, c.status)
		}
		if p := res.Header.Get("Content-Security-Policy"); c.status == 200 && (!strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe")) {
			t.Errorf("%s: policy %q", c.path, p)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/secret/", nil)
	r.Host = local
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

// external matches what would load something from elsewhere.
var external = regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?[a-z]+:|url\(|@import|\bimport\s*\(|https?://`)

// TestSelfContained checks that a page in one file loads nothing, and that nothing in a
// trace becomes markup.
func TestSelfContained(t *testing.T) {
	var out bytes.Buffer
	if err := pageOf(manyRaces(5)).WriteFile(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(out.String(), "http://www.w3.org/2000/svg", "") // a name, not an address
	if m := external.FindString(text); m != "" {
		t.Errorf("the page has %q", m)
	}
	if strings.Contains(text, "<img") || strings.Count(text, "</script>") != 2+1 {
		t.Error("a name in the trace became markup")
	}
}

func TestReadable(t *testing.T) {
	for name, want := range map[string]bool{
		"/home/me/a.c": true, "b.cpp": true, "x/y.F90": true, "/usr/include/c++/14/vector": true, "main.go": true, "/usr/include/c++/14/bits/stl_vector.h": true,
		"/etc/passwd": false, "/home/me/.ssh/id_ed25519": false, "secrets.json": false, "/a.c/shadow": false, "": false,
	} {
		if Readable(name) != want {
			t.Errorf("%q: readable is %v", name, !want)
		}
	}
}

// TestManyRaces shows ten thousand races in a browser. It checks that only visible rows
// exist, and checks filters, keys, links, and names that contain markup.
func TestManyRaces(t *testing.T) {
	const n = 10_000
	h, err := pageOf(manyRaces(n)).Handler("secret")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	b := browser.Start(t, 1200, 800)
	b.Open(server.URL + "/secret/#R9000")
	if text := b.Text(".detail h2"); !strings.HasPrefix(text, "R9000 v8999</script><img") || strings.ContainsAny(text, "\u202e\u0001") {
		t.Errorf("heading %q", text)
	}
	if rows := browser.Eval[int](b, `document.querySelectorAll('.race').length`); rows == 0 || rows > 100 {
		t.Errorf("%d rows for the list", rows)
	}
	if id := b.Text(".race[aria-selected=true] .id"); id != "R9000" {
		t.Errorf("%s is selected", id)
	}
	b.Keys("j")
	b.Until(`location.hash === '#R9001'`)
	b.Ready()
	b.Type(`input[type=search]`, "v77")
	b.Until(`document.querySelector('.side > p').textContent.startsWith('111 of 10,000 groups')`)
	b.Click(`.race[data-id=R78]`)
	b.Until(`location.hash === '#R78'`)
	b.Ready()
	b.Open(server.URL + "/secret/#R10001")
	if text := b.Text(".detail"); !strings.Contains(text, "no race R10001") {
		t.Errorf("a link to no race shows %q", text)
	}
	if n := browser.Eval[int](b, `document.images.length`); n != 0 {
		t.Errorf("%d images came of names", n)
	}
}

// TestFileInBrowser opens a page in one file in a browser.
func TestFileInBrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := pageOf(manyRaces(2)).WriteFile(t.Context(), io.Writer(f)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := browser.Start(t, 1200, 800)
	b.Open("file://" + file + "#R2")
	if text := b.Text(".detail h2"); !strings.HasPrefix(text, "R2 ") {
		t.Errorf("heading %q", text)
	}
	b.Keys("2")
	b.Until(`location.hash === '#run'`)
	b.Ready()
	if text := b.Text(".run"); !strings.Contains(text, "<img") {
		t.Errorf("the run is %q", text)
	}
}
