// Package browser drives headless Chromium in tests of pages. It is for tests only.
package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for something that should happen at once. On a busy
// machine, a browser is slow.
const patience = 60 * time.Second

// Browser is a tab. An error that the page reports fails the test.
type Browser struct {
	t testing.TB
	// briefly returns the context by which chromedp identifies the tab, for one action.
	briefly func() (context.Context, context.CancelFunc)

	mu       sync.Mutex
	problems []string
}

// Start opens a tab of the given size. Without Chromium it skips the test, or fails it if
// the environment requires all tools.
func Start(t testing.TB, width, height int) *Browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatal("chromium is required and not installed")
		}
		t.Skip("chromium is not installed (Debian: apt-get install chromium)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(width, height),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(patience))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // as root, Chromium has no sandbox
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, _ := chromedp.NewContext(alloc) // Cancel ends it and waits
	b := &Browser{t: t, briefly: func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, patience) }}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Errorf("the page said: %s", p)
		}
	})
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

func (b *Browser) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			text = string(e.Type)
			for _, a := range e.Args {
				text += " " + string(a.Value) + a.Description
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.HasSuffix(e.Entry.URL, "/favicon.ico") {
			text = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if text != "" {
		b.mu.Lock()
		b.problems = append(b.problems, text)
		b.mu.Unlock()
	}
}

// Do runs actions. If one fails, the test ends.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.briefly()
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func value[T any](b *Browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := b.briefly()
	defer cancel()
	x, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

// Open opens an address and waits until the page shows it.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(url))
	b.Ready()
}

// Ready waits until the page shows what its address says.
func (b *Browser) Ready() {
	b.t.Helper()
	b.Until(`document.querySelector('main')?.dataset.ready === location.hash && !document.querySelector('.soon > .message')`)
}

// Until waits for a condition in JavaScript. It polls, because the content security
// policy of a page forbids what chromedp would use to wait.
func (b *Browser) Until(condition string) {
	b.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(pause) {
		if Eval[bool](b, "!!("+condition+")") {
			return
		}
	}
	b.t.Fatalf("waiting for %s; the page is at %s and shows:\n%s", condition, Eval[string](b, "location.href"), b.Text("body"))
}

const pause = 20 * time.Millisecond

// Click clicks on the first element that matches a CSS selector.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Keys presses keys.
func (b *Browser) Keys(keys string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// Type writes into an element.
func (b *Browser) Type(selector, text string) {
	b.t.Helper()
	b.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Text returns the text of the first element that matches a CSS selector.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	return value(b, chromedp.Text(chromedp.CSS(selector)))
}

// Eval returns the value of an expression in JavaScript.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	return value(b, chromedp.Evaluate[T](expression))
}

// Shot returns a picture of the tab as PNG.
func (b *Browser) Shot() []byte {
	b.t.Helper()
	return value(b, chromedp.CaptureScreenshot())
}

// The size of the picture that Like compares.
const (
	coarseWidth  = 48
	coarseHeight = 32
)

// Coarse returns a small grey version of a picture, in which letters become a shade and
// only positions remain.
func Coarse(picture []byte) (*image.Gray, error) {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	out := image.NewGray(image.Rect(0, 0, coarseWidth, coarseHeight))
	size := img.Bounds()
	for y := range coarseHeight {
		for x := range coarseWidth {
			sum, n := 0, 0
			for v := y * size.Dy() / coarseHeight; v < (y+1)*size.Dy()/coarseHeight; v++ {
				for u := x * size.Dx() / coarseWidth; u < (x+1)*size.Dx()/coarseWidth; u++ {
					sum += int(color.GrayModel.Convert(img.At(size.Min.X+u, size.Min.Y+v)).(color.Gray).Y)
					n++
				}
			}
			out.SetGray(x, y, color.Gray{Y: uint8(sum / max(n, 1))})
		}
	}
	return out, nil
}

// Like compares the tab with a coarse picture in a file. The comparison is loose, because
// fonts differ between machines. With update, it writes the file.
func (b *Browser) Like(file string, update bool) {
	b.t.Helper()
	got, err := Coarse(b.Shot())
	if err != nil {
		b.t.Fatal(err)
	}
	if update {
		var out bytes.Buffer
		if err := png.Encode(&out, got); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	if d := difference(got, want); d > maxDifference {
		b.t.Errorf("the page does not look like %s: shades differ by %.1f on average (at most %d)", file, d, maxDifference)
	}
}

// maxDifference is the largest average difference between shades of 0 to 255.
const maxDifference = 8

func difference(got *image.Gray, want image.Image) float64 {
	sum := 0.0
	for y := range coarseHeight {
		for x := range coarseWidth {
			d := int(got.GrayAt(x, y).Y) - int(color.GrayModel.Convert(want.At(x, y)).(color.Gray).Y)
			sum += float64(max(d, -d))
		}
	}
	return sum / (coarseWidth * coarseHeight)
}
