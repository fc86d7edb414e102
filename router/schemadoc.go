package router

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/klauspost/compress/gzip"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// This file keeps OpenAPI documents: each is made once for all clients that ask for it, kept
// compressed, and served with an entity tag. openapi.go decides which documents there are.

// schemaForm is an encoding of a document.
type schemaForm uint8

const (
	jsonForm schemaForm = iota
	protoForm
	schemaForms
)

// schemaSlot holds a document in its forms. Each form is made once, by the first request that asks
// for it, while others wait. If the maker panics, the next one tries. All forms have the entity tag
// of the JSON, which is also in the document's URL.
type schemaSlot struct {
	making sync.Mutex
	docs   [schemaForms]atomic.Pointer[schemaDoc]
	etag   string // known once the JSON was made, even if no form is kept; guarded by making
}

// get returns a form of the document, and whether this call made it. write makes the JSON, and
// proto converts the JSON to protobuf.
func (s *schemaSlot) get(
	form schemaForm, write func(dst []byte) []byte, proto func(json []byte) []byte,
) (_ *schemaDoc, made bool) {
	if doc := s.docs[form].Load(); doc != nil {
		return doc, false
	}
	s.making.Lock()
	defer s.making.Unlock()
	if doc := s.docs[form].Load(); doc != nil {
		return doc, false
	}
	var body []byte
	if doc := s.docs[jsonForm].Load(); doc != nil {
		body = doc.body()
	} else {
		body = write(nil)
	}
	if s.etag == "" {
		s.etag = openapi.Hash(body)
	}
	if form == protoForm {
		body = proto(body)
	}
	doc := newSchemaDoc(body, s.etag)
	s.docs[form].Store(doc)
	return doc, true
}

// hash returns the hash of the document. If the hash is not known, hash makes the JSON in the
// buffer room, hashes it and does not keep it. used is room, perhaps grown, for the next call.
func (s *schemaSlot) hash(room []byte, write func(dst []byte) []byte) (hash string, used []byte) {
	s.making.Lock()
	defer s.making.Unlock()
	if s.etag == "" {
		room = write(room[:0])
		s.etag = openapi.Hash(room)
	}
	return s.etag, room
}

// modelSlot keeps the text about a kind that arrived at run time, for each version of OpenAPI. When
// a document is made again, the texts of unchanged kinds are taken from their slots: with 500
// kinds, reading their schemas would be most of the work.
type modelSlot struct{ v3, v2 schemaSlot }

// text returns the text for documents of version 2 or 3. write makes it if it is not kept yet.
func (s *modelSlot) text(v2 bool, write func(dst []byte) []byte) []byte {
	slot := &s.v3
	if v2 {
		slot = &s.v2
	}
	doc, _ := slot.get(jsonForm, write, nil)
	return doc.body()
}

// schemaDoc is a finished document. A large one is kept compressed, in about a tenth of the memory,
// and sent as it is to clients that accept gzip, which most do. For other clients it is unpacked,
// and the unpacked copy serves all of them until the garbage collector frees it (weak pointer).
type schemaDoc struct {
	etag string // without quotes
	made time.Time
	size int                           // uncompressed, in bytes
	head struct{ etag, made []string } // etag and made as header values

	small  []byte // the whole of a small document; the fields below are then unused
	zipped []byte
	unzip  sync.Mutex // held while unpacking, so that it happens once
	plain  atomic.Pointer[weak.Pointer[[]byte]]
}

// zipFrom is the size in bytes of the smallest document that is kept compressed.
const zipFrom = 16 << 10

var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // only an invalid level is an error
	return w
}}

// newSchemaDoc makes a document. It does not keep body, except as a weak reference.
func newSchemaDoc(body []byte, etag string) *schemaDoc {
	doc := &schemaDoc{etag: etag, made: time.Now(), size: len(body)}
	doc.head.etag, doc.head.made = []string{`"` + etag + `"`}, []string{doc.made.UTC().Format(http.TimeFormat)}
	if len(body) < zipFrom {
		doc.small = bytes.Clone(body) // drops spare capacity
		return doc
	}
	var zipped bytes.Buffer
	w := zippers.Get().(*gzip.Writer)
	w.Reset(&zipped)
	_, _ = w.Write(body) // a bytes.Buffer takes all
	_ = w.Close()
	w.Reset(nil)
	zippers.Put(w)
	doc.zipped = bytes.Clone(zipped.Bytes())
	doc.keepBody(body)
	return doc
}

// body returns the uncompressed document, which must not be changed.
func (d *schemaDoc) body() []byte {
	if d.zipped == nil {
		return d.small
	}
	if body := d.keptBody(); body != nil {
		return body
	}
	d.unzip.Lock() // all who wait get the copy of the first
	defer d.unzip.Unlock()
	if body := d.keptBody(); body != nil {
		return body
	}
	body := make([]byte, d.size)
	r, err := gzip.NewReader(bytes.NewReader(d.zipped))
	if err == nil {
		_, err = io.ReadFull(r, body)
	}
	if err != nil { // impossible: newSchemaDoc compressed these bytes
		panic(err)
	}
	d.keepBody(body)
	return body
}

// keepBody remembers the uncompressed document weakly.
func (d *schemaDoc) keepBody(body []byte) {
	p := weak.Make(&body)
	d.plain.Store(&p)
}

// keptBody returns the document that keepBody remembered last, or nil if it has been freed.
func (d *schemaDoc) keptBody() []byte {
	if p := d.plain.Load(); p != nil {
		if body := p.Value(); body != nil {
			return *body
		}
	}
	return nil
}

// serve answers with the document, or with 304 if the client has it.
func (d *schemaDoc) serve(out answer, r *http.Request, contentType string) {
	h := out.Header()
	h["Etag"], h["Last-Modified"] = d.head.etag, d.head.made
	if d.isKnown(r) {
		out.WriteHeader(http.StatusNotModified)
		return
	}
	body := d.zipped
	if body != nil && request.AcceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
	} else {
		body = d.body()
	}
	out.whole(http.StatusOK, []string{contentType}, body)
}

// isKnown reports whether the client has the document: by If-None-Match, or, without that header,
// by If-Modified-Since.
func (d *schemaDoc) isKnown(r *http.Request) bool {
	if tags := r.Header["If-None-Match"]; len(tags) > 0 {
		for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == "*" || strings.Trim(tag, `"`) == d.etag {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !d.made.Truncate(time.Second).After(since)
}
