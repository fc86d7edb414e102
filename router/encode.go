package router

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// maxPooled is the largest buffer kept for the next request, in bytes. flushAt is when a list is written out: by HTTP/2 each
// write waits for the goroutine of the connection.
const (
	maxPooled = 256 << 10
	flushAt   = 128 << 10
)

// buffers are for building answers. Nothing may hold on to one after Put.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, flushAt+8<<10); return &b }}

func putBuffer(b *[]byte) { putIn(&buffers, b) }

func putIn(pool *sync.Pool, b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		pool.Put(b)
	}
}

// encoded returns an object in the given form, without a final newline if it is JSON. The bytes are shared.
func (e *endpoint) encoded(ctx context.Context, enc request.Encoded, media codec.Media) ([]byte, error) {
	wanted := codec.Media{Type: media.Type, As: media.As, Group: media.Group, Version: media.Version, DropManagedFields: media.DropManagedFields}
	id := e.formOf(wanted)
	if data, form := enc.Stored(); form == id {
		return data, nil
	}
	build := func() ([]byte, error) { return e.encode(ctx, enc, wanted) }
	if wanted.Type == codec.YAML { // not kept: whoever wants it reads slowly
		return build()
	}
	return enc.Form(id, build)
}

// encode makes a form of an object. One without managedFields is cut out of the form that has them, which is kept as well for
// those who want it; while nobody does, it is the first to go. An object that has none has one form for both.
func (e *endpoint) encode(ctx context.Context, enc request.Encoded, media codec.Media) ([]byte, error) {
	if !media.DropManagedFields {
		return e.res.Encoder.Encode(ctx, enc, e.gv.Version, media)
	}
	if media.Type == codec.YAML {
		media.Type = codec.JSON
		data, err := e.encoded(ctx, enc, media)
		if err != nil {
			return nil, err
		}
		return codec.AppendYAML(nil, data)
	}
	media.DropManagedFields = false
	data, err := e.encoded(ctx, enc, media)
	if err != nil {
		return nil, err
	}
	return codec.WithoutManagedFields(data)
}

// formOf is the number of a form of the endpoint's objects.
func (e *endpoint) formOf(media codec.Media) uint32 {
	if media.Type == codec.JSON && media.As == "" && !media.DropManagedFields {
		return e.plain
	}
	return e.res.Encoder.FormOf(e.gv.Version, media)
}

// stepsPerObject is how many steps it takes to find the form of an object, beside making it.
const stepsPerObject = 256

// form is encoded for many objects, one after the other. It saves what that does anew for each: finding the number of
// the form, and a closure.
type form struct {
	e     *endpoint
	ctx   context.Context
	media codec.Media
	id    uint32
	cur   request.Encoded
	build func() ([]byte, error) // encodes cur
}

func (e *endpoint) form(ctx context.Context, media codec.Media) *form {
	media.Pretty, media.Stream = false, false
	return &form{e: e, ctx: ctx, media: media, id: e.formOf(media)}
}

// of is encoded.
func (f *form) of(enc request.Encoded) ([]byte, error) {
	if data, form := enc.Stored(); form == f.id {
		return data, nil
	}
	f.cur = enc
	if f.media.Type == codec.YAML {
		return f.encode()
	}
	if f.build == nil {
		f.build = f.encode
	}
	return enc.Form(f.id, f.build)
}

func (f *form) encode() ([]byte, error) {
	return f.e.encode(f.ctx, f.cur, f.media)
}

// made makes the form of those objects of a list that are not stored in it, in their places; nil if all are. The error is
// that of the first that does not have it: an object that cannot be shown fails the list as a whole. So does the end of the
// request.
func (f *form) made(list *request.List) ([][]byte, error) {
	var out [][]byte
	var m *meter.Meter
	i := 0
	for enc := range list.Items {
		if data, form := enc.Stored(); form != f.id {
			if out == nil {
				out, m = make([][]byte, list.Len), meter.New(f.ctx)
			}
			err := m.Step(stepsPerObject + len(data))
			if err != nil {
				return nil, err
			}
			if out[i], err = f.of(enc); err != nil {
				return nil, err
			}
		}
		i++
	}
	return out, nil
}

// writeEncoded answers with one object.
func (e *endpoint) writeEncoded(out answer, r *http.Request, code int, enc request.Encoded, media codec.Media) error {
	if media.As == codec.AsTable {
		return e.writeTable(out, r, code, one(enc), meta.ListMeta{ResourceVersion: versionOf(enc)}, media)
	}
	if media.As == codec.AsPartialList {
		return e.errNoList(media.As)
	}
	body, err := e.encoded(r.Context(), enc, media)
	if err != nil {
		return err
	}
	if media.Pretty {
		out.whole(code, contentTypes[media.Type], codec.AppendIndent(nil, body))
	} else if media.Type == codec.JSON {
		out.whole(code, contentTypes[media.Type], body, newline)
	} else {
		out.whole(code, contentTypes[media.Type], body)
	}
	return nil
}

// newline ends JSON that is not indented.
var newline = []byte{'\n'}

// one yields a single object.
func one(enc request.Encoded) func(yield func(request.Encoded) bool) {
	return func(yield func(request.Encoded) bool) { yield(enc) }
}

// versionOf is an object's resourceVersion.
func versionOf(enc request.Encoded) string {
	if rev := enc.Revision(); rev != 0 {
		return strconv.FormatUint(rev, 10)
	}
	return ""
}

// errNoList is the answer to a client that wants the list form of what is one object; errIsList the opposite.
func (e *endpoint) errNoList(as string) error {
	return meta.NewNotAcceptable("you requested " + as + ", but the requested object is not a list (" + e.goName(e.res.Kind.Kind, "Unstructured") + ")")
}

func (e *endpoint) errIsList(as string) error {
	return meta.NewNotAcceptable("you requested " + as + ", but the requested object is a list (" + e.goName(e.listKind, "UnstructuredList") + ")")
}

// goName is how kube-apiserver spells a hub type in messages: *core.Secret, or that of any custom resource.
func (e *endpoint) goName(name, custom string) string {
	if e.res.Custom {
		return "*unstructured." + custom
	}
	return "*" + scheme.PackageOf(hubOf(e.res.Kind)) + "." + name
}

// hubOf is the hub of a kind, as messages name it.
func hubOf(kind meta.GroupVersionKind) meta.GroupVersionKind {
	return meta.GroupVersionKind{Group: kind.Group, Version: scheme.InternalVersion, Kind: kind.Kind}
}
