package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
	"github.com/coracle-project/coracle/storage/cache"
)

// reader turns stored bytes into what the cache keeps and into objects, and back. It is immutable.
type reader struct {
	scheme   *scheme.Scheme
	codecs   *codec.Factory
	gvk      meta.GroupVersionKind // as stored
	version  string                // apiVersion of gvk
	root     string                // key prefix of the resource
	protobuf bool
	fields   []FieldValue // sorted by label; beside metadata.name and metadata.namespace
	peeker   *codec.Peeker
	places   [][2]int // of each of fields: where the peeker has the value, and its substitute
}

func newReader(cfg *Config, gvk meta.GroupVersionKind, root string, fields []FieldValue) *reader {
	r := &reader{
		scheme:   cfg.Scheme,
		codecs:   cfg.Codecs,
		gvk:      gvk,
		version:  gvk.GroupVersion().String(),
		root:     root,
		protobuf: cfg.Protobuf && hasMessage(cfg.Codecs, gvk),
		fields:   slices.Clone(fields),
	}
	slices.SortFunc(r.fields, func(a, b FieldValue) int { return strings.Compare(a.Label, b.Label) })
	var paths []string
	place := func(path string) int {
		i := slices.Index(paths, path)
		if i < 0 {
			i, paths = len(paths), append(paths, path)
		}
		return i
	}
	for _, f := range r.fields {
		r.places = append(r.places, [2]int{place(f.Path), place(cmp.Or(f.Else, f.Path))})
	}
	r.peeker = codec.NewPeeker(paths...)
	return r
}

// hasMessage reports whether a kind has a protobuf form: its fields are numbered.
func hasMessage(codecs *codec.Factory, gvk meta.GroupVersionKind) bool {
	t := codecs.TypeOf(gvk)
	return t != nil && slices.ContainsFunc(t.Members, func(f *typeinfo.Field) bool { return f.Number > 0 })
}

// decode is the cache's Decode: one pass over the bytes of an object stored as JSON in the storage version. What is
// stored otherwise (protobuf, another version) is brought into that form first.
func (r *reader) decode(key string, value []byte) (cache.Decoded, error) {
	var peek codec.Peek
	proto := codec.IsProtobuf(value)
	if !proto {
		if err := r.peeker.Peek(value, &peek); err != nil {
			return cache.Decoded{}, fmt.Errorf("decode %s: %w", key, err)
		}
	}
	stale := proto != r.protobuf // the next write stores it as it should be
	if peek.APIVersion != r.version {
		var version string
		var err error
		if value, version, err = r.transcode(value); err != nil {
			return cache.Decoded{}, fmt.Errorf("decode %s: %w", key, err)
		}
		stale = stale || version != r.version
		if err := r.peeker.Peek(value, &peek); err != nil {
			return cache.Decoded{}, fmt.Errorf("decode %s: %w", key, err)
		}
	}
	if peek.Splice == 0 {
		return cache.Decoded{}, fmt.Errorf("decode %s: no metadata", key)
	}
	return cache.Decoded{
		Data: value, Splice: peek.Splice, Head: peek.Head, Stale: stale,
		Labels: labelPairs(peek.Labels), Fields: r.fieldPairs(&peek),
	}, nil
}

// labelPairs sorts labels for lookups. Encoded maps are sorted already, but not every writer is us.
func labelPairs(labels []codec.Label) cache.Pairs {
	if len(labels) == 0 {
		return nil
	}
	pairs := make(cache.Pairs, len(labels))
	for i, l := range labels {
		pairs[i] = cache.Pair{Key: l.Key, Value: l.Value}
	}
	byKey := func(a, b cache.Pair) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(pairs, byKey) {
		slices.SortFunc(pairs, byKey)
	}
	return pairs
}

// fieldPairs returns the selectable fields, sorted by label.
func (r *reader) fieldPairs(peek *codec.Peek) cache.Pairs {
	pairs := make(cache.Pairs, 0, len(r.fields)+2)
	named := false
	for i := range r.fields {
		if !named && r.fields[i].Label > "metadata.name" {
			pairs, named = appendNames(pairs, peek), true
		}
		value := cmp.Or(peek.Fields[r.places[i][0]], peek.Fields[r.places[i][1]], r.fields[i].Default)
		pairs = append(pairs, cache.Pair{Key: r.fields[i].Label, Value: value})
	}
	if !named {
		pairs = appendNames(pairs, peek)
	}
	return pairs
}

func appendNames(pairs cache.Pairs, peek *codec.Peek) cache.Pairs {
	return append(pairs, cache.Pair{Key: "metadata.name", Value: peek.Name}, cache.Pair{Key: "metadata.namespace", Value: peek.Namespace})
}

// transcode brings a stored object into JSON of the storage version, and returns the version that it was stored in.
func (r *reader) transcode(value []byte) (json []byte, version string, err error) {
	decoded, err := r.codecs.DecodeStored(value)
	if err != nil {
		return nil, "", err
	}
	obj, err := r.scheme.ToHub(decoded.Object)
	if err != nil {
		return nil, "", err
	}
	json, err = r.json(obj)
	return json, decoded.GVK.GroupVersion().String(), err
}

// object decodes a stored or cached object into the hub version.
func (r *reader) object(value []byte) (meta.Object, error) {
	decoded, err := r.codecs.DecodeStored(value)
	if err != nil {
		return nil, err
	}
	return r.scheme.ToHub(decoded.Object)
}

// encode makes the bytes to store of an object in the hub version.
func (r *reader) encode(obj meta.Object) ([]byte, error) {
	if !r.protobuf {
		return r.json(obj)
	}
	return r.stored(obj, func(out meta.Typed) ([]byte, error) {
		return r.codecs.Append(nil, out, codec.Media{Type: codec.Protobuf})
	})
}

// json encodes obj as JSON in the storage version, kind and apiVersion first and without resourceVersion.
func (r *reader) json(obj meta.Object) ([]byte, error) {
	return r.stored(obj, func(out meta.Typed) ([]byte, error) { return codec.AppendJSON(nil, out) })
}

// stored calls write with obj as it is to be stored, and leaves obj as it was.
func (r *reader) stored(obj meta.Object, write func(meta.Typed) ([]byte, error)) ([]byte, error) {
	m := obj.GetObjectMeta()
	rv := m.ResourceVersion
	m.ResourceVersion = ""
	defer func() { m.ResourceVersion = rv }()
	out, err := r.scheme.FromHub(obj, r.gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	out.GetTypeMeta().SetGroupVersionKind(r.gvk)
	return write(out)
}
