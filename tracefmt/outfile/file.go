package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Partial is what follows the name of a file that is not whole yet.
const Partial = ".partial"

var (
	// ErrInput says that an output is an input of the same command.
	ErrInput = errors.New("the output would overwrite an input; write it to another file")
	// ErrTwice says that two outputs of the same command are one file.
	ErrTwice = errors.New("two outputs of this command would go into this file; write one of them to another file")
	// ErrSource says that an output is a source file of the traced program.
	ErrSource = errors.New("the output would overwrite a source file of the program; write it to another file")
	// ErrProgram says that an output is an executable, an object file or a shared object.
	ErrProgram = errors.New("the output would overwrite a program or an object file; write it to another file, or remove this one first")
	// ErrBusy says that another process is writing the file.
	ErrBusy = errors.New("another hindsight is writing this file")
)

// Options of [Create]. The zero value is ready for use.
type Options struct {
	// Inputs are names of files that the command reads or has read. "" and "-"
	// are none.
	Inputs []string
	// Streams are the command's standard streams: those that are open files must
	// not be the output either.
	Streams []any
	// Refuse is asked about a regular file that is there: an error says why it must
	// stay. It is for inputs that are costly to list. May be nil.
	Refuse func(old fs.FileInfo) error
}

// File is an output that is being written.
type File struct {
	fsys      FS
	h         Handle
	name      string // what the user named, links followed
	asNamed   string
	direct    bool // no regular file: nothing is renamed or locked
	published bool
	err       error // the first of a write
}

// Create begins the file called name.
func Create(ctx context.Context, name string, opts Options) (*File, error) {
	f := &File{fsys: fsOf(ctx), asNamed: name}
	target, err := follow(name)
	if err != nil {
		return nil, err
	}
	f.name = target
	old, err := os.Stat(target)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err == nil && old.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case err == nil && !old.Mode().IsRegular():
		f.direct = true
		f.h, err = f.fsys.OpenFile(target, os.O_WRONLY, 0)
		return f, err
	case err == nil:
		if err := opts.refuse(name, old); err != nil {
			return nil, err
		}
	}
	if err := f.begin(opts); err != nil {
		return nil, err
	}
	if old != nil {
		if err := f.h.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(err, f.Discard())
		}
	}
	return f, nil
}

// Check says what [Create] would refuse because of opts, before a command does
// its work.
func Check(name string, opts Options) error {
	if file, err := os.Stat(name); err == nil && file.Mode().IsRegular() {
		return opts.refuse(name, file)
	}
	return nil
}

// Distinct returns an error if two of the outputs of a command are the same
// file, by whatever name or link. "" is no output.
func Distinct(names ...string) error {
	for i, a := range names {
		for _, b := range names[:i] {
			if a == "" || b == "" {
				continue
			}
			if same, err := sameOutput(a, b); err != nil {
				return err
			} else if same {
				return fmt.Errorf("%s: %w", a, ErrTwice)
			}
		}
	}
	return nil
}

// sameOutput reports whether two names lead to the same regular file, which may
// not exist yet.
func sameOutput(a, b string) (bool, error) {
	var errA, errB error
	if a, errA = follow(a); errA == nil {
		b, errB = follow(b)
	}
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	fileA, errA := os.Stat(a)
	fileB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return fileA.Mode().IsRegular() && os.SameFile(fileA, fileB), nil
	}
	if errA == nil || errB == nil || filepath.Base(a) != filepath.Base(b) {
		return false, nil
	}
	dirA, errA := os.Stat(filepath.Dir(a))
	dirB, errB := os.Stat(filepath.Dir(b))
	return errA == nil && errB == nil && os.SameFile(dirA, dirB), nil
}

// follow follows symbolic links, the last of which may lead nowhere yet.
func follow(name string) (string, error) {
	for range 40 {
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // no link, or nothing: opening it reports that
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", name)
}

// refuse finds the file among what is read or written otherwise. No command writes
// programs, so a program is never an older output.
func (o *Options) refuse(name string, file fs.FileInfo) error {
	for _, in := range o.Inputs {
		if in == "" || in == "-" {
			continue
		}
		if info, err := os.Stat(in); err == nil && os.SameFile(info, file) {
			return fmt.Errorf("%s: %w", name, ErrInput)
		}
	}
	for _, s := range o.Streams {
		open, ok := s.(interface{ Stat() (fs.FileInfo, error) })
		if !ok {
			continue
		}
		if info, err := open.Stat(); err == nil && os.SameFile(info, file) {
			return fmt.Errorf("%s is a standard stream of this command as well; write the output to another file", name)
		}
	}
	if isProgram(name) {
		return fmt.Errorf("%s: %w", name, ErrProgram)
	}
	if o.Refuse == nil {
		return nil
	}
	if err := o.Refuse(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// isProgram reports whether the file begins as ELF files do.
func isProgram(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// begin opens and locks the file under its temporary name.
func (f *File) begin(opts Options) error {
	partial := f.name + Partial
	if info, err := os.Stat(partial); err == nil {
		if err := opts.refuse(partial, info); err != nil {
			return err
		}
	}
	for {
		h, err := f.fsys.OpenFile(partial, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		if !lock(h.Fd(), false) {
			h.Close()
			return fmt.Errorf("%s: %w", f.asNamed, ErrBusy)
		}
		// Between opening and locking, the process that had it may have given it
		// its name: then it is that file which is locked.
		same, err := leadsTo(partial, h)
		if err != nil {
			h.Close()
			return err
		}
		if !same {
			h.Close()
			continue
		}
		f.h = h
		break
	}
	if f.busy() {
		return errors.Join(fmt.Errorf("%s: %w", f.asNamed, ErrBusy), f.Discard())
	}
	if err := f.h.Truncate(0); err != nil {
		return errors.Join(err, f.Discard())
	}
	return nil
}

// leadsTo reports whether the open file is still the one of that name.
func leadsTo(name string, h Handle) (bool, error) {
	open, err := h.Stat()
	if err != nil {
		return false, err
	}
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, open), nil
}

// busy reports whether somebody is writing the file under its own name.
func (f *File) busy() bool {
	old, err := os.Open(f.name)
	if err != nil {
		return false
	}
	defer old.Close()
	return !lock(old.Fd(), true)
}

// Name is the name that the user gave.
func (f *File) Name() string { return f.asNamed }

// Stat describes the open file.
func (f *File) Stat() (fs.FileInfo, error) { return f.h.Stat() }

// Write implements [io.Writer]. After an error the file does not get its name.
func (f *File) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.h.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	f.err = err
	return n, err
}

// Publish makes what was written so far safe on the disk and gives the file its
// name, in place of one that may be there. What is written from here on is
// added to it there. It does nothing the second time.
func (f *File) Publish() error {
	if f.err != nil || f.published || f.direct {
		return f.err
	}
	// Renamed before its content is on the disk, a file may be empty after a
	// power failure, and the old one gone.
	if f.err = f.h.Sync(); f.err != nil {
		return f.err
	}
	if f.err = f.fsys.Rename(f.name+Partial, f.name); f.err != nil {
		return f.err
	}
	f.published = true
	return nil
}

// Published says that the file has its name.
func (f *File) Published() bool { return f.published || f.direct }

// Path is where the file is now.
func (f *File) Path() string {
	if f.Published() {
		return f.name
	}
	return f.name + Partial
}

// Close ends the file well: it is whole, has its name and is safe on the disk.
// When that fails the error says so, and [File.Discard] was called.
func (f *File) Close() error {
	err := f.err
	switch {
	case err != nil || f.direct:
	case f.published:
		err = f.h.Sync()
	default:
		err = f.Publish()
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.h.Close()
}

// Discard ends the file without its having become whole. What was published
// stays; otherwise all of it is removed and the file that was there before stays.
func (f *File) Discard() error {
	if f.published || f.direct {
		return f.h.Close()
	}
	// Removed before it is unlocked: the next process that opens the name creates a new file.
	err := f.fsys.Remove(f.name + Partial)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.h.Close())
}

// Write lets write fill the file called name.
func Write(ctx context.Context, name string, opts Options, write func(io.Writer) error) error {
	f, err := Create(ctx, name, opts)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Close()
}
