//go:build !repaired

package main

import "runtime"

//go:noinline
func take(n *int) int {
	i := *n
	runtime.Gosched()
	*n = i + 1
	return i
}

type flag struct{ on bool }

//go:noinline
func (f *flag) set() { f.on = true }

//go:noinline
func (f *flag) get() bool { return f.on }

type holder struct{ n *node }

//go:noinline
func (h *holder) put(n *node) { h.n = n }

//go:noinline
func (h *holder) take() *node { return h.n }

func pause() { runtime.Gosched() }
