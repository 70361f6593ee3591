package report

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"worker", "worker", true},
		{"work", "worker", true},
		{"orke", "worker", true},
		{"Worker", "worker", false},
		{"^worker", "worker", true},
		{"^orker", "worker", false},
		{"worker$", "coworker", true},
		{"work$", "worker", false},
		{"^work$", "worker", false},
		{"^worker$", "worker", true},
		{"^w*r$", "worker", true},
		{"w*k*r", "xx worker yy", true},
		{"^w*x$", "worker", false},
		{"*", "anything", true},
		{"^*$", "anything", true},
		{"a*a", "a", false},
		{"^ab*ba$", "aba", false},
		{"ab*ab$", "abxab", true},
		{"src/*.c", "/home/src/bank.c", true},
		{"a$b", "a$b", true},
	}
	for _, tt := range tests {
		if got := match(tt.pattern, tt.text); got != tt.want {
			t.Errorf("match(%q, %q) = %v", tt.pattern, tt.text, got)
		}
	}
}

func TestSuppressions(t *testing.T) {
	tests := []struct {
		rules   string
		covered string // which of the six races, in order
	}{
		{"", "......"},
		{"# nothing\n\n  # here", "......"},
		{"race:account", "xx...."},
		{"race:^account$", "xx...."},
		{"race:bank.c", "xxxxxx"},
		{"race:^bank.c$", "xxxxxx"},
		{"race:/src/", "xxxxxx"},
		{"race:memcpy", "...x.."},
		{"race_top:memcpy", "...x.."},
		{"race_top:helper", "...x.."},
		{"race_top:start_thread", "......"},
		{"race:start_thread", "xxxxxx"},
		{"race:errno_copy", "....x."},
		{"called_from_lib:memcpy", "...x.."},
		{"called_from_lib:worker", "......"},
		{"mutex:lock", "x....."},
		{"mutex:worker", "x....."},
		{"thread:^main$", "xxxxxx"},
		{"deadlock:*\nsignal:*", "......"},
		{"race:nothing\nrace:errno\n  race:memcpy  ", "...xx."},
	}
	for _, tt := range tests {
		t.Run(tt.rules, func(t *testing.T) {
			sup, err := ParseSuppressions("rules", strings.NewReader(tt.rules))
			if err != nil {
				t.Fatal(err)
			}
			rep, err := Build(fakeResult(), fakeImage{}, fakeStacks{}, info, sup)
			if err != nil {
				t.Fatal(err)
			}
			got := []byte("......")
			for i, r := range fakeResult().Races {
				for _, s := range rep.Suppressed {
					if s.Accesses[0].PC == r.First.Later.PC && s.Accesses[0].Address == r.First.Later.Address {
						got[i] = 'x'
					}
				}
			}
			if string(got) != tt.covered {
				t.Errorf("covers %s, want %s", got, tt.covered)
			}
			if n := strings.Count(tt.covered, "x"); sup.Matched() != n || len(rep.Races) != 6-n {
				t.Errorf("%d matched and %d left, want %d matched", sup.Matched(), len(rep.Races), n)
			}
		})
	}
}

func TestBadSuppressions(t *testing.T) {
	for rules, want := range map[string]string{
		"race:a\n\nleak:b": "rules:3:",
		"worker":           "rules:1:",
		"race:":            "rules:1:",
		"race:a\nrace:" + strings.Repeat("b", 1<<17): "rules:2:",
	} {
		_, err := ParseSuppressions("rules", strings.NewReader(rules))
		if !errors.Is(err, ErrSuppression) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want it to begin with %s", rules, err, want)
		}
	}
}

func FuzzSuppressions(f *testing.F) {
	f.Add("race:^a*b$\n# c\nmutex:x", "a xx b")
	f.Fuzz(func(t *testing.T, rules, text string) {
		sup, err := ParseSuppressions("rules", strings.NewReader(rules))
		if err != nil {
			return
		}
		for i := range sup.Rules {
			sup.Rules[i].match(text)
			if !match("*"+sup.Rules[i].Pattern[:0]+"*", text) {
				t.Fatal("* matches everything")
			}
		}
	})
}
