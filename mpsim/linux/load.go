package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"

	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
)

// The layout of the guest's memory. The program is where its file says, followed by the brk
// area. Shared objects are in a separate part (images.go). The trampoline, the main stack
// and mappings follow from the top of the Sv39 user space downwards.
const (
	userTop      = uint64(1) << 38
	trampolineAt = userTop - 2*mem.PageSize
	stackTop     = trampolineAt - mem.PageSize
	stackBytes   = 8 << 20
	stackGuard   = 1 << 20 // nothing is placed in this range below the stack unless requested
	maxArgBytes  = stackBytes / 4
	defaultCPUs  = 8
	MaxCPUs      = 64 // maximum number that a guest can see
)

// sigreturnCode is the code that signal handlers return to: li a7, 139; ecall.
var sigreturnCode = [8]byte{0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00}

// New loads the image into space, which must be empty. It returns the kernel, the main task
// and its initial registers. Errors wrap [ErrProgram] if the image cannot be loaded.
func New(cfg Config, space *mem.Space, img *image.Space) (*Kernel, *Task, Context, error) {
	if len(cfg.Args) == 0 {
		cfg.Args = []string{"program"}
	}
	if cfg.CPUs <= 0 {
		cfg.CPUs = defaultCPUs
	}
	cfg.CPUs = min(cfg.CPUs, MaxCPUs)
	if cfg.MaxTasks <= 0 {
		cfg.MaxTasks = DefaultMaxTasks
	}
	if cfg.MaxTempBytes <= 0 {
		cfg.MaxTempBytes = 256 << 20
	}
	k := &Kernel{
		cfg:        cfg,
		space:      space,
		rng:        rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15),
		futexes:    make(map[uint64]*futexQueue),
		next:       MainTID + 1,
		trampoline: trampolineAt,
		process:    processState{umask: 0o022},
		images:     imageState{space: img, owners: map[uint64]fileDigest{}},
	}
	name := "/" + path.Base(path.Clean("/"+cfg.Args[0]))
	if name == "//" {
		name = "/program"
	}
	if err := k.load(img.Main, name); err != nil {
		return nil, nil, Context{}, err
	}
	if err := k.openFiles(img.Main, name); err != nil {
		return nil, nil, Context{}, err
	}
	linker, err := k.loadLinker(img.Main)
	if err != nil {
		return nil, nil, Context{}, errors.Join(err, k.Close())
	}
	ctx, err := k.startStack(img.Main, linker, name)
	if err != nil {
		return nil, nil, Context{}, errors.Join(err, k.Close())
	}
	t := &Task{TID: MainTID, Name: shortName(path.Base(name))}
	k.tasks = []*Task{t}
	return k, t, ctx, nil
}

// shortName truncates a name to what PR_GET_NAME can return.
func shortName(s string) string { return s[:min(len(s), 15)] }

// load maps the segments of the image, the trampoline and the start of brk.
func (k *Kernel) load(img *image.Image, name string) error {
	var end, total uint64
	for i := range img.Segments {
		s := &img.Segments[i]
		if s.MemSize == 0 {
			continue
		}
		if s.Addr < mem.LowestAddress || s.Addr >= userTop || s.MemSize > userTop-s.Addr ||
			uint64(len(s.Data)) > s.MemSize {
			return fmt.Errorf("%w: segment at %#x of %d bytes is out of place", ErrProgram, s.Addr, s.MemSize)
		}
		total += s.MemSize
		if total > k.space.MaxBytes() {
			return fmt.Errorf("%w: its segments need at least %d bytes; %d are allowed", ErrProgram, total, k.space.MaxBytes())
		}
		if err := k.loadSegment(s, name); err != nil {
			return err
		}
		end = max(end, s.Addr+s.MemSize)
	}
	if end == 0 {
		return fmt.Errorf("%w: it has no segments", ErrProgram)
	}
	k.space.InitBreak(end)
	attr := mem.Attr{Prot: mem.Read | mem.Exec, Kind: mem.Trampoline, Name: "[vdso]"}
	if err := k.space.Map(trampolineAt, mem.PageSize, attr, false); err != nil {
		return fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if f := k.space.Fill(trampolineAt, sigreturnCode[:]); f != nil {
		return fmt.Errorf("%w: %w", ErrProgram, f)
	}
	return nil
}

// loadSegment maps one segment. Neighbouring segments may share a page, which then has the
// permissions of both. (A kernel that maps the file page by page cannot do that.)
func (k *Kernel) loadSegment(s *image.Segment, name string) error {
	var prot mem.Prot
	if s.Read {
		prot |= mem.Read
	}
	if s.Write {
		prot |= mem.Write
	}
	if s.Exec {
		prot |= mem.Exec
	}
	start, end := s.Addr&^(mem.PageSize-1), mem.Pages(s.Addr+s.MemSize)
	for a := start; a < end; {
		p := prot
		v, shared := k.space.Find(a)
		n := uint64(mem.PageSize)
		switch {
		case shared && (a != start && a != end-mem.PageSize):
			return fmt.Errorf("%w: segments overlap at %#x", ErrProgram, a)
		case shared:
			if err := k.space.Protect(a, n, v.Prot|p); err != nil {
				return fmt.Errorf("%w: segment at %#x: %w", ErrProgram, s.Addr, err)
			}
		default:
			if a != end-mem.PageSize {
				n = end - mem.PageSize - a
				if !k.space.Free(a, n) {
					return fmt.Errorf("%w: segments overlap after %#x", ErrProgram, a)
				}
			}
			attr := mem.Attr{Prot: p, Kind: mem.Image, Name: name}
			if err := k.space.Map(a, n, attr, false); err != nil {
				return fmt.Errorf("%w: segment at %#x: %w", ErrProgram, s.Addr, err)
			}
		}
		a += n
	}
	if f := k.space.Fill(s.Addr, s.Data); f != nil {
		return fmt.Errorf("%w: segment at %#x: %w", ErrProgram, s.Addr, f)
	}
	return nil
}

// Entries of the auxiliary vector.
const (
	atPhdr   = 3
	atPhent  = 4
	atPhnum  = 5
	atPagesz = 6
	atBase   = 7
	atFlags  = 8
	atEntry  = 9
	atUID    = 11
	atEUID   = 12
	atGID    = 13
	atEGID   = 14
	atHwcap  = 16
	atClktck = 17
	atSecure = 23
	atRandom = 25
	atExecfn = 31
)

// hwcap has a bit for each of the letters I, M, A, F, D and C.
const hwcap = 1<<('I'-'A') | 1<<('M'-'A') | 1 | 1<<('F'-'A') | 1<<('D'-'A') | 1<<('C'-'A')

// startStack maps the main stack, writes arguments, environment and auxiliary vector to its
// top, and returns the initial registers. The dynamic linker, if there is one, runs first.
func (k *Kernel) startStack(img, linker *image.Image, name string) (Context, error) {
	start, linkerBase := img.Entry, uint64(0)
	if linker != nil {
		start, linkerBase = linker.Entry, linker.Base
	}
	fail := func(err error) (Context, error) {
		return Context{}, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	attr := mem.Attr{Prot: mem.Read | mem.Write, Kind: mem.Stack, Name: "[stack]", Uncounted: true}
	if img.ExecStack {
		attr.Prot |= mem.Exec
	}
	if err := k.space.Map(stackTop-stackBytes, stackBytes, attr, false); err != nil {
		return fail(err)
	}
	k.space.SetMapTop(stackTop - stackBytes - stackGuard)

	var strings []byte
	put := func(s string) uint64 {
		at := uint64(len(strings))
		strings = append(append(strings, s...), 0)
		return at
	}
	var args, env []uint64
	for _, s := range k.cfg.Args {
		args = append(args, put(s))
	}
	for _, s := range k.cfg.Env {
		env = append(env, put(s))
	}
	exec := put(name)
	random := uint64(len(strings))
	strings = append(strings, make([]byte, 16)...)
	k.random(strings[random:])
	if len(strings)+8*(len(args)+len(env)) > maxArgBytes {
		return fail(fmt.Errorf("arguments and environment of %d bytes are too long", len(strings)))
	}

	base := (stackTop - 8 - uint64(len(strings))) &^ 15
	words := []uint64{uint64(len(args))}
	for _, a := range args {
		words = append(words, base+a)
	}
	words = append(words, 0)
	for _, e := range env {
		words = append(words, base+e)
	}
	words = append(words, 0)
	for _, e := range [][2]uint64{
		{atPhdr, img.Phdr}, {atPhent, uint64(img.PhdrSize)}, {atPhnum, uint64(img.PhdrCount)},
		{atPagesz, mem.PageSize}, {atBase, linkerBase}, {atFlags, 0}, {atEntry, img.Entry},
		{atUID, 0}, {atEUID, 0}, {atGID, 0}, {atEGID, 0},
		{atHwcap, hwcap}, {atClktck, clockTicks}, {atSecure, 0},
		{atRandom, base + random}, {atExecfn, base + exec}, {0, 0},
	} {
		words = append(words, e[0], e[1])
	}
	sp := (base - 8*uint64(len(words))) &^ 15
	block := make([]byte, 0, 8*len(words))
	for _, w := range words {
		block = binary.LittleEndian.AppendUint64(block, w)
	}
	if f := k.space.Write(base, strings); f != nil {
		return fail(f)
	}
	if f := k.space.Write(sp, block); f != nil {
		return fail(f)
	}
	ctx := Context{PC: start}
	ctx.X[regSP] = sp
	return ctx, nil
}
