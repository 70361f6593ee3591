package perfetto_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"hindsight/analyze/export/perfetto"
	"hindsight/analyze/internal/recorded"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/analyze/timeline"
	"hindsight/cdr"
)

// field is a field of a message as declared in Perfetto's .proto files: those under
// protos/perfetto/trace, package perfetto.protos.
type field struct {
	name   string
	number int32
	kind   descriptorpb.FieldDescriptorProto_Type
	many   bool
	of     string // of a message or an enumeration
}

const (
	tUint64  = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	tUint32  = descriptorpb.FieldDescriptorProto_TYPE_UINT32
	tInt32   = descriptorpb.FieldDescriptorProto_TYPE_INT32
	tInt64   = descriptorpb.FieldDescriptorProto_TYPE_INT64
	tFixed64 = descriptorpb.FieldDescriptorProto_TYPE_FIXED64
	tString  = descriptorpb.FieldDescriptorProto_TYPE_STRING
	tMessage = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
)

var messages = map[string][]field{
	"Trace": {{"packet", 1, tMessage, true, "TracePacket"}},
	"TracePacket": {{"timestamp", 8, tUint64, false, ""}, {"trusted_packet_sequence_id", 10, tUint32, false, ""},
		{"track_event", 11, tMessage, false, "TrackEvent"}, {"sequence_flags", 13, tUint32, false, ""},
		{"track_descriptor", 60, tMessage, false, "TrackDescriptor"}},
	"TrackDescriptor": {{"uuid", 1, tUint64, false, ""}, {"name", 2, tString, false, ""}, {"process", 3, tMessage, false, "ProcessDescriptor"},
		{"thread", 4, tMessage, false, "ThreadDescriptor"}, {"parent_uuid", 5, tUint64, false, ""}},
	"ProcessDescriptor": {{"pid", 1, tInt32, false, ""}, {"process_name", 6, tString, false, ""}},
	"ThreadDescriptor":  {{"pid", 1, tInt32, false, ""}, {"tid", 2, tInt64, false, ""}, {"thread_name", 5, tString, false, ""}},
	"TrackEvent": {{"debug_annotations", 4, tMessage, true, "DebugAnnotation"}, {"type", 9, tInt32, false, ""}, {"track_uuid", 11, tUint64, false, ""},
		{"categories", 22, tString, true, ""}, {"name", 23, tString, false, ""}, {"flow_ids", 47, tFixed64, true, ""},
		{"terminating_flow_ids", 48, tFixed64, true, ""}},
	"DebugAnnotation": {{"uint_value", 3, tUint64, false, ""}, {"string_value", 6, tString, false, ""}, {"name", 10, tString, false, ""}},
}

// decode reads a trace by the declarations above. A field that is not in them is an
// error.
func decode(t *testing.T, data []byte) []protoreflect.Message {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("trace.proto"), Package: proto.String("perfetto.protos"), Syntax: proto.String("proto2")}
	for name, fields := range messages {
		m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for _, f := range fields {
			label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
			if f.many {
				label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
			}
			d := &descriptorpb.FieldDescriptorProto{Name: proto.String(f.name), Number: proto.Int32(f.number), Type: f.kind.Enum(), Label: label.Enum()}
			if f.of != "" {
				d.TypeName = proto.String(".perfetto.protos." + f.of)
			}
			m.Field = append(m.Field, d)
		}
		file.MessageType = append(file.MessageType, m)
	}
	desc, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	trace := dynamicpb.NewMessage(desc.Messages().ByName("Trace"))
	if err := proto.Unmarshal(data, trace); err != nil {
		t.Fatal(err)
	}
	list := trace.Get(trace.Descriptor().Fields().ByName("packet")).List()
	var packets []protoreflect.Message
	for i := range list.Len() {
		packets = append(packets, list.Get(i).Message())
		known(t, packets[i])
	}
	return packets
}

func known(t *testing.T, m protoreflect.Message) {
	t.Helper()
	if len(m.GetUnknown()) > 0 {
		t.Fatalf("%s has fields that are not declared: %x", m.Descriptor().Name(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				known(t, v.List().Get(i).Message())
			}
		default:
			known(t, v.Message())
		}
		return true
	})
}

func get(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// TestExport reads exports back. Every event must be on an existing track, times on a
// track must not decrease, slices must be nested and sum up to what threads executed, and
// each race must have an arrow with two ends.
func TestExport(t *testing.T) {
	for _, name := range []string{"bank", "fig7", "sort", "interpreter", "compiler", "race_detached", "race_cond_flag"} {
		t.Run(name, func(t *testing.T) { checkExport(t, name) })
	}
}

func checkExport(t *testing.T, name string) {
	trace := recorded.Example(t, name, 1)
	res, err := race.Analyze(t.Context(), replay.FromTrace(trace), race.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tl, err := timeline.Build(t.Context(), trace, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	marks, err := tl.Marks(t.Context(), trace, res.Races)
	if err != nil {
		t.Fatal(err)
	}
	opts := perfetto.Options{Program: name}
	for _, m := range marks {
		opts.Races = append(opts.Races, perfetto.Race{Mark: m, ID: "R"})
	}
	var out bytes.Buffer
	stats, err := perfetto.Export(t.Context(), &out, trace, tl, opts)
	if err != nil {
		t.Fatal(err)
	}
	x := shown{tracks: map[uint64]*track{}, starts: map[uint64]uint64{}, ends: map[uint64]uint64{}}
	for i, p := range decode(t, out.Bytes()) {
		if get(p, "trusted_packet_sequence_id").Uint() != 1 || (get(p, "sequence_flags").Uint() == 1) != (i == 0) {
			t.Fatalf("packet %d: %v", i, p)
		}
		if d := get(p, "track_descriptor").Message(); d.IsValid() {
			x.describe(t, d)
			continue
		}
		x.event(t, get(p, "track_event").Message(), get(p, "timestamp").Uint())
	}
	sum := uint64(0)
	for id, tr := range x.tracks {
		sum += tr.running
		if len(tr.open) > 0 {
			t.Errorf("%d slices of track %d do not end", len(tr.open), id)
		}
	}
	if sum != tl.End() || stats.Coarse {
		t.Errorf("threads run for %d, want %d; coarse: %v", sum, tl.End(), stats.Coarse)
	}
	if len(x.tracks) != stats.Tracks+1 || x.slices != stats.Slices+stats.Calls { // tracks include that of the process
		t.Errorf("%d tracks and %d slices, of which it says %+v", len(x.tracks), x.slices, stats)
	}
	if x.instants != 2*len(marks) || len(x.starts) != len(marks) || len(x.ends) != len(marks) {
		t.Errorf("%d instants, %d and %d ends of arrows of %d instances", x.instants, len(x.starts), len(x.ends), len(marks))
	}
	for id, at := range x.starts {
		if end, ok := x.ends[id]; !ok || end < at {
			t.Errorf("arrow %d goes from %d to %d", id, at, end)
		}
	}
}

// shown is what a viewer shows of an export.
type shown struct {
	tracks           map[uint64]*track
	starts, ends     map[uint64]uint64 // of arrows, by id
	slices, instants int
	tids             []int64
}

// track is a track as far as it was read.
type track struct {
	last    uint64 // time at which the last slice began or ended
	open    []slice
	running uint64
}

type slice struct {
	name string
	from uint64
}

func (x *shown) describe(t *testing.T, d protoreflect.Message) {
	id := get(d, "uuid").Uint()
	if id == 0 || x.tracks[id] != nil {
		t.Fatalf("track %d is described twice, or is none", id)
	}
	if p := get(d, "parent_uuid").Uint(); p != 0 && x.tracks[p] == nil {
		t.Errorf("track %d is under %d, which is not described", id, p)
	}
	if th := get(d, "thread").Message(); th.IsValid() {
		tid := get(th, "tid").Int()
		if slices.Contains(x.tids, tid) || get(th, "pid").Int() != 1 {
			t.Errorf("thread %d of process %d is described twice, or elsewhere", tid, get(th, "pid").Int())
		}
		x.tids = append(x.tids, tid)
	}
	x.tracks[id] = &track{}
}

func (x *shown) event(t *testing.T, e protoreflect.Message, at uint64) {
	id := get(e, "track_uuid").Uint()
	tr := x.tracks[id]
	if tr == nil {
		t.Fatalf("an event is on track %d, which is not described", id)
	}
	kind := get(e, "type").Int()
	if kind != 3 {
		if at < tr.last {
			t.Fatalf("track %d goes back from %d to %d", id, tr.last, at)
		}
		tr.last = at
	}
	switch kind {
	case 1:
		x.slices++
		if tr.open = append(tr.open, slice{get(e, "name").String(), at}); tr.open[len(tr.open)-1].name == "" {
			t.Errorf("a slice of track %d has no name", id)
		}
	case 2:
		n := len(tr.open) - 1
		if n < 0 {
			t.Fatalf("track %d: a slice ends at %d that has not begun", id, at)
		}
		if tr.open[n].name == "running" {
			tr.running += at - tr.open[n].from
		}
		tr.open = tr.open[:n]
	case 3:
		x.instants++
		for name, to := range map[string]map[uint64]uint64{"flow_ids": x.starts, "terminating_flow_ids": x.ends} {
			for i := range get(e, name).List().Len() {
				flow := get(e, name).List().Get(i).Uint()
				if _, twice := to[flow]; twice {
					t.Errorf("arrow %d has two ends of a kind", flow)
				}
				to[flow] = at
			}
		}
	default:
		t.Errorf("an event of type %d", kind)
	}
}

// TestLimit checks that with little room, slices are sums of cells, and calls are shown
// less deep.
func TestLimit(t *testing.T) {
	trace := recorded.Example(t, "bank", 1)
	tl, err := timeline.Build(t.Context(), trace, timeline.Options{Intervals: 100})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	stats, err := perfetto.Export(t.Context(), &out, trace, tl, perfetto.Options{Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	decode(t, out.Bytes())
	if !stats.Coarse || stats.Depth >= perfetto.DefaultDepth || stats.Slices > 40*len(trace.Threads()) {
		t.Errorf("%+v", stats)
	}
}

// TestCalls checks that leaving out deep calls does not change the rest, and that a
// thread's first function lasts as long as the thread.
func TestCalls(t *testing.T) {
	for _, name := range []string{"bank", "fig7", "race_counter"} {
		trace := recorded.Example(t, name, 1)
		for _, th := range trace.Threads() {
			calls := func(depth int) (out []cdr.Call) {
				if err := trace.Calls(th.ID, depth, func(c cdr.Call) error { out = append(out, c); return nil }); err != nil {
					t.Fatal(err)
				}
				return out
			}
			all := calls(1 << 20)
			for depth := 1; depth < 8; depth++ {
				var want []cdr.Call
				for _, c := range all {
					if c.Depth < depth {
						want = append(want, c)
					}
				}
				if got := calls(depth); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, T%d to depth %d: %d calls, want %d", name, th.ID, depth, len(got), len(want))
				}
			}
			if first := all[len(all)-1]; first.Depth != 0 || first.From != 0 || first.To != trace.Insts(th.ID) {
				t.Errorf("%s, T%d begins with %+v and executes %d", name, th.ID, first, trace.Insts(th.ID))
			}
		}
	}
}
