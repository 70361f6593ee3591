package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
)

// guestFiles are files that a dynamically linked program sees beside those of its
// root directory.
type guestFiles struct {
	Under   []string // directories whose files show where the root directory has none
	Objects map[string]linux.Object
}

// filesFor finds what a program needs: its dynamic linker and libraries where the
// cross compiler has them, unless root has its own, and the shared objects that lie
// beside the program.
func filesFor(img *image.Space, program, root string) (guestFiles, error) {
	if img.Main.Interp == "" {
		return guestFiles{}, nil
	}
	files := guestFiles{Objects: beside(program)}
	if root != "" && hasFile(root, img.Main.Interp) {
		return files, nil
	}
	dir, err := sysroot(img.Main.Interp)
	if err != nil {
		return guestFiles{}, err
	}
	files.Under = []string{dir}
	return files, nil
}

// filesAgain are the files for a second run of a trace: the shared objects are those
// in the trace; other files are the compiler's, if it is installed.
func filesAgain(t *cdr.Trace, img *image.Space) (guestFiles, error) {
	if img.Main.Interp == "" {
		return guestFiles{}, nil
	}
	objects, err := t.Objects()
	if err != nil {
		return guestFiles{}, err
	}
	files := guestFiles{Objects: map[string]linux.Object{}}
	for _, o := range objects {
		files.Objects[o.Path] = linux.Object{Data: o.Data}
	}
	if dir, err := sysroot(img.Main.Interp); err == nil {
		files.Under = []string{dir}
	}
	return files, nil
}

// beside lists the shared objects in the directory of a program: the program sees
// them where it sees itself.
func beside(program string) map[string]linux.Object {
	dir := filepath.Dir(program)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	found := map[string]linux.Object{}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(e.Name(), ".so") && !strings.Contains(e.Name(), ".so.") {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			found["/"+e.Name()] = linux.Object{File: file}
		}
	}
	return found
}

func hasFile(root, name string) bool {
	info, err := os.Stat(filepath.Join(root, name))
	return err == nil && info.Mode().IsRegular()
}

// sysroot is the directory in which the cross compiler has a dynamic linker.
func sysroot(interp string) (string, error) {
	var asked []string
	for _, l := range []*compilers{&cCompilers, &cxxCompilers} {
		compiler, err := l.find()
		if err != nil {
			continue
		}
		asked = append(asked, compiler)
		if root := sysrootOf(compiler, interp); root != "" {
			return root, nil
		}
	}
	if len(asked) == 0 {
		return "", fmt.Errorf("it is dynamically linked: name the directory that has %s with --root, or install the cross compiler, which knows", interp)
	}
	return "", fmt.Errorf("it is dynamically linked, and %s knows no %s: name the directory that has it with --root", asked[0], interp)
}

// sysrootOf asks a compiler where its libraries are; "" when the dynamic linker is
// not among them.
func sysrootOf(compiler, interp string) string {
	if root := ask(compiler, "-print-sysroot"); filepath.IsAbs(root) && root != "/" && hasFile(root, interp) {
		return root
	}
	linker := ask(compiler, "-print-file-name="+filepath.Base(interp))
	if !filepath.IsAbs(linker) {
		return ""
	}
	root, ok := strings.CutSuffix(filepath.Clean(linker), filepath.Clean(interp))
	if !ok || root == "" || !hasFile(root, interp) {
		return ""
	}
	return root
}

// ask gives what a compiler prints.
func ask(compiler, question string) string {
	out, err := exec.Command(compiler, question).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
