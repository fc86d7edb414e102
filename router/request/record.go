package request

import (
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Record is the body that the router received with a request and the answer that it gave. A reader
// of records (audit, traces, metrics by size) sets Info.Record before the request reaches the
// router. While Info.Record is nil, the router only compares it with nil.
//
// The router fills the record: Received when the body has been read, Received.Object when the body
// has been decoded, and Answer from the status line to the last byte. WriteError fills the Answer
// as well, also for a filter that refuses the request. The Answer stays empty if the router does
// not write it: pages of the server itself, and responses of aggregated servers. Info.Status and
// Info.Written count those, too.
//
// A Record belongs to the goroutine that serves the request, like its Info, and has no lock. It is
// read on that goroutine after the handler has returned or panicked. From then on nobody writes to
// it, and the reader may keep it or hand it to another goroutine. The bytes and objects in it may
// be shared with others and must not be changed.
type Record struct {
	// Keep is the number of bytes of the answer's body to keep, at most; 0 keeps none. The reader
	// of the record sets it.
	Keep int

	Received Received
	Answer   Answer

	// Story is told what admission does with the request; nil if nobody wants it. The reader of the
	// record sets it, to an empty Story. Admission fills it.
	Story *Story
}

// Received is the body of a request. It is empty if the router reads no body: for reads, for
// connections, whose bodies are streams, and for requests that are refused earlier. Options in the
// query are not part of it; see Info.Query.
type Received struct {
	Body      []byte // as sent
	MediaType string // of Body: the Content-Type as sent; may be ""
	// Object is the object in Body, in the version in which it was sent and without defaults: a
	// copy of the object that the registry received. For a deletion it is the DeleteOptions. It is
	// nil if Body is a patch or an apply configuration, or cannot be decoded.
	Object meta.Typed
}

// Answer is the answer to a request, before compression.
type Answer struct {
	Status    int    // 0: the router has not answered
	MediaType string // the Content-Type; may be ""
	// Object is an object that was encoded for this answer alone: a Status, a Table, a discovery
	// document. It is nil if the bytes came from the store.
	Object meta.Typed
	Body   []byte // the first Keep bytes; nil for a Stream
	Size   int64  // bytes of the whole body, including those that were not kept
	// Stream is set for a watch, and for a connection that was handed on to another handler. The
	// Size of a connection is 0, because it is unknown.
	Stream bool
	Began  time.Time // when the header was written, or the connection was handed on
	Ended  time.Time // when the last byte was written; zero if the answer was broken off
}
