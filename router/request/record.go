package request

import "github.com/coracle-project/coracle/scheme/meta"

// Record is what the router tells about the bodies of a request and its answer. A reader of records
// (filters.Audit) sets Info.Record before the request reaches the router, and says in it what it
// wants. While Info.Record is nil, the router only compares it with nil.
//
// A Record belongs to the goroutine that serves the request, like its Info, and has no lock. It is
// read on that goroutine after the handler has returned or panicked. From then on nobody writes to
// it, and the reader may keep it or hand it to another goroutine. The bytes and objects in it may
// be shared with others and must not be changed.
type Record struct {
	// What the reader wants besides names and statuses: the object that was sent, the object that
	// is answered, and both without managedFields.
	Received, Answered, OmitManagedFields bool

	// Began, if it is set, is called when the header of the response is written, with its code. The
	// filters call it, also for answers that the router does not write.
	Began func(code int)

	// Object names the object in the body of a create or update, by its own metadata. It is empty
	// for other requests.
	Object ObjectName
	// ReceivedObject is the object in the body of the request as JSON, in the version in which it
	// was sent and with defaults, as it was before admission; for a deletion the DeleteOptions; for
	// a patch the patch as sent, an apply in YAML as JSON. A patch may be no JSON. ReceivedObject
	// is nil if it is not wanted, and if nothing could be decoded.
	ReceivedObject []byte
	// Status is the Status that was answered, with an error or after a deletion; otherwise nil.
	Status *meta.Status
	// AnsweredObject is the object that was answered as JSON without a final newline, whatever form
	// the client got: an object, a list, a Table, a Status, a discovery document. It is nil if it
	// is not wanted, and for answers without an object: a watch, a connection, plain text.
	AnsweredObject []byte

	// Story is told what admission does with the request; nil if nobody wants it. The reader of the
	// record sets it, to an empty Story. Admission fills it.
	Story *Story
}

// ObjectName is what the metadata of an object says about which object it is.
type ObjectName struct {
	Namespace, Name string
	UID             meta.UID
	ResourceVersion string
}
