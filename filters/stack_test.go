package filters

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

// stackAddress returns an address on the caller's stack.
//
//go:noinline
func stackAddress() uintptr {
	var x byte
	return uintptr(unsafe.Pointer(&x))
}

// TestChainStack bounds the stack of the chain, which a watch holds for as long as it lasts.
func TestChainStack(t *testing.T) {
	const bound = 2900 // the race detector makes frames larger
	var inside uintptr
	h := Chain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside = stackAddress() }), benchConfig(t).Steps()...)
	for _, query := range []string{"", "watch=1"} {
		var taken uintptr
		for range 2 { // the first may move the stack
			r := get()
			r.Header["Authorization"] = credentials
			r.URL.Path, r.URL.RawQuery = "/api/v1/configmaps", query
			outside := stackAddress()
			h.ServeHTTP(&sink{header: http.Header{}}, r)
			taken = outside - inside
		}
		if taken > bound {
			t.Errorf("?%s: got %d bytes, want at most %d", query, taken, bound)
		}
	}
}

// TestStackOfWrites: an HTTP/2 request has enough room on its goroutine's stack for everything that
// a write does.
func TestStackOfWrites(t *testing.T) {
	const used = 9 << 10 // by decoding, checking and storing
	// The garbage collector halves a stack of which less than a quarter is in use. With collections
	// off, and none under way, the only move that the test can see is a growth.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	moved := false
	h := Chain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		before := stackAddress()
		useStack[[used]byte]()
		moved = stackAddress() != before
	}), benchConfig(t).Steps()...)
	done := make(chan bool)
	go func() { // as net/http does for each request
		defer close(done)
		r := get()
		r.Header["Authorization"] = credentials
		r.Method, r.ProtoMajor = http.MethodPost, 2
		h.ServeHTTP(&sink{header: http.Header{}}, r)
	}()
	<-done
	if moved {
		t.Error("the stack has grown in the handler, where all frames of the chain are on it")
	}
}

// useStack takes as much stack as a T.
//
//go:noinline
func useStack[T any]() {
	var room T
	keep(unsafe.Pointer(&room))
}

//go:noinline
func keep(unsafe.Pointer) {}
