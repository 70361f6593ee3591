package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

// shapes has variables of most kinds of C types.
const shapes = `#include <pthread.h>
#include <stdint.h>

enum color { RED, GREEN = 5, BLUE };
struct inner { short s; unsigned char flags : 3, mode : 4; unsigned wide : 20; };
union either { int i; float f; };
struct node {
	const char *name;
	struct node *next;
	int scores[3];
	double weight;
	enum color color;
	struct inner in;
	union either or;
	struct { int x, y; };
	int (*twice)(int);
	_Bool ready;
};
typedef struct node node_t;

static int twice(int n) { return 2 * n; }
node_t third = { "third", 0, { 7, 8, 9 }, 2.5, BLUE, { -3, 5, 9, 77777 }, { .f = 1.5f }, { 11, 12 }, twice, 1 };
node_t second = { "second", &third, { 4, 5, 6 }, 1.25, GREEN, { 1, 2, 3, 4 }, { 42 }, { 21, 22 }, 0, 0 };
int grid[3][4] = { { 0, 1, 2, 3 }, { 10, 11, 12, 13 }, { 20, 21, 22, 23 } };
long many[100];
uint64_t large = 0xfedcba9876543210;
__thread int own = 3;
char text[16] = "some \"text\"";

static int visit(node_t *n, int depth)
{
	node_t copy = *n;
	int sum = depth + copy.scores[0];
	own += depth;
	many[depth] = sum;
	return sum;
}

static void *worker(void *arg)
{
	node_t *list = arg;
	int total = 0;
	for (int i = 0; i < 20; i++)
		total += visit(list, i);
	return (void *)(long)total;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, worker, &second);
	pthread_join(t, 0);
	return 0;
}
`

// expand returns the parts of a variable by name, with their values and types.
func (e *editor) expand(reference int, arguments map[string]any) map[string]godap.Variable {
	e.t.Helper()
	var out godap.VariablesResponseBody
	all := map[string]any{"variablesReference": reference}
	for name, value := range arguments {
		all[name] = value
	}
	e.ask("variables", all, &out)
	found := map[string]godap.Variable{}
	for _, v := range out.Variables {
		found[v.Name] = v
	}
	return found
}

// function sets the only function breakpoint.
func (e *editor) function(name, condition, hits string) {
	e.t.Helper()
	var set godap.SetFunctionBreakpointsResponseBody
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": name, "condition": condition, "hitCondition": hits}}}, &set)
	if len(set.Breakpoints) != 1 || !set.Breakpoints[0].Verified {
		e.t.Fatalf("%+v", set)
	}
}

// TestDAPValues: variables have the types, members and values that the source says, and
// expressions name their parts.
func TestDAPValues(t *testing.T) {
	e := newEditor(t, map[string]any{"trace": recordedSource(t, "shapes", shapes, 0), "stopOnEntry": true})
	e.ask("configurationDone", nil, nil)
	e.stop()
	e.function("visit", "depth == 7", "")
	reason, thread := e.moves("continue", 1)
	if reason != "breakpoint" {
		t.Fatalf("stopped by %s", reason)
	}
	e.moves("next", thread)
	e.moves("next", thread)
	for expression, want := range map[string]string{
		"depth": "7", "sum": "11", "n->name": `"second"`, "n->next->name": `"third"`, "copy.next->scores": "{7, 8, 9}",
		"n->next->scores[2]": "9", "n->next->weight": "2.5", "n->next->color": "BLUE (6)", "copy.color": "GREEN (5)",
		"n->next->in.s": "-3", "n->next->in.flags": "5 '\\x05'", "n->next->in.mode": "9 '\\t'", "n->next->in.wide": "77777",
		"n->next->or.f": "1.5", "n->or.i": "42", "n->next->y": "12", "n->next->ready": "true", "copy.ready": "false",
		"grid[2][1]": "21", "grid[1]": "{10, 11, 12, 13}", "large": "18364758544493064720", "own": "24", "text": `"some \"text\""`,
		"sizeof(node_t) == sizeof(struct node)": "1", "*n->next->name": "116 't'", "n->scores[1] * 2 + 1": "11",
		"(char)65": "65 'A'", "&grid[1][0] == &grid[0][4 - 4] + 4": "1", "n != 0 && n->next->next == 0": "1",
		"depth == 0 && nonsense": "0", "-depth / 2.0": "-3.5", "*&depth": "7", "((struct node *)n)->next == &third": "1",
		`n->name == "second"`: "1", `n->name == "third"`: "0", "large >> 60": "15", "(int)large": "1985229328", "many[7]": "0",
		"1 << 3 | 1": "9", "!depth": "0", "~0": "-1", "'a'": "97", "0x10": "16", "n.next.name == third.name": "1",
	} {
		got := e.eval(expression)
		if _, value, pointer := strings.Cut(got, " "); pointer && strings.HasPrefix(got, "0x") {
			got = value
		}
		if got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	if got := e.eval("n->next->twice"); !strings.HasSuffix(got, "<twice>") {
		t.Errorf("a pointer to a function is %s", got)
	}
	for expression, want := range map[string]string{
		"n->nothing": "node_t has no member nothing", "nothing": "no variable", "third.next->name": "no memory at 0x0",
		"grid[3]": "element 3 of 3", "depth.x": "has no member", "depth +": "not complete", "(depth": `want ")"`, "*depth": "no memory",
		"depth / 0": "division by zero", "n->in = 1": "not expected", "copy + 1": "is not a number", `"a`: "no end", "$nope": "no register",
	} {
		if _, message, ok := e.try("evaluate", map[string]any{"expression": expression}); ok || !strings.Contains(message, want) {
			t.Errorf("%s: %q, want %q", expression, message, want)
		}
	}

	frame := e.stack(thread)[0].Id
	var scopes godap.ScopesResponseBody
	e.ask("scopes", map[string]any{"frameId": frame}, &scopes)
	locals := e.expand(scopes.Scopes[0].VariablesReference, nil)
	if v := locals["copy"]; v.Type != "node_t" || v.NamedVariables != 10 || !strings.Contains(v.Value, "color = GREEN (5)") {
		t.Errorf("copy is %+v", v)
	}
	if v := locals["n"]; v.Type != "node_t *" || v.VariablesReference == 0 {
		t.Errorf("n is %+v", v)
	}
	next := e.expand(e.expand(locals["n"].VariablesReference, nil)["next"].VariablesReference, nil)
	if v := next["scores"]; v.EvaluateName != "n->next->scores" || v.Type != "int[3]" || v.IndexedVariables != 3 {
		t.Errorf("n->next->scores is %+v", v)
	}
	if v := e.expand(next["scores"].VariablesReference, map[string]any{"start": 1, "count": 1}); len(v) != 1 || v["[1]"].Value != "8" || v["[1]"].EvaluateName != "n->next->scores[1]" {
		t.Errorf("one element: %+v", v)
	}
	if v := next["twice"]; v.Type != "int (*)(int)" {
		t.Errorf("a pointer to a function is of type %s", v.Type)
	}
	var info godap.DataBreakpointInfoResponseBody
	e.ask("dataBreakpointInfo", map[string]any{"name": "many[9]"}, &info)
	var set godap.SetDataBreakpointsResponseBody
	e.ask("setDataBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"dataId": info.DataId, "accessType": "write"}}}, &set)
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}}, nil)
	if reason, _ := e.moves("continue", thread); reason != "data breakpoint" || e.eval("many[9]") != "13" || e.eval("depth") != "9" {
		t.Errorf("%s: many[9] is %s", reason, e.eval("many[9]"))
	}
	e.quit()
}

// TestDAPConditions: breakpoints stop where their condition is true and at the hits of the
// run that count, forward and back, log points print, and the rest is passed over by steps
// too.
func TestDAPConditions(t *testing.T) {
	trace := recordedSource(t, "shapes", shapes, 0)
	e := newEditor(t, map[string]any{"trace": trace, "stopOnEntry": true})
	e.ask("configurationDone", nil, nil)
	e.stop()
	at := func(what, command string, want ...string) {
		t.Helper()
		for _, depth := range want {
			if reason, _ := e.moves(command, 1); reason != "breakpoint" || e.eval("depth") != depth {
				t.Errorf("%s: stopped by %s at depth %s, want %s", what, reason, e.eval("depth"), depth)
			}
		}
	}
	e.function("visit", "depth % 6 == 5", "")
	at("condition", "continue", "5", "11", "17")
	at("condition, back", "reverseContinue", "11", "5")
	e.function("visit", "", "%4")
	at("hits", "continue", "7", "11", "15", "19")
	at("hits, back", "reverseContinue", "15", "11")
	e.function("visit", "depth > 9", "==3")
	at("both", "continue", "12")
	e.function("visit", "", "==9")
	at("after a jump", "reverseContinue", "8")
	e.function("visit", "depth == nonsense", "")
	at("a condition that cannot be computed", "continue", "9")

	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}}, nil)
	source := strings.TrimSuffix(trace, ".hst") + ".c"
	var set godap.SetBreakpointsResponseBody
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": source}, "breakpoints": []any{
		map[string]any{"line": lineOf(shapes, "own += depth"), "logMessage": "depth {depth}, {n->name} {oops}"},
		map[string]any{"line": lineOf(shapes, "return (void *)"), "hitCondition": "1"},
		map[string]any{"line": lineOf(shapes, "return (void *)"), "hitCondition": "x"},
	}}, &set)
	if set.Breakpoints[2].Verified || set.Breakpoints[2].Message == "" {
		t.Errorf("%+v", set.Breakpoints[2])
	}
	if reason, _ := e.moves("continue", 1); reason != "breakpoint" {
		t.Errorf("stopped by %s", reason)
	}
	for _, want := range []string{"depth 9, ", "depth 10, ", "depth 11, "} {
		text, _ := e.event("output")["output"].(string)
		if !strings.HasPrefix(text, want) || !strings.Contains(text, `"second"`) || !strings.Contains(text, "no variable") {
			t.Errorf("log %q, want %q", text, want)
		}
	}
	if got := e.eval("total"); got != "270" {
		t.Errorf("total is %s", got)
	}

	var modules godap.ModulesResponseBody
	e.ask("modules", map[string]any{}, &modules)
	var sources godap.LoadedSourcesResponseBody
	e.ask("loadedSources", map[string]any{}, &sources)
	found := false
	for _, s := range sources.Sources {
		found = found || s.Name == filepath.Base(source)
	}
	if modules.TotalModules != 1 || modules.Modules[0].SymbolStatus != "debug information" || !found {
		t.Errorf("%+v\n%+v", modules, sources)
	}
	var text godap.SourceResponseBody
	e.ask("source", map[string]any{"source": map[string]any{"path": source}, "sourceReference": 0}, &text)
	if text.Content != shapes {
		t.Errorf("the source is %q", text.Content)
	}
	if _, message, ok := e.try("source", map[string]any{"source": map[string]any{"path": source + "x"}}); ok || !strings.Contains(message, "no such file") {
		t.Errorf("a source that is not there: %q", message)
	}
	e.quit()
}

const containers = `#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Account {
	std::string name;
	long balance = 0;
	explicit Account(const char *n) : name(n) {}
	virtual ~Account() = default;
	virtual void add(long n) { balance += n; }
};
struct Saver : Account {
	double rate = 0.5;
	using Account::Account;
	void add(long n) override { balance += 2 * n; }
};
namespace bank {
std::map<std::string, int> seen;
std::vector<Account *> all;
thread_local long done;
template <typename T> struct Holder { T held; };
void work(Account &to, const std::vector<int> &amounts)
{
	Holder<short> holder{7};
	for (int n : amounts)
		to.add(n + holder.held);
	done += amounts.size();
}
}

int main()
{
	Saver ann("ann");
	bank::all.push_back(&ann);
	std::vector<int> amounts{1, 2, 3};
	std::thread t(bank::work, std::ref(ann), std::cref(amounts));
	t.join();
	try {
		throw ann.name;
	} catch (std::string &name) {
		bank::seen[name] = 1;
	}
}
`

// debugged records a run of a program and stands at its beginning.
func debugged(t *testing.T, program string) *editor {
	t.Helper()
	trace := program + ".hst"
	if status, _, text := invoke("run", "-o", trace, program); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	e := newEditor(t, map[string]any{"trace": trace, "stopOnEntry": true})
	e.ask("configurationDone", nil, nil)
	e.stop()
	return e
}

// TestDAPCPlusPlus: classes, references, containers, namespaces, templates and exceptions.
func TestDAPCPlusPlus(t *testing.T) {
	needTools(t, "riscv64-linux-gnu-g++")
	program := filepath.Join(t.TempDir(), "containers")
	if err := os.WriteFile(program+".cc", []byte(containers), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "riscv64-linux-gnu-g++", "-O0", "-g", "-pthread", "-o", program, program+".cc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := debugged(t, program)
	e.function("Saver::add", "n == 9", "")
	if reason, _ := e.moves("continue", 1); reason != "breakpoint" {
		t.Fatalf("stopped by %s", reason)
	}
	for expression, want := range map[string]string{
		"n": "9", "balance": "16", "this->balance": "16", "rate": "0.5", "name": `"ann"`, "bank::all[0]->name": `"ann"`, "done": "0",
		"((Saver *)bank::all[0])->rate": "0.5", `name == "ann" && balance > 10`: "1",
	} {
		if got := e.eval(expression); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	frames := e.stack(2)
	for expression, want := range map[string]string{
		"amounts": "vector of length 3 {1, 2, 3}", "amounts[2]": "3", "to.name": `"ann"`, "holder": "{held = 7}",
	} {
		var out godap.EvaluateResponseBody
		e.ask("evaluate", map[string]any{"expression": expression, "frameId": frames[1].Id}, &out)
		if out.Result != want {
			t.Errorf("%s is %s, want %s", expression, out.Result, want)
		}
	}
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}}, nil)
	e.ask("setExceptionBreakpoints", map[string]any{"filters": []string{"throw"}}, nil)
	if reason, thread := e.moves("continue", 1); reason != "exception" || !strings.HasPrefix(e.stack(thread)[1].Name, "main") {
		t.Errorf("stopped by %s", reason)
	}
	e.quit()
}

const accounts = `package main

import "sync"

type account struct {
	name    string
	balance int
	log     []int
	next    *account
}

var first = &account{name: "ann", next: &account{name: "bob"}}

//go:noinline
func deposit(a *account, n int, why string) {
	a.balance += n
	a.log = append(a.log, n)
}

func main() {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			deposit(first, i, "gift")
			wg.Done()
		}()
		wg.Wait()
	}
	defer func() { recover() }()
	panic("over")
}
`

// TestDAPGo: strings, slices, pointers and panics of Go; names with their packages.
func TestDAPGo(t *testing.T) {
	source := filepath.Join(t.TempDir(), "accounts.go")
	if err := os.WriteFile(source, []byte(accounts), 0o600); err != nil {
		t.Fatal(err)
	}
	program := goProgram(t, source)
	e := debugged(t, program)
	e.function("main.deposit", "n == 3", "")
	if reason, _ := e.moves("continue", 1); reason != "breakpoint" {
		t.Fatalf("stopped by %s", reason)
	}
	for expression, want := range map[string]string{
		"n": "3", "why": `"gift"`, "a.name": `"ann"`, "a.next.name": `"bob"`, "a.log": "[]int, len 3, cap 4 {0, 1, 2}", "a.log[2]": "2",
		"main.first.balance": "3", `a.name == "ann"`: "1", "*a.next": `{name = "bob", balance = 0, log = []int, len 0, cap 0 {}, next = 0x0}`,
		"(main.account *)main.first == a": "1",
	} {
		if got := e.eval(expression); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}}, nil)
	e.ask("setExceptionBreakpoints", map[string]any{"filters": []string{"panic"}}, nil)
	if reason, thread := e.moves("continue", 1); reason != "exception" || e.stack(thread)[1].Name != "main.main" {
		t.Errorf("stopped by %s", reason)
	}
	e.quit()
}
