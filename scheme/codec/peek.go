package codec

// Peek is what a Peeker finds in an encoded object. Strings refer to the data looked at, unless they hold escapes.
type Peek struct {
	Kind            string
	APIVersion      string
	Name            string
	GenerateName    string
	Namespace       string
	UID             string
	ResourceVersion string
	Generation      int64
	// Deleting says that there is a deletionTimestamp.
	Deleting bool

	// Head is the length of the leading `{"kind":"...","apiVersion":"...",`, in whichever order, or 1 if the object does
	// not begin with them: data[Head:] without the rest of the head is `"metadata":{...}...}`.
	Head int
	// Splice is the offset in metadata at which `"resourceVersion":"...",` is to be inserted: where Kubernetes writes it.
	// It is the beginning of a member of metadata, and 0 if metadata is missing or empty.
	Splice int
	// Metadata is where the value of metadata begins and ends, zero if it is missing.
	Metadata Span
	// Version is the resourceVersion member together with one comma, so that data without it is well-formed; zero if
	// there is none.
	Version Span

	// Labels are in the order of the data. The slice is reused when the Peek is.
	Labels []Label
	// Fields are the values at the Peeker's paths: strings without quotes, numbers and booleans as written, "" for
	// all else and for what is missing.
	Fields []string
}

// Span is a part of some data: data[Start:End].
type Span struct{ Start, End int }

// Label is a key with its value.
type Label struct{ Key, Value string }

// Peeker looks into encoded objects without decoding them: one pass over the JSON, no types, no allocation (unless
// strings hold escapes). It is immutable.
type Peeker struct {
	paths []string
}

// NewPeeker returns a Peeker that also reads the members at paths, such as "spec.nodeName". Names in a path are
// separated by dots; lists are not looked into.
func NewPeeker(paths ...string) *Peeker { return &Peeker{paths: paths} }

// Peek looks into an object encoded as JSON and stores what it finds in out, all of which it overwrites. The error is
// for data that is no JSON object; not every mistake inside skipped values is found.
func (p *Peeker) Peek(data []byte, out *Peek) error { return nil }

// StripVersion appends data without its metadata.resourceVersion to dst.
func StripVersion(dst, data []byte) ([]byte, error) { return dst, nil }

// SpliceVersion appends data with resourceVersion inserted at splice (see Peek.Splice) to dst.
func SpliceVersion(dst, data []byte, splice int, resourceVersion string) []byte { return dst }
