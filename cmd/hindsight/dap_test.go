package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"

	"hindsight/cmd/internal/cli"
)

// editor is a client of the Debug Adapter Protocol.
type editor struct {
	t    *testing.T
	out  io.WriteCloser
	in   *bufio.Reader
	seq  int
	done chan int
	errs *bytes.Buffer
	// events that arrived before an awaited answer.
	events []map[string]any
}

// newEditor starts `hindsight dap` and launches a trace in it.
func newEditor(t *testing.T, launch map[string]any) *editor {
	t.Helper()
	fromEditor, toHindsight := io.Pipe()
	fromHindsight, toEditor := io.Pipe()
	e := &editor{t: t, out: toHindsight, in: bufio.NewReader(fromHindsight), done: make(chan int, 1), errs: new(bytes.Buffer)}
	go func() { e.done <- run([]string{"dap"}, cli.Streams{In: fromEditor, Out: toEditor, Err: e.errs}) }()
	var can godap.Capabilities
	e.ask("initialize", map[string]any{"adapterID": "hindsight"}, &can)
	if !can.SupportsStepBack || !can.SupportsDataBreakpoints || !can.SupportsReadMemoryRequest {
		t.Fatalf("capabilities %+v", can)
	}
	e.ask("launch", launch, nil)
	e.event("initialized")
	return e
}

// try sends a request. It returns the body of the answer, and whether the request
// succeeded.
func (e *editor) try(command string, arguments any) (body json.RawMessage, message string, ok bool) {
	e.t.Helper()
	e.seq++
	text, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := godap.WriteBaseMessage(e.out, text); err != nil {
		e.t.Fatal(err)
	}
	for {
		content := e.read()
		var m struct {
			Type, Message string
			Success       bool
			RequestSeq    int `json:"request_seq"`
			Body          json.RawMessage
		}
		if err := json.Unmarshal(content, &m); err != nil {
			e.t.Fatal(err)
		}
		if m.Type == "response" && m.RequestSeq == e.seq {
			return m.Body, m.Message, m.Success
		}
		e.keep(content)
	}
}

func (e *editor) read() []byte {
	e.t.Helper()
	content, err := godap.ReadBaseMessage(e.in)
	if err != nil {
		e.t.Fatalf("%v\n%s", err, e.errs)
	}
	if _, err := godap.DecodeProtocolMessage(content); err != nil { // the library knows the messages that hindsight sends
		e.t.Fatalf("%v: %s", err, content)
	}
	return content
}

func (e *editor) keep(content []byte) {
	var m map[string]any
	if err := json.Unmarshal(content, &m); err != nil {
		e.t.Fatal(err)
	}
	e.events = append(e.events, m)
}

// ask sends a request that has to succeed.
func (e *editor) ask(command string, arguments, into any) {
	e.t.Helper()
	body, message, ok := e.try(command, arguments)
	if !ok {
		e.t.Fatalf("%s %v: %s", command, arguments, message)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			e.t.Fatalf("%s: %v: %s", command, err, body)
		}
	}
}

// event waits for an event and returns its body.
func (e *editor) event(name string) map[string]any {
	e.t.Helper()
	for {
		for i, m := range e.events {
			if m["event"] == name {
				e.events = append(e.events[:i], e.events[i+1:]...)
				body, _ := m["body"].(map[string]any)
				return body
			}
		}
		e.keep(e.read())
	}
}

// moves makes the run move forward or backward. It returns why and in which thread the
// run stopped.
func (e *editor) moves(command string, thread int) (reason string, stopped int) {
	e.t.Helper()
	e.ask(command, map[string]any{"threadId": thread}, nil)
	return e.stop()
}

func (e *editor) stop() (reason string, thread int) {
	e.t.Helper()
	body := e.event("stopped")
	id, _ := body["threadId"].(float64)
	reason, _ = body["reason"].(string)
	return reason, int(id)
}

// eval evaluates an expression in the innermost frame.
func (e *editor) eval(expression string) string {
	e.t.Helper()
	var out godap.EvaluateResponseBody
	e.ask("evaluate", map[string]any{"expression": expression, "context": "repl"}, &out)
	return out.Result
}

// whenPattern matches the beginning of the output of "when".
var whenPattern = regexp.MustCompile(`time ([\d,]+) of`)

func (e *editor) now() uint64 {
	e.t.Helper()
	text := e.eval("when")
	m := whenPattern.FindStringSubmatch(text)
	if m == nil {
		e.t.Fatalf("when: %s", text)
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(m[1], ",", ""), 10, 64)
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

func (e *editor) stack(thread int) []godap.StackFrame {
	e.t.Helper()
	var out godap.StackTraceResponseBody
	e.ask("stackTrace", map[string]any{"threadId": thread}, &out)
	if len(out.StackFrames) == 0 {
		e.t.Fatal("no frames")
	}
	return out.StackFrames
}

// quit ends the session.
func (e *editor) quit() {
	e.t.Helper()
	e.ask("terminate", map[string]any{}, nil)
	e.event("terminated")
	e.ask("disconnect", map[string]any{}, nil)
	if status := <-e.done; status != 0 {
		e.t.Errorf("status %d\n%s", status, e.errs)
	}
}

// TestDAPRace stops at both sides of a race, examines them, and goes back to the write
// that the later one overwrites.
func TestDAPRace(t *testing.T) {
	e := newEditor(t, map[string]any{"trace": recordedExample(t, "bank", 3), "race": "R1"})
	e.ask("configurationDone", nil, nil)
	reason, first := e.stop()
	before := e.now()
	top := e.stack(first)[0]
	if reason != "step" || top.Source == nil || top.Source.Name != "bank.c" || top.Line == 0 || len(e.stack(first)) < 2 {
		t.Fatalf("%s: %+v", reason, top)
	}
	e.eval("race R1 2")
	_, second := e.stop()
	after := e.now()
	if second == first || after <= before {
		t.Errorf("threads %d and %d, times %d and %d", first, second, before, after)
	}
	var names struct{ Threads []godap.Thread }
	e.ask("threads", nil, &names)
	if len(names.Threads) < 2 || !strings.HasPrefix(names.Threads[0].Name, "T0") {
		t.Errorf("threads %+v", names.Threads)
	}

	last := e.eval("lastwrite balance")
	var info godap.DataBreakpointInfoResponseBody
	e.ask("dataBreakpointInfo", map[string]any{"name": "balance"}, &info)
	var set godap.SetDataBreakpointsResponseBody
	e.ask("setDataBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"dataId": info.DataId, "accessType": "write"}}}, &set)
	if len(set.Breakpoints) != 1 || !set.Breakpoints[0].Verified {
		t.Fatalf("%+v", set)
	}
	if reason, _ := e.moves("reverseContinue", second); reason != "data breakpoint" {
		t.Errorf("stopped by %q", reason)
	}
	if at := e.now(); !strings.Contains(last, "time "+strconv.FormatUint(at, 10)+",") {
		t.Errorf("the write was at %d by a data breakpoint; lastwrite says %s", at, last)
	}

	var memory godap.ReadMemoryResponseBody
	var value godap.EvaluateResponseBody
	e.ask("evaluate", map[string]any{"expression": "balance[1]"}, &value)
	e.ask("readMemory", map[string]any{"memoryReference": value.MemoryReference, "count": 4}, &memory)
	data, err := base64.StdEncoding.DecodeString(memory.Data)
	if err != nil || len(data) != 4 || strconv.Itoa(int(int32(binary.LittleEndian.Uint32(data)))) != value.Result {
		t.Errorf("balance[1] is %s, memory % x, %v", value.Result, data, err)
	}
	for _, command := range []string{"setVariable", "writeMemory", "nonsense"} {
		if _, message, ok := e.try(command, map[string]any{"variablesReference": 1, "name": "x", "value": "1", "memoryReference": "0x1000", "data": ""}); ok || message == "" {
			t.Errorf("%s is not refused: %q", command, message)
		}
	}
	e.quit()
}

const steps = `#include <pthread.h>
#include <stdlib.h>

int total;
static int *volatile nowhere;

__attribute__((noinline)) static int twice(int n)
{
	int out = n * 2;
	total += out;
	return out;
}

static void *worker(void *arg)
{
	int a = twice(3);
	int b = twice(a);
	total = b;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	pthread_create(&t, NULL, worker, NULL);
	pthread_join(t, NULL);
	if (argc > 1)
		*nowhere = total;
	return 0;
}
`

// lineOf returns the number of the line of a text that contains a word.
func lineOf(text, word string) int {
	before, _, _ := strings.Cut(text, word)
	return strings.Count(before, "\n") + 1
}

// TestDAPSteps steps through source lines, into and out of calls, forward and backward,
// reads local variables, and reaches the signal that ends the run.
func TestDAPSteps(t *testing.T) {
	trace := recordedSource(t, "steps", steps, 139, "crash")
	source := strings.TrimSuffix(trace, ".hst") + ".c"
	e := newEditor(t, map[string]any{"trace": trace})
	var set godap.SetBreakpointsResponseBody
	call := lineOf(steps, "int a = twice")
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": source}, "breakpoints": []any{
		map[string]any{"line": call}, map[string]any{"line": 10000},
	}}, &set)
	if len(set.Breakpoints) != 2 || !set.Breakpoints[0].Verified || set.Breakpoints[0].Line != call || set.Breakpoints[1].Verified {
		t.Fatalf("%+v", set.Breakpoints)
	}
	e.ask("configurationDone", nil, nil)
	reason, thread := e.stop()
	at := func(what string, want int) {
		t.Helper()
		if top := e.stack(thread)[0]; top.Line != want {
			t.Errorf("%s: line %d of %s, want %d", what, top.Line, top.Name, want)
		}
	}
	if reason != "breakpoint" || thread != 2 {
		t.Errorf("%s in thread %d", reason, thread)
	}
	at("breakpoint", call)
	start := e.now()
	e.moves("next", thread)
	at("next", call+1)
	if got := e.eval("total") + " " + e.eval("a"); got != "6 6" {
		t.Errorf("total and a are %s", got)
	}
	e.moves("stepIn", thread)
	if all := e.stack(thread); all[0].Name != "twice" || all[1].Name != "worker" || all[1].Line != call+1 {
		t.Errorf("in a call: %+v", all)
	}
	e.moves("next", thread)
	var scopes godap.ScopesResponseBody
	e.ask("scopes", map[string]any{"frameId": e.stack(thread)[0].Id}, &scopes)
	var locals godap.VariablesResponseBody
	e.ask("variables", map[string]any{"variablesReference": scopes.Scopes[0].VariablesReference}, &locals)
	seen := map[string]string{}
	for _, v := range locals.Variables {
		seen[v.Name] = v.Value
	}
	if seen["n"] != "6" {
		t.Errorf("locals %v", seen)
	}
	var outer godap.EvaluateResponseBody
	e.ask("evaluate", map[string]any{"expression": "a", "frameId": e.stack(thread)[1].Id}, &outer)
	if outer.Result != "6" {
		t.Errorf("a in the caller is %s", outer.Result)
	}
	e.moves("stepOut", thread)
	if top := e.stack(thread)[0]; top.Name != "worker" {
		t.Errorf("after stepOut: %+v", top)
	}
	e.moves("next", thread)
	at("next", call+2)
	e.moves("stepBack", thread)
	at("stepBack", call+1)
	e.moves("stepBack", thread)
	at("stepBack", call)
	if now := e.now(); now != start {
		t.Errorf("back at %d, began at %d", now, start)
	}

	var function godap.SetFunctionBreakpointsResponseBody
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": source}, "breakpoints": []any{}}, &set)
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": "twice"}, map[string]any{"name": "none"}}}, &function)
	if !function.Breakpoints[0].Verified || function.Breakpoints[1].Verified {
		t.Errorf("%+v", function.Breakpoints)
	}
	for range 2 {
		if reason, _ := e.moves("continue", thread); reason != "breakpoint" {
			t.Errorf("stopped by %q", reason)
		}
		at("function", lineOf(steps, "int out"))
	}
	reason, thread = e.moves("continue", thread)
	at("crash", lineOf(steps, "*nowhere = total"))
	var why godap.ExceptionInfoResponseBody
	e.ask("exceptionInfo", map[string]any{"threadId": thread}, &why)
	if reason != "exception" || why.ExceptionId != "SIGSEGV" || !strings.Contains(why.Description, "0x0") {
		t.Errorf("%s: %+v", reason, why)
	}
	if reason, _ := e.moves("reverseContinue", thread); reason != "breakpoint" {
		t.Errorf("back: stopped by %q", reason)
	}
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}}, nil)
	if reason, _ := e.moves("reverseContinue", thread); reason != "entry" || e.now() != 0 {
		t.Errorf("back: stopped by %q at %d", reason, e.now())
	}
	e.quit()
}

// TestDAPErrors checks that the answer says what cannot be debugged.
func TestDAPErrors(t *testing.T) {
	fromEditor, toHindsight := io.Pipe()
	fromHindsight, toEditor := io.Pipe()
	e := &editor{t: t, out: toHindsight, in: bufio.NewReader(fromHindsight), done: make(chan int, 1), errs: new(bytes.Buffer)}
	go func() { e.done <- run([]string{"dap"}, cli.Streams{In: fromEditor, Out: toEditor, Err: e.errs}) }()
	for _, x := range []struct {
		command, want string
		arguments     map[string]any
	}{
		{"threads", "no trace was launched", nil},
		{"continue", "no trace was launched", map[string]any{"threadId": 1}},
		{"launch", `"trace" names no file`, map[string]any{}},
		{"launch", "nothing.hst", map[string]any{"trace": filepath.Join(t.TempDir(), "nothing.hst")}},
	} {
		if _, message, ok := e.try(x.command, x.arguments); ok || !strings.Contains(message, x.want) {
			t.Errorf("%s %v: %q, want %q", x.command, x.arguments, message, x.want)
		}
	}
	e.quit()
}

// TestDAPListen checks that an editor can connect over a socket, and that the command
// ends when an editor disconnects without a message.
func TestDAPListen(t *testing.T) {
	said, errs := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run([]string{"dap", "--listen", "127.0.0.1:0"}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: errs})
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]))
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, out: conn, in: bufio.NewReader(conn), done: done, errs: new(bytes.Buffer)}
	e.ask("initialize", map[string]any{"adapterID": "hindsight"}, nil)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if status := <-done; status != 0 {
		t.Errorf("status %d", status)
	}
}
