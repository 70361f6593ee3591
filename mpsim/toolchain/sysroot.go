package toolchain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// HasFile reports whether a root directory contains a regular file of that name.
func HasFile(root, name string) bool {
	info, err := os.Stat(filepath.Join(root, name))
	return err == nil && info.Mode().IsRegular()
}

// Sysroot returns the directory in which the cross compiler has a dynamic linker.
func Sysroot(interp string) (string, error) {
	var asked []string
	for _, l := range []*Compilers{&C, &CXX} {
		compiler, err := l.Find()
		if err != nil {
			continue
		}
		asked = append(asked, compiler)
		if root := sysrootOf(compiler, interp); root != "" {
			return root, nil
		}
	}
	if len(asked) == 0 {
		return "", fmt.Errorf("it is dynamically linked: name a root directory that has %s, or install the cross compiler, which has one", interp)
	}
	return "", fmt.Errorf("it is dynamically linked, and %s has no %s: name a root directory that has it", asked[0], interp)
}

// sysrootOf asks a compiler where its libraries are. It returns "" if they do not include
// the dynamic linker.
func sysrootOf(compiler, interp string) string {
	if root := ask(compiler, "-print-sysroot"); filepath.IsAbs(root) && root != "/" && HasFile(root, interp) {
		return root
	}
	linker := ask(compiler, "-print-file-name="+filepath.Base(interp))
	if !filepath.IsAbs(linker) {
		return ""
	}
	root, ok := strings.CutSuffix(filepath.Clean(linker), filepath.Clean(interp))
	if !ok || root == "" || !HasFile(root, interp) {
		return ""
	}
	return root
}

// ask returns the output of a compiler.
func ask(compiler, question string) string {
	out, err := exec.Command(compiler, question).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
