package gdbstub

import (
	"bufio"
	"bytes"
	"context"
	"strings"
	"testing"

	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/debug"
)

func TestPackets(t *testing.T) {
	in := "+$qSupported:x#00$g#67\x03-$m10,4#2e$X0,1:}\x03#9fjunk$a$g#67"
	r := bufio.NewReader(strings.NewReader(in))
	var got []string
	for {
		m, err := readMessage(r)
		if err != nil {
			break
		}
		sum := ""
		if m.kind == packetStart && !m.sum {
			sum = " damaged"
		}
		got = append(got, string(m.kind)+string(m.body)+sum)
	}
	want := []string{"+", "$qSupported:x damaged", "$g", "\x03", "-", "$m10,4", "$X0,1:#", "$g"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzPacket reads bytes as packets, and packets that it wrote itself.
func FuzzPacket(f *testing.F) {
	f.Add([]byte("+$g#67"))
	f.Add([]byte("$X0,1:}\x03#26"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			if _, err := readMessage(r); err != nil {
				break
			}
		}
		if len(data) > maxPacket {
			return
		}
		m, err := readMessage(bufio.NewReader(bytes.NewReader(appendPacket(nil, data))))
		if err != nil || !m.sum || m.kind != packetStart || !bytes.Equal(m.body, data) {
			t.Errorf("%q was read as %q, %v, %v", data, m.body, m.sum, err)
		}
	})
}

// debugged is a debugger at the beginning of an example's run.
func debugged(t testing.TB, name string) *debug.Debugger {
	t.Helper()
	img := cross.Image(t, name)
	j := new(mpsim.Journal)
	m, err := mpsim.New(mpsim.Config{Image: img, Journal: j, Policy: mpsim.Random, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return debug.New(mpsim.NewReplay(j, mpsim.ReplayOptions{}), nil)
}

// FuzzAnswer sends the stub arbitrary packets that it answers while the run is stopped.
func FuzzAnswer(f *testing.F) {
	d := debugged(f, "race_counter")
	for _, body := range []string{"?", "g", "p20", "m10000,40", "Hg2", "T1", "Z0,10000,4", "z2,10000,8", "qSupported:swbreak+", "qXfer:features:read:target.xml:0,fff",
		"qXfer:threads:read::0,fff", "qXfer:auxv:read::0,1000", "qRcmd,7768656e", "vFile:open:2f61,0,0", "vFile:pread:0,100,0", "vFile:fstat:0", "vCont?", "qThreadExtraInfo,1"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		console := debug.Console{Debugger: d}
		s := &server{Options: Options{Debugger: d, Program: "/a", Files: map[string][]byte{"/a": []byte("ELF")}, Monitor: console.Do}, open: map[int][]byte{}, xml: targetXML()}
		s.auxv = s.readAuxv()
		s.answer(t.Context(), body)
		s.answer(t.Context(), "vFile:open:2f61,0,0")
		reply, _ := s.answer(t.Context(), body)
		if len(reply) > maxPacket {
			t.Errorf("%q has a reply of %d bytes", body, len(reply))
		}
		s.resumes(body)
	})
}
