package annotate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hindsight/analyze/internal/jsonform"
	"hindsight/analyze/slice"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// JSONVersion is the version of the JSON form. Members may be added to it, but none is
// removed or changes its meaning.
const JSONVersion = 1

// JSONOptions of [Report.WriteJSON].
type JSONOptions struct {
	Summary bool // omit the instances
}

// hex is a number that is a hexadecimal string in JSON, because not every reader keeps 64
// bits.
type hex uint64

func (h hex) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"0x%x"`, uint64(h)), nil }

type jsonTrace struct {
	File         string   `json:"file"`
	Program      string   `json:"program"`
	Args         []string `json:"args"`
	Threads      int      `json:"threads"`
	Instructions uint64   `json:"instructions"`
	Seed         uint64   `json:"seed"`
	Complete     bool     `json:"complete"`
}

type jsonSliceHead struct {
	Role           string         `json:"role"`
	Title          string         `json:"title"`
	Direction      string         `json:"direction"`
	Deps           string         `json:"deps"`
	ThroughThreads bool           `json:"through_threads"`
	Depth          int            `json:"depth"`
	Brief          bool           `json:"brief"`
	Instances      uint64         `json:"instance_count"`
	Criterion      []jsonInstance `json:"criterion"`
}

type jsonInstance struct {
	Statement int            `json:"statement"`
	Thread    event.ThreadID `json:"thread"`
	Time      uint64         `json:"time"`  // the thread's timestamp
	Order     uint64         `json:"order"` // position in the run
	Value     *hex           `json:"value,omitempty"`
}

type jsonStatement struct {
	ID       int              `json:"id"`
	Kind     string           `json:"kind"`
	PC       hex              `json:"pc"`
	Text     string           `json:"text"`
	Function string           `json:"function,omitempty"`
	File     string           `json:"file,omitempty"`
	Line     int              `json:"line,omitempty"`
	Count    uint64           `json:"count"`
	Threads  []event.ThreadID `json:"threads"`
	Values   *jsonValues      `json:"values,omitempty"`
	Distance *int             `json:"distance,omitempty"` // absent if no path leads to the criterion
	Next     *int             `json:"next,omitempty"`     // the next statement on that path
}

type jsonValues struct {
	Count uint64 `json:"count"`
	First hex    `json:"first"`
	Last  hex    `json:"last"`
	Min   hex    `json:"min"` // unsigned, as the other numbers here
	Max   hex    `json:"max"`
}

type jsonArrow struct {
	From     int    `json:"from"`
	To       int    `json:"to"`
	Kind     string `json:"kind"`
	Register string `json:"register,omitempty"`
	Count    uint64 `json:"count"`
	Crossing uint64 `json:"crossing"`
}

type jsonImpact struct {
	Verdict     string         `json:"verdict"`
	Instances   uint64         `json:"instances"`
	OutputCalls uint64         `json:"output_calls"`
	OutputBytes uint64         `json:"output_bytes"`
	ExitStatus  bool           `json:"exit_status"`
	Branches    uint64         `json:"branches"`
	BranchSites int            `json:"branch_sites"`
	Syscalls    uint64         `json:"syscalls"`
	Variables   []jsonVariable `json:"variables"`
}

type jsonVariable struct {
	Name    string `json:"name"`
	Address hex    `json:"address"`
	Stores  uint64 `json:"stores"`
}

// jsonWriter writes members of objects and elements of arrays one by one, so that a large
// slice is never in memory as text.
type jsonWriter struct {
	*bufio.Writer
	first []bool
	err   error
}

func (j *jsonWriter) comma() {
	if k := len(j.first) - 1; j.first[k] {
		j.first[k] = false
	} else {
		j.text(",")
	}
	j.newline()
}

// text writes s. bufio keeps an error until Flush.
func (j *jsonWriter) text(s string) { _, _ = j.WriteString(s) }

func (j *jsonWriter) newline() { j.text("\n" + strings.Repeat("  ", len(j.first))) }

func (j *jsonWriter) open(c string) { j.text(c); j.first = append(j.first, true) }

func (j *jsonWriter) close(c string) {
	j.first = j.first[:len(j.first)-1]
	j.newline()
	j.text(c)
}

func (j *jsonWriter) key(name string) {
	j.comma()
	fmt.Fprintf(j, "%q: ", name)
}

func (j *jsonWriter) value(x any) {
	b, err := json.Marshal(x)
	if err != nil && j.err == nil {
		j.err = err
	}
	j.text(string(b))
}

func (j *jsonWriter) member(name string, x any) { j.key(name); j.value(x) }

func (j *jsonWriter) element(x any) { j.comma(); j.value(x) }

// WriteJSON writes the report as docs/slice.schema.json describes it.
func (r *Report) WriteJSON(w io.Writer, opts JSONOptions) error {
	j := &jsonWriter{Writer: bufio.NewWriterSize(w, 64<<10)}
	j.open("{")
	j.member("version", JSONVersion)
	j.member("tool", jsonform.Hindsight(r.Info.Version))
	j.member("trace", jsonTrace{r.Info.File, r.Info.Program, append([]string{}, r.Info.Args...), r.Info.Threads, r.Info.Instructions, r.Info.Seed, r.Info.Complete})
	j.member("at", r.At)
	j.key("slices")
	j.open("[")
	for n := range r.Parts {
		j.comma()
		if err := r.jsonPart(j, &r.Parts[n], opts); err != nil {
			return err
		}
	}
	j.close("]")
	if m := r.Impact; m != nil {
		out := jsonImpact{m.Verdict.String(), m.Instances, m.OutputCalls, m.OutputBytes, m.ExitStatus, m.Branches, m.BranchSites, m.Syscalls, []jsonVariable{}}
		for _, v := range m.Variables {
			out.Variables = append(out.Variables, jsonVariable{v.Name, hex(v.Addr), v.Stores})
		}
		j.member("impact", out)
	}
	j.close("}")
	j.text("\n")
	if j.err != nil {
		return j.err
	}
	return j.Flush()
}

func (r *Report) jsonPart(j *jsonWriter, p *Part, opts JSONOptions) error {
	s := p.Slice
	index := map[statementKey]int{}
	for n, st := range s.Statements() {
		index[statementKey{st.Kind, st.PC, st.Callee}] = n
	}
	o := s.Options()
	deps := map[slice.Kinds]string{0: "both", slice.Both: "both", slice.Data: "data", slice.Control: "control", slice.Both | slice.Sync: "sync"}[o.Kinds]
	head := jsonSliceHead{p.Role, p.Title, o.Direction.String(), deps, !o.OneThread, o.Depth, o.Brief, s.Len(), []jsonInstance{}}
	for _, i := range s.Criterion() {
		x, err := jsonOf(s, i, index)
		if err != nil {
			return err
		}
		head.Criterion = append(head.Criterion, x)
	}
	j.open("{")
	b, err := json.Marshal(head)
	if err != nil {
		return err
	}
	j.comma()
	j.text(string(b[1 : len(b)-1]))
	if err := r.jsonStatements(j, s); err != nil {
		return err
	}
	j.key("arrows")
	j.open("[")
	for _, a := range s.Arrows() {
		out := jsonArrow{From: a.From, To: a.To, Kind: a.Kind.String(), Count: a.Count, Crossing: a.Crossing}
		if a.Kind == wet.DepRegister {
			out.Register = registerName(a.Reg)
		}
		j.element(out)
	}
	j.close("]")
	if !opts.Summary {
		j.key("instances")
		j.open("[")
		for i := range s.Instances() {
			x, err := jsonOf(s, i, index)
			if err != nil {
				return err
			}
			j.element(x)
		}
		j.close("]")
	}
	j.close("}")
	return j.err
}

func (r *Report) jsonStatements(j *jsonWriter, s *slice.Slice) error {
	j.key("statements")
	j.open("[")
	left := uint64(valueBudget)
	stmts := s.Statements()
	far := rowsOf(s, r.Image, rowing{}).rank()
	for n := range stmts {
		st := &stmts[n]
		out := jsonStatement{ID: n, Kind: st.Kind.String(), PC: hex(st.PC), Text: instText(r.Image, st), Count: st.Count, Threads: st.Threads}
		if frames := r.Image.Frames(st.PC); st.PC != 0 && len(frames) > 0 {
			out.Function, out.File, out.Line = frames[0].Function, frames[0].File, frames[0].Line
		}
		if st.Count <= left {
			left -= st.Count
			v, err := s.Values(n)
			if err != nil {
				return err
			}
			if v.Count > 0 {
				out.Values = &jsonValues{v.Count, hex(v.First), hex(v.Last), hex(v.Min), hex(v.Max)}
			}
		}
		out.Distance, out.Next = far.of(n)
		j.element(out)
	}
	j.close("]")
	return nil
}

type statementKey struct {
	kind       wet.NodeKind
	pc, callee uint64
}

func jsonOf(s *slice.Slice, i wet.Instance, index map[statementKey]int) (out jsonInstance, err error) {
	g := s.Graph()
	n := g.Node(i.Node)
	at, ok := index[statementKey{n.Kind, n.Stmts[i.Stmt].PC, n.Callee}]
	if !ok {
		at = -1
	}
	out = jsonInstance{Statement: at, Thread: i.Thread}
	if out.Time, err = g.Time(i.Thread, i.Node, i.K); err != nil {
		return out, err
	}
	out.Order = g.Order(i.Thread, out.Time)
	v, ok, err := g.Value(i)
	if err != nil {
		return out, err
	}
	if ok {
		h := hex(v)
		out.Value = &h
	}
	return out, nil
}

// registerName returns a register in assembler syntax.
func registerName(r uint8) string {
	const integer = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6"
	if r >= 32 {
		return fmt.Sprintf("f%d", r-32)
	}
	names := integer
	for range r {
		for names[0] != ' ' {
			names = names[1:]
		}
		names = names[1:]
	}
	for i := range names {
		if names[i] == ' ' {
			return names[:i]
		}
	}
	return names
}
