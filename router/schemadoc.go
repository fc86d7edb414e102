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

// schemaForm is a form in which documents are answered.
type schemaForm uint8

const (
	jsonForm schemaForm = iota
	protoForm
	schemaForms
)

// schemaSlot is the place of a document in its forms. Each is made once, by the first who asks for it. Others wait for him. If
// he panics, the next one tries. All forms have the entity tag of the JSON, which the address of a document contains.
type schemaSlot struct {
	making sync.Mutex
	docs   [schemaForms]atomic.Pointer[schemaDoc]
	etag   string // also before a form is kept; under making
}

// get returns a form of the document, and whether it was made now. write makes the JSON, and proto the other form of that.
func (s *schemaSlot) get(form schemaForm, write func(dst []byte) []byte, proto func(json []byte) []byte) (_ *schemaDoc, made bool) {
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

// hash returns the hash of the document in a slot. If nobody has asked before, the document is made in room, which is
// returned to be used again.
func (s *schemaSlot) hash(room []byte, write func(dst []byte) []byte) (hash string, used []byte) {
	s.making.Lock()
	defer s.making.Unlock()
	if s.etag == "" {
		room = write(room[:0])
		s.etag = openapi.Hash(room)
	}
	return s.etag, room
}

// modelSlot is the place of what documents say of a kind that arrived at run time, in each version of OpenAPI. A document that has to be
// made again takes it from there: of 500 kinds, reading the schemas of the others is most of the work.
type modelSlot struct{ v3, v2 schemaSlot }

// text returns the text for documents of a version, which write makes if there is none yet.
func (s *modelSlot) text(v2 bool, write func(dst []byte) []byte) []byte {
	slot := &s.v3
	if v2 {
		slot = &s.v2
	}
	doc, _ := slot.get(jsonForm, write, nil)
	return doc.body()
}

// schemaDoc is a finished document. A large one is kept compressed, in a tenth of the room: most clients take it like that.
// For others it is unpacked, and what is unpacked serves everybody until the garbage collector takes it.
type schemaDoc struct {
	etag string // without quotes
	made time.Time
	size int                           // as it is, in bytes
	head struct{ etag, made []string } // as headers

	small  []byte // of a small document; then there is nothing else
	zipped []byte
	unzip  sync.Mutex
	plain  atomic.Pointer[weak.Pointer[[]byte]]
}

// zipFrom is the size, in bytes, from which on documents are kept compressed.
const zipFrom = 16 << 10

var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // only a wrong level fails
	return w
}}

func newSchemaDoc(body []byte, etag string) *schemaDoc {
	doc := &schemaDoc{etag: etag, made: time.Now(), size: len(body)}
	doc.head.etag, doc.head.made = []string{`"` + etag + `"`}, []string{doc.made.UTC().Format(http.TimeFormat)}
	if len(body) < zipFrom {
		doc.small = bytes.Clone(body) // without room behind it
		return doc
	}
	var zipped bytes.Buffer
	w := zippers.Get().(*gzip.Writer)
	w.Reset(&zipped)
	_, _ = w.Write(body) // a buffer takes all
	_ = w.Close()
	w.Reset(nil)
	zippers.Put(w)
	doc.zipped = bytes.Clone(zipped.Bytes())
	doc.keep(body)
	return doc
}

// body returns the document as it is.
func (d *schemaDoc) body() []byte {
	if d.zipped == nil {
		return d.small
	}
	if body := d.kept(); body != nil {
		return body
	}
	d.unzip.Lock() // once for all who wait
	defer d.unzip.Unlock()
	if body := d.kept(); body != nil {
		return body
	}
	body := make([]byte, d.size)
	r, err := gzip.NewReader(bytes.NewReader(d.zipped))
	if err == nil {
		_, err = io.ReadFull(r, body)
	}
	if err != nil { // the bytes are our own
		panic(err)
	}
	d.keep(body)
	return body
}

func (d *schemaDoc) keep(body []byte) {
	p := weak.Make(&body)
	d.plain.Store(&p)
}

// kept returns what keep was called with last, nil if that is gone.
func (d *schemaDoc) kept() []byte {
	if p := d.plain.Load(); p != nil {
		if body := p.Value(); body != nil {
			return *body
		}
	}
	return nil
}

// serve answers with the document, or 304 if the client has it.
func (d *schemaDoc) serve(out answer, r *http.Request, contentType string) {
	h := out.Header()
	h["Etag"], h["Last-Modified"] = d.head.etag, d.head.made
	if d.isKnown(r) {
		out.bare(http.StatusNotModified)
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

// isKnown reports whether the client says that it has the document.
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
