package perfetto_test

import (
	"bytes"
	"reflect"
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

// field is a field of a message as the .proto files of Perfetto declare it: those
// under protos/perfetto/trace, package perfetto.protos.
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

// decode reads a trace by the declarations above; a field that they do not have is
// an error.
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

// TestExport reads an export back: every event is on a track that is there, slices
// on a track are one within the other and sum up to what threads executed, and
// each race has an arrow with two ends.
func TestExport(t *testing.T) {
	trace := recorded.Example(t, "bank", 1)
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
	opts := perfetto.Options{Program: "bank"}
	for _, m := range marks {
		opts.Races = append(opts.Races, perfetto.Race{Mark: m, ID: "R"})
	}
	var out bytes.Buffer
	stats, err := perfetto.Export(t.Context(), &out, trace, tl, opts)
	if err != nil {
		t.Fatal(err)
	}
	tracks := map[uint64]protoreflect.Message{}
	open := map[uint64][]protoreflect.Message{}
	begun := map[uint64][]uint64{}
	running := map[uint64]uint64{}
	flows := map[uint64]int{}
	instants := 0
	for _, p := range decode(t, out.Bytes()) {
		if d := get(p, "track_descriptor").Message(); d.IsValid() {
			tracks[get(d, "uuid").Uint()] = d
			continue
		}
		e, at := get(p, "track_event").Message(), get(p, "timestamp").Uint()
		id := get(e, "track_uuid").Uint()
		if tracks[id] == nil {
			t.Fatalf("an event is on track %d, which is not described", id)
		}
		switch get(e, "type").Int() {
		case 1:
			open[id], begun[id] = append(open[id], e), append(begun[id], at)
		case 2:
			n := len(open[id]) - 1
			if n < 0 || begun[id][n] > at {
				t.Fatalf("track %d: a slice ends at %d that has not begun", id, at)
			}
			if get(open[id][n], "name").String() == "running" {
				running[id] += at - begun[id][n]
			}
			open[id], begun[id] = open[id][:n], begun[id][:n]
		case 3:
			instants++
			for _, name := range []string{"flow_ids", "terminating_flow_ids"} {
				for i := range get(e, name).List().Len() {
					flows[get(e, name).List().Get(i).Uint()] += map[string]int{"flow_ids": 1, "terminating_flow_ids": 100}[name]
				}
			}
		}
	}
	sum := uint64(0)
	for _, n := range running {
		sum += n
	}
	if sum != tl.End() || stats.Coarse {
		t.Errorf("threads run for %d, want %d; coarse: %v", sum, tl.End(), stats.Coarse)
	}
	for id, list := range open {
		if len(list) > 0 {
			t.Errorf("%d slices of track %d do not end", len(list), id)
		}
	}
	if instants != 2*len(marks) || len(flows) != len(marks) {
		t.Errorf("%d instants and %d arrows of %d instances", instants, len(flows), len(marks))
	}
	for id, n := range flows {
		if n != 101 {
			t.Errorf("arrow %d does not have one beginning and one end", id)
		}
	}
}

// TestLimit: with little room, slices are sums of cells and calls are shown less
// deep.
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

// TestCalls: passing over what is too deep does not change the rest, and the
// function that a thread begins in lasts as long as the thread.
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
