package suite

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) *List {
	t.Helper()
	l, err := Parse("list", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParse(t *testing.T) {
	l := parse(t, `# the nightly list
./bank 4 1000          # no expectation
small: OMP_NUM_THREADS=4 X='a b' ./solver "with space" <in.txt => exit=3,0 output=want.txt races=2 runs=50 max-instructions=1000 max-memory=512M run-time=1m30s
	./outcomes < in => exit=deadlock,fault
`)
	want := []Program{
		{Name: "./bank 4 1000", Key: "bank-", Words: []string{"./bank", "4", "1000"}},
		{
			Name: "small", Key: "small", Env: []string{"OMP_NUM_THREADS=4", "X=a b"}, Words: []string{"./solver", "with space"}, Stdin: "in.txt",
			Expect: Expect{Ends: []string{"0", "3"}, Output: "want.txt", Races: "2"},
			Limits: Limits{Runs: 50, Instructions: 1000, Memory: 512 << 20, RunTime: 90 * time.Second},
			named:  true,
		},
		{Name: "./outcomes <in", Key: "outcomes-", Words: []string{"./outcomes"}, Stdin: "in", Expect: Expect{Ends: []string{"deadlock", "fault"}}},
	}
	if len(l.Programs) != len(want) {
		t.Fatalf("%d programs", len(l.Programs))
	}
	for i, p := range l.Programs {
		if !strings.HasPrefix(p.Key, want[i].Key) {
			t.Errorf("key %q", p.Key)
		}
		got := *p
		got.Key, got.line = want[i].Key, 0
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("got  %+v\nwant %+v", got, want[i])
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "list: no program",
		"# nothing\n":                   "list: no program",
		"./a\n./b $HOME":                "list:2: $ means something to a shell",
		"./a 'x":                        "list:1: a quote is not closed",
		"./a \\":                        `list:1: the line ends with \`,
		"./a <":                         "no file after <",
		"./a <x <y":                     "more than one standard input",
		"X=1":                           "no program",
		"=> exit=0":                     "no program before =>",
		"./a => exit":                   "want KEY=VALUE",
		"./a => exit=256":               "want statuses from 0 to 255",
		"./a => races=few":              "want none, some, any or a number",
		"./a => runs=0":                 "want a positive number",
		"./a => runs=1 runs=2":          "named twice",
		"./a => speed=1":                "speed after =>",
		"./a => max-memory=x":           "want a size",
		"./a => run-time=1":             "missing unit",
		"./a 1\n\n./a   1":              "list:3: the same name or command as line 1",
		"x: ./a\nX: ./b":                "list:2: the same name",
		"./a >out":                      "> means something to a shell",
		"./a\x00":                       "a control character",
		"./a \"$x\"":                    "use single quotes",
		strings.Repeat("\n", maxList+1): "larger than 16M",
	} {
		if _, err := Parse("list", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestWordsAsShell checks that lines are split as a shell splits them.
func TestWordsAsShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	for _, line := range []string{
		`a b  c`, `a"b c"d 'e"f' "g'h"`, `a\ b \"c\" \\ \#d`, `"" '' x""y`, `"a\"b" "a\\b" "a\$b" "a\nb" 'a\b'`, `a#b "#c" # d e`, `a=b=c -x --y="z w"`, "tab\tis \t blank", `a'b'"c"\d`,
	} {
		out, err := exec.Command(sh, "-c", `printf '%s\0' `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		words, err := splitWords(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var got []string
		for _, w := range words {
			got = append(got, w.text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, and a shell has %q", line, got, want)
		}
	}
}

// FuzzParse checks that a parsed list can be written as a list with the same meaning.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a: X=1 ./b 'c d' <e => exit=0,any output=f races=03 runs=9 max-instructions=5 max-memory=4G run-time=1h\n# g\n./h \"i\\\"\""))
	f.Add([]byte("'a=b' 'c:' '=>' d\\=e"))
	f.Add([]byte("'x:' <\"y z\" => 'output=a b'"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse("list", text)
		if err != nil {
			return
		}
		var lines []string
		for _, p := range l.Programs {
			lines = append(lines, p.String())
		}
		again, err := Parse("list", []byte(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatalf("%q: %v", lines, err)
		}
		for i, p := range again.Programs {
			p.line = l.Programs[i].line
		}
		if !reflect.DeepEqual(l, again) {
			t.Errorf("%q is not the same list", lines)
		}
	})
}
