package request

import (
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Record is what the router received with a request and what it answered. Somebody who writes that
// down (audit, traces, metrics by size) puts one into Info.Record before the request reaches the
// router. While there is none, the router only compares with nil.
//
// The router fills the record: Received when the body has been read, and Object there when the body
// has been decoded; Answer from the status line to the last byte. WriteError fills the Answer as
// well, also for a filter that refuses the request. What the router does not answer itself leaves
// the Answer empty: the server's own pages, and what servers behind this one answer. Info.Status
// and Info.Written count these, too.
//
// A Record belongs to the goroutine that serves the request, like its Info, and has no lock. It is
// read on that goroutine after the handler has returned or panicked. Nobody writes to it from then
// on, and the reader may keep it or hand it to another goroutine. The bytes and objects in it may
// be shared with others and are never to be changed.
type Record struct {
	// Keep is how many bytes of the body of the answer are kept, at most; 0 for none. Whoever wants
	// the record sets it.
	Keep int

	Received Received
	Answer   Answer
}

// Received is the body of a request. It is empty if the router reads none: of reads, of
// connections, whose bodies are streams, and of requests that are refused first. Options in the
// query are no part of it; see Info.Query.
type Received struct {
	Body      []byte // as sent
	MediaType string // of Body: the Content-Type as sent; may be ""
	// Object is what Body holds, in the version in which it was sent and before defaults: a copy of
	// what the registry was given. Of deletions it is the DeleteOptions. It is nil if Body is a
	// patch or an apply, or cannot be decoded.
	Object meta.Typed
}

// Answer is the answer to a request, before compression.
type Answer struct {
	Status    int    // 0: the router has not answered
	MediaType string // the Content-Type; may be ""
	// Object is what was encoded for this answer alone: a Status, a Table, a document of discovery.
	// It is nil if the bytes are those of the store.
	Object meta.Typed
	Body   []byte // the first Keep bytes; nil for a Stream
	Size   int64  // of the whole body, in bytes, also of what was not kept
	// Stream is set for a watch, and for a connection that was handed on to another handler. The
	// Size of a connection is unknown: 0.
	Stream bool
	Began  time.Time // when the header was written, or the connection was handed on
	Ended  time.Time // when the last byte was written; zero if the answer was broken off
}
