// Package perfetto writes a run as a trace of Perfetto (ui.perfetto.dev). Each thread has
// a track with the functions that it executed, and a track below with its scheduling
// slices and waits. Each strand has a track. Races are instants with an arrow from one
// access to the other.
//
// A microsecond in the viewer is 1000 instructions: one nanosecond of Perfetto is one
// instruction of package timeline. The file is the protobuf message
// perfetto.protos.Trace; wire.go has the field numbers, which are those of
// protos/perfetto/trace in the Perfetto project.
package perfetto
