//go:build repaired

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

var mu sync.Mutex

func take(n *int) int {
	mu.Lock()
	defer mu.Unlock()
	i := *n
	*n = i + 1
	return i
}

type flag struct{ on atomic.Bool }

func (f *flag) set()      { f.on.Store(true) }
func (f *flag) get() bool { return f.on.Load() }

type holder struct{ n atomic.Pointer[node] }

func (h *holder) put(n *node) { h.n.Store(n) }
func (h *holder) take() *node { return h.n.Load() }

func pause() { runtime.Gosched() }
