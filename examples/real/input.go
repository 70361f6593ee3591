package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Inputs are made from a seed, so that they are the same everywhere.

const (
	textBytes   = 150_000
	videoWidth  = 96
	videoHeight = 64
	videoFrames = 8
	taxa        = 10
	columns     = 60
)

// writeInputs makes the directory that the programs see as their root.
func writeInputs(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"text": text(), "video.y4m": video(), "alignment": alignment(), "lines": lines(),
		"etc/passwd": []byte("root:x:0:0:root:/:/bin/sh\n"),
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// text is words, of which some are frequent, in lines.
func text() []byte {
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 2000)
	for i := range words {
		b := make([]byte, 2+r.IntN(8))
		for j := range b {
			b[j] = 'a' + byte(r.IntN(26))
		}
		words[i] = string(b)
	}
	var b bytes.Buffer
	for b.Len() < textBytes {
		i := int(float64(len(words)) * r.Float64() * r.Float64() * r.Float64())
		b.WriteString(words[i])
		b.WriteByte(" \n"[r.IntN(12)/11])
	}
	return b.Bytes()
}

// lines is so many short lines that sort gives half of them to a second thread.
func lines() []byte {
	r := rand.New(rand.NewPCG(1, 4))
	var b bytes.Buffer
	for range 140_000 {
		fmt.Fprintf(&b, "%05x\n", r.IntN(1<<20))
	}
	return b.Bytes()
}

// video is a square that moves over a gradient, with noise.
func video() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	fmt.Fprintf(&b, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n", videoWidth, videoHeight)
	for f := range videoFrames {
		b.WriteString("FRAME\n")
		for y := range videoHeight {
			for x := range videoWidth {
				v := x + y + r.IntN(4)
				if x/16 == f%6 && y/16 == 1 {
					v = 220
				}
				b.WriteByte(byte(v))
			}
		}
		b.Write(bytes.Repeat([]byte{128}, videoWidth*videoHeight/2))
	}
	return b.Bytes()
}

// alignment is sequences that evolved from each other, in FASTA.
func alignment() []byte {
	r := rand.New(rand.NewPCG(1, 3))
	var all [][]byte
	first := make([]byte, columns)
	for i := range first {
		first[i] = "ACGT"[r.IntN(4)]
	}
	all = append(all, first)
	for len(all) < taxa {
		child := bytes.Clone(all[r.IntN(len(all))])
		for range columns / 10 {
			child[r.IntN(columns)] = "ACGT"[r.IntN(4)]
		}
		all = append(all, child)
	}
	var b strings.Builder
	for i, s := range all {
		fmt.Fprintf(&b, ">t%d\n%s\n", i, s)
	}
	return []byte(b.String())
}

// Drivers are the main programs of packages that are libraries or servers.
//
//go:embed drivers
var driverFiles embed.FS

// writeDrivers puts them into a directory in which a program is built.
func writeDrivers(dir string) error { return os.CopyFS(dir, driverFiles) }

// driversOf is the text of those that a build script names.
func driversOf(script string) string {
	var b strings.Builder
	_ = fs.WalkDir(driverFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(script, d.Name()) {
			return err
		}
		text, err := driverFiles.ReadFile(name)
		b.Write(text)
		return err
	})
	return b.String()
}
