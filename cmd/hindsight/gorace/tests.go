package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// copyTests copies the race tests of the installed Go to dir and returns their names. It
// omits files that import C or an internal package, and calls of runtime.RaceDisable and
// RaceEnable, which exist only in programs built with -race. A read whose value the test
// discards (_ = x) is passed to a function, because an uninstrumented program would not
// contain it otherwise.
func copyTests(ctx context.Context, dir string) ([]*test, error) {
	env, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	root, version, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(root, "src/runtime/race/testdata/*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the installed Go has no race tests: %w", err)
	}
	var tests []*test
	name := ""
	for _, file := range files {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if foreign(f) {
			continue
		}
		name = f.Name.Name
		f.Comments = nil // their positions would be wrong
		adapt(f)
		out, err := os.Create(filepath.Join(dir, filepath.Base(file)))
		if err != nil {
			return nil, err
		}
		if err := format.Node(out, fset, f); err != nil {
			return nil, err
		}
		if err := out.Close(); err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isTest(fn) {
				tests = append(tests, &test{name: fn.Name.Name, file: filepath.Base(file)})
			}
		}
	}
	for file, text := range map[string]string{
		"go.mod":         fmt.Sprintf("module racetests\n\ngo %s\n", strings.TrimPrefix(version, "go")),
		suppressionsFile: suppressions,
		"keep_test.go":   "package " + name + "\n\n//go:noinline\nfunc keep[T any](T) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return tests, nil
}

func isTest(fn *ast.FuncDecl) bool {
	return fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "TestRace") || strings.HasPrefix(fn.Name.Name, "TestNoRace"))
}

func foreign(f *ast.File) bool {
	for _, imp := range f.Imports {
		if path := strings.Trim(imp.Path.Value, `"`); path == "C" || strings.HasPrefix(path, "internal/") {
			return true
		}
	}
	return false
}

// adapt changes the statements of a file.
func adapt(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			n.List = adapted(n.List)
		case *ast.CaseClause:
			n.Body = adapted(n.Body)
		case *ast.CommClause:
			n.Body = adapted(n.Body)
		}
		return true
	})
}

func adapted(list []ast.Stmt) []ast.Stmt {
	var out []ast.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok && instrumented(c) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.ASSIGN && len(s.Lhs) == len(s.Rhs) && allBlank(s.Lhs) {
				for _, e := range s.Rhs {
					out = append(out, &ast.ExprStmt{X: &ast.CallExpr{Fun: ast.NewIdent("keep"), Args: []ast.Expr{e}}})
				}
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

func allBlank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// instrumented reports whether a call is one of runtime.RaceDisable or RaceEnable.
func instrumented(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "runtime" && (sel.Sel.Name == "RaceDisable" || sel.Sel.Name == "RaceEnable")
}
