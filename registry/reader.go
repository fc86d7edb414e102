package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file turns stored bytes into objects and objects into bytes. The cache calls look and load
// for each value on its way in; the Store calls hub when it needs an object, and encode when it
// writes one.

// reader finds labels and selectable fields in stored bytes, decodes them to objects, and encodes
// objects to bytes. It is immutable.
//
// The cache keeps bytes as they were written: JSON or protobuf, in any served version. They are not
// converted to another version on the way into the cache, because a conversion may fail or take
// long, which must only affect the clients that ask for it.
//
// An object that another server wrote may lack fields that today's declaration adds, or be in a
// version that is not served. Such an object is restored when it is loaded: decoded, completed with
// the defaults of the version that it is stored in, converted, completed by Resource.Complete, and
// encoded in the storage version. The cache holds the new bytes, so its readers see complete
// objects only. An object that this process wrote is complete.
type reader struct {
	kind   kind.Kind
	stored *kind.Version // the version in which objects are written
	// home is the version in which the server itself addresses the resource: stored, if it is
	// served, else the preferred version.
	home     *kind.Version
	fill     func(obj meta.Object) // Resource.Complete; may be nil
	protobuf bool
	// drops is set if objects are stored as JSON that Kubernetes stores as protobuf. A write then
	// makes empty lists nil, as encoding to protobuf would.
	drops   bool
	forms   *forms
	lookers []*looker // one for each version of the kind; that of stored is the first
	// lost looks into objects of versions that the kind does not have (custom resources); nil: they
	// cannot be read.
	lost   *looker
	failed func(*storage.Error) // called with the error of each object that does not decode; may be nil
}

// newReader returns a reader. It reports mistakes in CompleteNeeds, but not those of a lazy kind:
// these are parsed when the first object is loaded, and tests check them.
func newReader(k kind.Kind, stored *kind.Version, cfg *Config, res *Resource, f *forms) (*reader, error) {
	if stored.Needs != nil && !stored.Lazy {
		if _, err := parseNeeds(stored.Type(), res.CompleteNeeds); err != nil {
			return nil, fmt.Errorf("registry: CompleteNeeds of %s: %w", res.GroupResource, err)
		}
	}
	r := &reader{kind: k, stored: stored, home: stored, fill: res.Complete, forms: f, failed: cfg.Unreadable}
	if stored.Protobuf && !res.StoredAsJSON {
		r.protobuf, r.drops = cfg.Protobuf, !cfg.Protobuf
	}
	if kind.In(k, stored.GVK.Version) != stored {
		r.home = k.Versions()[0]
	}
	fields := res.Fields
	r.lookers = append(r.lookers, newLooker(stored, fields, f, res.CompleteNeeds...))
	r.lookers[0].suspect = res.Complete != nil && len(res.CompleteNeeds) == 0
	for _, v := range k.Versions() {
		if v != stored {
			l := newLooker(v, fields, f)
			l.suspect = res.Complete != nil
			r.lookers = append(r.lookers, l)
		}
	}
	if gvk := stored.GVK; k.Hub(gvk.Version) != scheme.InternalVersion {
		gvk.Version = ""
		r.lost = newLooker(&kind.Version{GVK: gvk, Settled: stored.Settled}, nil, f)
	}
	return r, nil
}

// looker finds labels, names and selectable fields in the bytes of objects that are stored in one
// version, without decoding them.
type looker struct {
	version    *kind.Version
	apiVersion string
	written    peekers // for objects that are complete
	loaded     peekers // for objects that may lack defaults; they report that in Peek.MayNeedDefaults
	suspect    bool    // any loaded object may be incomplete, because Complete runs and has no needs
	jsonForm   uint32  // as stored
	shownForm  uint32  // as shown; differs if stored objects may need defaults first (Version.Settled)
	protoForm  uint32
	fields     []FieldValue // sorted by label; beside metadata.name and metadata.namespace
	indexes    [][2]int     // for each of fields, the indexes of Path and of Else in Peek.Fields
}

// peekers are the codecs' scanners for one version, one for each encoding.
type peekers struct {
	json  *codec.Peeker
	proto *codec.ProtoPeeker // nil: the version has no protobuf form
}

// newLooker returns a looker for the version v. A loaded object is complete if it meets needs and
// the needs of the version's defaults.
func newLooker(v *kind.Version, fields []FieldValue, f *forms, needs ...string) *looker {
	l := &looker{
		version: v, apiVersion: v.GVK.GroupVersion().String(),
		shownForm: f.of(v.GVK, codec.Media{}),
		protoForm: f.of(v.GVK, codec.Media{Type: codec.Protobuf, As: asStored}),
	}
	if l.jsonForm = l.shownForm; v.Settled != nil {
		l.jsonForm = f.of(v.GVK, codec.Media{As: asStored})
	}
	for _, fv := range fields {
		if fv.Version == "" || fv.Version == v.GVK.Version {
			l.fields = append(l.fields, fv)
		}
	}
	slices.SortFunc(l.fields, func(a, b FieldValue) int { return strings.Compare(a.Label, b.Label) })
	var paths []string
	indexOf := func(path string) int {
		i := slices.Index(paths, path)
		if i < 0 {
			i, paths = len(paths), append(paths, path)
		}
		return i
	}
	for _, fv := range l.fields {
		l.indexes = append(l.indexes, [2]int{indexOf(fv.Path), indexOf(cmp.Or(fv.Else, fv.Path))})
	}
	l.written.json = codec.NewPeeker(paths...)
	if v.Protobuf {
		l.written.proto = codec.NewProtoPeeker(v.Type, paths...)
	}
	l.loaded = l.written
	if v.Needs == nil {
		return l
	}
	more := sync.OnceValue(func() []typeinfo.Need {
		parsed, err := parseNeeds(v.Type(), needs)
		if err != nil {
			panic(err)
		}
		return parsed
	})
	l.loaded.json = v.Needs.Peeker(v.Type, more, paths...)
	if v.Protobuf {
		l.loaded.proto = v.Needs.ProtoPeeker(v.Type, more, paths...)
	}
	return l
}

// parseNeeds parses the CompleteNeeds of a resource.
func parseNeeds(t *typeinfo.Type, texts []string) (needs []typeinfo.Need, err error) {
	for _, text := range texts {
		need, wrong := typeinfo.ParseNeed(t, text)
		needs, err = append(needs, need), errors.Join(err, wrong)
	}
	return needs, err
}

// peekers returns the peekers for loaded objects, or for those that this process wrote.
func (l *looker) peekers(load bool) *peekers {
	if load {
		return &l.loaded
	}
	return &l.written
}

// look is the cache's Written: it scans the bytes of an object that this process wrote.
func (r *reader) look(_ string, value []byte) (cache.Decoded, error) {
	d, _, err := r.lookInto(value, false)
	return d, err
}

// load is the cache's Decode: it scans the bytes of an object that another server may have written,
// and restores the object if it is not complete.
func (r *reader) load(key string, value []byte) (cache.Decoded, error) {
	d, lacks, err := r.lookInto(value, true)
	switch older := (*olderVersion)(nil); {
	case err == nil && !lacks:
		return d, nil
	case err != nil && !errors.As(err, &older):
		return d, err
	}
	complete, err := r.restore(value)
	if err != nil {
		return cache.Decoded{}, err
	}
	if bytes.Equal(complete, value) {
		return d, nil
	}
	d, err = r.look(key, complete)
	d.Stale = true
	return d, err
}

// restore decodes a stored object, completes it, and returns its bytes in the storage version. The
// defaults of the object's own version apply, and not those of the storage version: these apply
// when the object is written.
func (r *reader) restore(value []byte) ([]byte, error) {
	decoded, err := r.kind.Decode(storedAs(value))
	if err != nil {
		return nil, err
	}
	if decoded.GVK.Kind != r.kind.GroupKind().Kind {
		return nil, otherKind(decoded.GVK.Kind)
	}
	if err := r.kind.Default(context.Background(), decoded.Object); err != nil {
		return nil, err
	}
	hub, err := kind.ToHub(context.Background(), r.kind, decoded.Object)
	if err != nil {
		return nil, err
	}
	if r.fill != nil {
		r.fill(hub)
	}
	const written = false
	complete, _, err := r.append(context.Background(), hub, written)
	return complete, err
}

// lookInto scans the bytes of an object. If load is set, lacks reports whether the object may not
// be complete. The error is an *olderVersion if the object is in a version that is not served.
func (r *reader) lookInto(value []byte, load bool) (d cache.Decoded, lacks bool, err error) {
	if codec.IsProtobuf(value) {
		return r.lookProto(value, load)
	}
	return r.lookJSON(value, load)
}

// peeks is a pool of Peeks, which reuses their slices of labels and fields.
var peeks = sync.Pool{New: func() any { return new(codec.Peek) }}

// lookJSON is lookInto for JSON. It scans by the looker of the storage version first, and again if
// apiVersion names another version.
func (r *reader) lookJSON(value []byte, load bool) (_ cache.Decoded, lacks bool, err error) {
	peek := peeks.Get().(*codec.Peek)
	defer done(peek)
	l := r.lookers[0]
	if err := l.peekers(load).json.Peek(value, peek); err != nil {
		return cache.Decoded{}, false, err
	}
	if peek.APIVersion != l.apiVersion {
		var err error
		if l, err = r.otherLooker(peek.APIVersion); err != nil {
			return cache.Decoded{}, false, err
		}
		if err := l.peekers(load).json.Peek(value, peek); err != nil {
			return cache.Decoded{}, false, err
		}
	}
	// Stored bytes have no resourceVersion. If they have one, they were copied from an answer, and
	// it is cut out.
	for peek.Version != (codec.Span{}) {
		value = slices.Concat(value[:peek.Version.Start], value[peek.Version.End:])
		if err := l.peekers(load).json.Peek(value, peek); err != nil {
			return cache.Decoded{}, false, err
		}
	}
	if peek.Splice == 0 {
		return cache.Decoded{}, false, errNoMetadata
	}
	if peek.Kind != l.version.GVK.Kind {
		return cache.Decoded{}, false, otherKind(peek.Kind)
	}
	d := l.decoded(value, peek)
	d.Form, d.Splice, d.Head = l.jsonForm, peek.Splice, peek.Head
	d.Stale = r.protobuf || l.version != r.stored
	return d, load && (peek.MayNeedDefaults || l.suspect), nil
}

// lookProto is lookInto for protobuf. Protobuf does not name its fields, so the bytes are scanned
// again as the right message if they turn out to be of another version.
func (r *reader) lookProto(value []byte, load bool) (_ cache.Decoded, lacks bool, err error) {
	peek := peeks.Get().(*codec.Peek)
	defer done(peek)
	i := slices.IndexFunc(r.lookers, func(l *looker) bool { return l.written.proto != nil })
	if i < 0 {
		return cache.Decoded{}, false, errNoProtobuf
	}
	l := r.lookers[i]
	err = l.peekers(load).proto.Peek(value, peek)
	// The bytes are of another version than l, so they were scanned as the wrong message.
	if peek.APIVersion != l.apiVersion && peek.APIVersion != "" {
		if l, err = r.otherLooker(peek.APIVersion); err != nil {
			return cache.Decoded{}, false, err
		}
		if l.written.proto == nil {
			return cache.Decoded{}, false, errNoProtobuf
		}
		err = l.peekers(load).proto.Peek(value, peek)
	}
	switch {
	case err != nil:
		return cache.Decoded{}, false, err
	case peek.APIVersion == "":
		return cache.Decoded{}, false, unknownVersion("")
	case peek.Kind != l.version.GVK.Kind:
		return cache.Decoded{}, false, otherKind(peek.Kind)
	}
	d := l.decoded(value, peek)
	d.Form = l.protoForm
	d.Stale = !r.protobuf || l.version != r.stored
	return d, load && (peek.MayNeedDefaults || l.suspect), nil
}

// otherLooker returns the looker for an apiVersion, or an *olderVersion if objects in it must be
// restored.
func (r *reader) otherLooker(apiVersion string) (*looker, error) {
	if l := r.looker(apiVersion); l != nil {
		return l, nil
	}
	switch {
	case kind.StoredIn(r.kind, apiVersion) != nil:
		return nil, &olderVersion{apiVersion}
	case r.lost != nil && r.ofGroup(apiVersion):
		return r.lost, nil
	}
	return nil, unknownVersion(apiVersion)
}

// ofGroup reports whether an apiVersion is of the group of the kind.
func (r *reader) ofGroup(apiVersion string) bool {
	gv, ok := meta.ParseGroupVersion(apiVersion)
	return ok && gv.Group == r.kind.GroupKind().Group
}

// looker returns the looker for a served apiVersion, nil if the kind has no such version.
func (r *reader) looker(apiVersion string) *looker {
	for _, l := range r.lookers {
		if l.apiVersion == apiVersion {
			return l
		}
	}
	return nil
}

// olderVersion says that an object is in a version that is stored but not served
// (Scheme.AddStored), and must be restored. Only load meets it, because this process writes no such
// version.
type olderVersion struct{ apiVersion string }

func (e *olderVersion) Error() string { return fmt.Sprintf("stored in version %q", e.apiVersion) }

func unknownVersion(apiVersion string) error {
	return fmt.Errorf("stored in version %q%s", apiVersion, notKnown)
}

// notKnown ends the error text of an object in an unknown version. corruptStorage recognises it,
// because the cache keeps the text of an error only.
const notKnown = ", which is not known"

func otherKind(kind string) error {
	return fmt.Errorf("stored as an object of the kind %q", kind)
}

var (
	errNoMetadata = errors.New("no metadata")
	errNoProtobuf = errors.New("stored as protobuf, which the kind does not have")
)

// done puts a Peek back into the pool. It drops the strings in it, which would keep the bytes of
// the object alive.
func done(peek *codec.Peek) {
	const most = 64 // few objects have more labels; a longer slice is not pooled
	if cap(peek.Labels) > most {
		peek.Labels = nil
	}
	clear(peek.Labels[:cap(peek.Labels)])
	clear(peek.Fields[:cap(peek.Fields)])
	*peek = codec.Peek{Labels: peek.Labels[:0], Fields: peek.Fields[:0]}
	peeks.Put(peek)
}

// decoded returns the entry that the cache keeps for value. Labels and Fields share one allocation.
func (l *looker) decoded(value []byte, peek *codec.Peek) cache.Decoded {
	labels := len(peek.Labels)
	pairs := l.fieldPairs(labelPairs(make(cache.Pairs, 0, labels+len(l.fields)+2), peek.Labels), peek)
	return cache.Decoded{Data: value, Labels: pairs[:labels:labels], Fields: pairs[labels:]}
}

// labelPairs appends labels, sorted by key. Objects that this server wrote have sorted labels;
// those of other writers may not.
func labelPairs(pairs cache.Pairs, labels []codec.Label) cache.Pairs {
	for _, l := range labels {
		pairs = append(pairs, cache.Pair{Key: l.Key, Value: l.Value})
	}
	byKey := func(a, b cache.Pair) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(pairs, byKey) {
		slices.SortFunc(pairs, byKey)
	}
	return pairs
}

// fieldPairs appends the selectable fields, sorted by label.
func (l *looker) fieldPairs(pairs cache.Pairs, peek *codec.Peek) cache.Pairs {
	named := false
	for i := range l.fields {
		if !named && l.fields[i].Label > "metadata.name" {
			pairs, named = appendNames(pairs, peek), true
		}
		value := cmp.Or(peek.Fields[l.indexes[i][0]], peek.Fields[l.indexes[i][1]], l.fields[i].Default)
		pairs = append(pairs, cache.Pair{Key: l.fields[i].Label, Value: value})
	}
	if !named {
		pairs = appendNames(pairs, peek)
	}
	return pairs
}

func appendNames(pairs cache.Pairs, peek *codec.Peek) cache.Pairs {
	return append(
		pairs, cache.Pair{Key: "metadata.name", Value: peek.Name},
		cache.Pair{Key: "metadata.namespace", Value: peek.Namespace},
	)
}

// hub decodes an object into the hub, with its resourceVersion. The error is storage.Corrupt if the
// stored bytes cannot be decoded.
func (r *reader) hub(ctx context.Context, enc request.Encoded) (meta.Object, error) {
	obj, err := r.decode(ctx, enc)
	if err != nil {
		return nil, r.corrupt(ctx, enc, err)
	}
	return obj, nil
}

// corrupt turns the error of decoding enc into a storage.Corrupt, and reports it to failed. The end
// of ctx and a Status, which a conversion webhook returned, pass unchanged: they do not say that
// the bytes are corrupt.
func (r *reader) corrupt(ctx context.Context, enc request.Encoded, err error) error {
	stored, _ := enc.(*cache.Object)
	switch status := (*meta.StatusError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case stored == nil || errors.As(err, &status):
		return err
	}
	data, _ := enc.Stored()
	corrupt := &storage.Error{
		Op: "decode", Key: stored.Key, Kind: storage.Corrupt, Rev: stored.Rev, Err: r.explained(data, err),
	}
	if r.failed != nil {
		r.failed(corrupt)
	}
	return corrupt
}

// hubOf decodes an object as strategies see it for requests in a version (see toHub).
func (r *reader) hubOf(ctx context.Context, enc request.Encoded, version string) (meta.Object, error) {
	obj, err := r.hub(ctx, enc)
	if err != nil || version == "" {
		return obj, err
	}
	if obj, err = toHub(ctx, r.kind, obj, version); err != nil {
		return nil, r.corrupt(ctx, enc, err)
	}
	return obj, nil
}

// decode is hub with the error of the decoder. Stored protobuf has no resourceVersion, so decode
// sets it; the cache has added it to JSON.
func (r *reader) decode(ctx context.Context, enc request.Encoded) (meta.Object, error) {
	complete, err := r.complete(enc)
	if err != nil {
		return nil, err
	}
	obj, err := kind.ToHub(ctx, r.kind, complete)
	if err != nil {
		return nil, err
	}
	if data, _ := enc.Stored(); codec.IsProtobuf(data) && enc.Revision() != 0 {
		obj.GetObjectMeta().ResourceVersion = formatRevision(storage.Revision(enc.Revision()))
	}
	return obj, nil
}

// complete decodes an object in the version in which it is stored, and completes it if that has not
// been done on the way into the cache.
func (r *reader) complete(enc request.Encoded) (meta.Typed, error) {
	data, form := enc.Stored()
	decoded, err := r.kind.Decode(storedAs(data))
	if err != nil {
		return nil, err
	}
	if r.unsettled(form) {
		if err := r.kind.Default(context.Background(), decoded.Object); err != nil {
			return nil, err
		}
		// old servers did not count metadata.generation of custom resources
		if m := decoded.Object.(meta.Object).GetObjectMeta(); m.Generation == 0 {
			m.Generation = 1
		}
	}
	return decoded.Object, nil
}

// unsettled reports whether bytes in a form may need defaults: they are those of the store, and the
// kind has defaults that may change while objects exist (custom resources).
func (r *reader) unsettled(form uint32) bool {
	return r.stored.Settled != nil && !slices.ContainsFunc(r.lookers, func(l *looker) bool {
		return l.shownForm == form
	})
}

// storedAs returns the request to decode stored bytes, JSON or protobuf.
func storedAs(data []byte) codec.DecodeRequest {
	req := codec.DecodeRequest{Data: data, Shared: true}
	if codec.IsProtobuf(data) {
		req.Type = codec.Protobuf
	}
	return req
}

// encode returns the bytes to store for obj, which is in the hub. An object of a Go type gets the
// defaults of the storage version first, because the client may have written in a version without
// them, and a strategy may have cleared a field. obj itself may get them, too. form is the form of
// the bytes if clients can be sent them as they are, and 0 if that is not known.
func (r *reader) encode(ctx context.Context, obj meta.Object) (value []byte, form uint32, err error) {
	const written = true
	return r.append(ctx, obj, written)
}

// append encodes obj in the storage version, without resourceVersion. written is false if the
// object is restored: then it gets no defaults of the storage version.
func (r *reader) append(ctx context.Context, obj meta.Object, written bool) (value []byte, form uint32, err error) {
	m := obj.GetObjectMeta()
	rv := m.ResourceVersion
	m.ResourceVersion = ""
	defer func() { m.ResourceVersion = rv }()
	out, err := r.kind.Convert(ctx, obj, r.stored.GVK.Version)
	if err != nil {
		return nil, 0, err
	}
	out.GetTypeMeta().SetGroupVersionKind(r.stored.GVK)
	if written && r.stored.Settled == nil {
		if err := r.kind.Default(ctx, out); err != nil {
			return nil, 0, err
		}
	}
	if written && r.drops {
		scheme.DropEmpty(out)
	}
	if complete := r.stored.Complete; complete != nil && complete(out) {
		form = r.lookers[0].shownForm
	}
	var media codec.Media
	if r.protobuf {
		media.Type = codec.Protobuf
	}
	value, err = r.kind.Append(nil, out, media)
	return value, form, err
}

// shown returns the entry that the cache keeps for a form of an object that a converter made.
func (r *reader) shown(obj meta.Typed) (cache.Decoded, error) {
	obj.(meta.Object).GetObjectMeta().ResourceVersion = "" // the cache adds it
	data, err := r.kind.Append(nil, obj, codec.Media{})
	if err != nil {
		return cache.Decoded{}, err
	}
	d, _, err := r.lookJSON(data, false)
	if err == nil {
		d.Form = r.looker(obj.GetTypeMeta().APIVersion).shownForm
	}
	return d, err
}
