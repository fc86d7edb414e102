package router

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// maxPooled is the largest buffer kept for the next request, in bytes. flushAt is when a list is written out.
const (
	maxPooled = 256 << 10
	flushAt   = 64 << 10
)

// buffers are for building answers. Nothing may hold on to one after Put.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, flushAt+8<<10); return &b }}

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// encoded returns an object in the given form, without a final newline if it is JSON. The bytes are shared.
func (e *endpoint) encoded(enc request.Encoded, media codec.Media) ([]byte, error) {
	media.Pretty, media.Stream = false, false
	if e.isStored && media.Type == codec.JSON && media.As == "" {
		return enc.JSON(), nil
	}
	return enc.Form(e.cfg.Codecs.FormOf(media, e.gv), func() ([]byte, error) { return e.encode(enc, media) })
}

// form is an encoding of many objects, one after the other. It saves what encoded does anew for each: finding the
// number of the form, and a closure.
type form struct {
	e     *endpoint
	media codec.Media
	id    uint32 // 0: the stored bytes are it already
	cur   request.Encoded
	build func() ([]byte, error) // encodes cur
}

func (e *endpoint) form(media codec.Media) *form {
	media.Pretty, media.Stream = false, false
	f := &form{e: e, media: media}
	if !e.isStored || media.Type != codec.JSON || media.As != "" {
		f.id = e.cfg.Codecs.FormOf(media, e.gv)
		f.build = func() ([]byte, error) { return e.encode(f.cur, media) }
	}
	return f
}

// of is encoded.
func (f *form) of(enc request.Encoded) ([]byte, error) {
	if f.id == 0 {
		return enc.JSON(), nil
	}
	f.cur = enc
	return enc.Form(f.id, f.build)
}

// encode makes another form of an object: version first, then metadata only, then the media type.
func (e *endpoint) encode(enc request.Encoded, media codec.Media) ([]byte, error) {
	data := enc.JSON()
	var err error
	if !e.isStored {
		if data, err = e.convert(data); err != nil {
			return nil, err
		}
	}
	if media.As == codec.AsPartial || media.As == codec.AsPartialList {
		if data, err = codec.AppendPartial(nil, data, media.Version); err != nil {
			return nil, err
		}
	}
	if media.Type == codec.JSON {
		return data, nil
	}
	return e.cfg.Codecs.Transcode(nil, data, codec.Media{Type: media.Type})
}

// convert turns JSON of the storage version into JSON of the served one.
func (e *endpoint) convert(data []byte) ([]byte, error) {
	decoded, err := e.cfg.Codecs.DecodeStored(data)
	if err != nil {
		return nil, err
	}
	obj, err := e.cfg.Scheme.ToHub(decoded.Object)
	if err != nil {
		return nil, err
	}
	out, err := e.cfg.Scheme.FromHub(obj, e.gv)
	if err != nil {
		return nil, err
	}
	out.GetTypeMeta().SetGroupVersionKind(e.res.Kind)
	return codec.AppendJSON(nil, out)
}

// writeEncoded answers with one object.
func (e *endpoint) writeEncoded(w http.ResponseWriter, r *http.Request, code int, enc request.Encoded, media codec.Media) error {
	if media.As == codec.AsTable {
		return e.writeTable(w, r, code, one(enc), meta.ListMeta{ResourceVersion: versionOf(enc)}, media)
	}
	if media.As == codec.AsPartialList {
		return errNoList(media.As, e.res.Kind)
	}
	body, err := e.encoded(enc, media)
	if err != nil {
		return err
	}
	if media.Pretty {
		body = codec.AppendIndent(nil, body)
	}
	h := w.Header()
	h["Content-Type"] = contentTypes[media.Type]
	newline := media.Type == codec.JSON && !media.Pretty
	n := len(body)
	if newline {
		n++
	}
	h["Content-Length"] = []string{strconv.Itoa(n)}
	w.WriteHeader(code)
	w.Write(body)
	if newline {
		w.Write(newlineByte)
	}
	return nil
}

var newlineByte = []byte{'\n'}

// one yields a single object.
func one(enc request.Encoded) func(yield func(request.Encoded) bool) {
	return func(yield func(request.Encoded) bool) { yield(enc) }
}

// versionOf reads the resourceVersion out of an object's bytes.
func versionOf(enc request.Encoded) string {
	var p codec.Peek
	if err := metaPeeker.Peek(enc.JSON(), &p); err != nil {
		return ""
	}
	return p.ResourceVersion
}

var metaPeeker = codec.NewPeeker()

// errNoList is the answer to a client that wants the list form of what is one object; errIsList the opposite.
func errNoList(as string, kind meta.GroupVersionKind) error {
	return meta.NewNotAcceptable("you requested " + as + ", but the requested object is not a list (" + goName(kind, kind.Kind) + ")")
}

func errIsList(as string, kind meta.GroupVersionKind) error {
	return meta.NewNotAcceptable("you requested " + as + ", but the requested object is a list (" + goName(kind, kind.Kind+"List") + ")")
}

// goName is how kube-apiserver spells a hub type in messages: *core.Secret.
func goName(kind meta.GroupVersionKind, name string) string {
	return "*" + scheme.PackageOf(hubOf(kind)) + "." + name
}

// hubOf is the hub of a kind, as messages name it.
func hubOf(kind meta.GroupVersionKind) meta.GroupVersionKind {
	return meta.GroupVersionKind{Group: kind.Group, Version: scheme.InternalVersion, Kind: kind.Kind}
}
