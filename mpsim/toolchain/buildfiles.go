package toolchain

import (
	"io"
	"os"
	"text/template"
)

// cmakeToolchain is a CMake toolchain file. find_package searches the cross compiler's own
// libraries.
var cmakeToolchain = template.Must(template.New("cmake").Parse(`# A toolchain of CMake for the machine that hindsight simulates.
#   cmake -B build -DCMAKE_TOOLCHAIN_FILE=riscv.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER {{.C}})
{{- if .CXX}}
set(CMAKE_CXX_COMPILER {{.CXX}})
{{- end}}
{{- if .Fortran}}
set(CMAKE_Fortran_COMPILER {{.Fortran}})
{{- end}}
set(CMAKE_C_FLAGS_INIT "-g")
set(CMAKE_CXX_FLAGS_INIT "-g")
set(CMAKE_Fortran_FLAGS_INIT "-g")
{{- if .Static}}
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
{{- end}}
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
{{- if .Root}}
list(APPEND CMAKE_FIND_ROOT_PATH "{{.Root}}")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
{{- end}}
# Tests, and programs that a build makes and runs, run on the simulated machine.
set(CMAKE_CROSSCOMPILING_EMULATOR "{{.Hindsight}};run;--record;none")
`))

// mesonCross is a Meson cross file.
var mesonCross = template.Must(template.New("meson").Parse(`# A cross file of Meson for the machine that hindsight simulates.
#   meson setup --cross-file riscv.ini build
[binaries]
c = '{{.C}}'
{{- if .CXX}}
cpp = '{{.CXX}}'
{{- end}}
{{- if .Fortran}}
fortran = '{{.Fortran}}'
{{- end}}
exe_wrapper = ['{{.Hindsight}}', 'run', '--record', 'none']

[built-in options]
debug = true
{{- if .Static}}
c_link_args = ['-static']
cpp_link_args = ['-static']
{{- end}}

[host_machine]
system = 'linux'
cpu_family = 'riscv64'
cpu = 'rv64gc'
endian = 'little'
`))

// installed is what a build tool needs to know.
type installed struct {
	C, CXX, Fortran string // paths; "" for C++ and Fortran if not installed
	Static          bool   // there are no shared libraries
	Root            string // directory of the compiler's libraries
	Hindsight       string // this program
}

// WriteCMake writes a CMake toolchain file for the installed compilers. It returns an error
// if there is no C compiler.
func WriteCMake(w io.Writer) error { return writeToolchain(w, cmakeToolchain) }

// WriteMeson writes a Meson cross file, like [WriteCMake].
func WriteMeson(w io.Writer) error { return writeToolchain(w, mesonCross) }

// writeToolchain writes a file for the installed compilers.
func writeToolchain(w io.Writer, form *template.Template) error {
	c, err := C.Find()
	if err != nil {
		return err
	}
	cxx, _ := CXX.Find() // C alone is sufficient
	fortran, _ := Fortran.Find()
	self, err := os.Executable()
	if err != nil {
		self = "hindsight"
	}
	root := sysrootOf(c, Interp)
	return form.Execute(w, installed{C: c, CXX: cxx, Fortran: fortran, Static: root == "", Root: root, Hindsight: self})
}
