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

// This file finds and makes the forms of objects for all answers: encoded for one object, form for
// many objects of one list or watch. The bytes come from the cache; only a form that nobody has
// asked for yet is made here.

// maxPooled is the largest buffer that is kept for the next request, in bytes. flushAt is the
// number of bytes after which a part of a list is written: each write costs a wait for the
// goroutine of the HTTP/2 connection, so the parts are large.
const (
	maxPooled = 256 << 10
	flushAt   = 128 << 10
)

// buffers are for building responses. A buffer must not be used after putBuffer.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, flushAt+8<<10); return &b }}

// putBuffer returns a buffer to buffers.
func putBuffer(b *[]byte) { putIn(&buffers, b) }

// putIn returns a buffer to a pool, unless it has grown larger than maxPooled.
func putIn(pool *sync.Pool, b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		pool.Put(b)
	}
}

// encoded returns an object in the given form, JSON without a final newline. The bytes are shared
// and must not be changed.
func (e *endpoint) encoded(ctx context.Context, enc request.Encoded, media codec.Media) ([]byte, error) {
	wanted := codec.Media{Type: media.Type, As: media.As, Group: media.Group, Version: media.Version,
		DropManagedFields: media.DropManagedFields}
	id := e.formOf(wanted)
	if data, form := enc.Stored(); form == id {
		return data, nil
	}
	build := func() ([]byte, error) { return e.encode(ctx, enc, wanted) }
	if wanted.Type == codec.YAML { // not kept: its readers are people
		return build()
	}
	return enc.Form(id, build)
}

// encode makes a form of an object. A form without managedFields is cut out of the form with
// managedFields. The cache keeps both. It evicts the form with managedFields first if nobody asks
// for that form. If an object has no managedFields, both forms share their bytes.
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

// formOf returns the number of a form of the endpoint's objects.
func (e *endpoint) formOf(media codec.Media) uint32 {
	if media.Type == codec.JSON && media.As == "" && !media.DropManagedFields {
		return e.plain
	}
	return e.res.Encoder.FormOf(e.gv.Version, media)
}

// stepsPerObject is what finding the form of an object costs in the meter's steps, besides making
// it.
const stepsPerObject = 256

// form does what encoded does, for many objects one after the other. It finds the number of the
// form and makes the closure once instead of for each object. One goroutine uses it.
type form struct {
	e     *endpoint
	ctx   context.Context
	media codec.Media
	id    uint32
	cur   request.Encoded        // the object that build encodes
	build func() ([]byte, error) // f.encode, made on first use
}

// form returns the form of e's objects in media, for use with many objects.
func (e *endpoint) form(ctx context.Context, media codec.Media) *form {
	media.Pretty, media.Stream = false, false
	return &form{e: e, ctx: ctx, media: media, id: e.formOf(media)}
}

// encoded returns the bytes of enc in the form, as endpoint.encoded does.
func (f *form) encoded(enc request.Encoded) ([]byte, error) {
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

// encodeList returns the forms of those objects of a list that are not stored in the form, at their
// indexes; nil if all are stored in it. It fails with the error of the first object that cannot be
// encoded, because a list is complete or an error, and with the error of ctx when that ends.
func (f *form) encodeList(list *request.List) ([][]byte, error) {
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
			if out[i], err = f.encoded(enc); err != nil {
				return nil, err
			}
		}
		i++
	}
	return out, nil
}

// encodeSpan is the name of the span of encoding an answer and writing it, as in Kubernetes.
const encodeSpan = "SerializeObject"

// writeEncoded answers with one object.
func (e *endpoint) writeEncoded(out answer, r *http.Request, code int, enc request.Encoded, media codec.Media) error {
	if media.As == codec.AsTable {
		return e.writeTable(out, r, code, single(enc), meta.ListMeta{ResourceVersion: versionOf(enc)}, media)
	}
	if media.As == codec.AsPartialList {
		return e.errNoList(media.As)
	}
	stored, _ := enc.Stored()
	ctx, span := request.BeginSized(r.Context(), request.SpanEncode, encodeSpan, len(stored))
	defer span.End()
	body, err := e.encoded(ctx, enc, media)
	if err != nil {
		return err
	}
	if o, ok := enc.(request.Verdict); ok && out.record != nil {
		out.record.Status = o.Status()
	}
	if out.records() {
		plain := codec.Media{As: media.As, Group: media.Group, Version: media.Version,
			DropManagedFields: media.DropManagedFields || out.record.OmitManagedFields}
		if out.record.AnsweredObject, err = e.encoded(r.Context(), enc, plain); err != nil {
			return err
		}
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

// single yields a single object.
func single(enc request.Encoded) func(yield func(request.Encoded) bool) {
	return func(yield func(request.Encoded) bool) { yield(enc) }
}

// versionOf returns an object's resourceVersion.
func versionOf(enc request.Encoded) string {
	if rev := enc.Revision(); rev != 0 {
		return strconv.FormatUint(rev, 10)
	}
	return ""
}

// errNoList is the 406 for a client that asks for a list form of a single object.
func (e *endpoint) errNoList(as string) error {
	return meta.NewNotAcceptable("you requested " + as + ", but the requested object is not a list (" +
		e.goName(e.res.Kind.Kind, "Unstructured") + ")")
}

// errIsList is the 406 for a client that asks for the form of a single object when the answer is a
// list.
func (e *endpoint) errIsList(as string) error {
	return meta.NewNotAcceptable("you requested " + as + ", but the requested object is a list (" +
		e.goName(e.listKind, "UnstructuredList") + ")")
}

// goName returns the Go type that kube-apiserver names in its messages: *core.Secret, or
// *unstructured.Unstructured for a custom resource.
func (e *endpoint) goName(name, custom string) string {
	if e.res.Custom {
		return "*unstructured." + custom
	}
	return "*" + scheme.PackageOf(hubOf(e.res.Kind)) + "." + name
}

// hubOf returns the internal version of a kind, as kube-apiserver's messages name it.
func hubOf(kind meta.GroupVersionKind) meta.GroupVersionKind {
	return meta.GroupVersionKind{Group: kind.Group, Version: scheme.InternalVersion, Kind: kind.Kind}
}
