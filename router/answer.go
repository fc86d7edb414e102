package router

import (
	"net/http"
	"strconv"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// answer is the only way in which this package writes a response, so the Record of a request, if
// there is one, sees every status and every byte. There are four ways to answer: bytes that are
// complete (whole), an object encoded for this response (object), a response in parts (begin,
// Write, end), and another handler's response (handOn).
//
// answer implements http.ResponseWriter. Handlers pass it by value, which costs no allocation;
// converting it to the interface costs one.
type answer struct {
	w      http.ResponseWriter
	record *request.Record // nil: no record is kept
}

// answerTo returns the answer for a request.
func answerTo(w http.ResponseWriter, r *http.Request) answer {
	return answerOf(w, request.From(r.Context()))
}

// answerOf is answerTo for a caller who has the request's Info, which may be nil.
func answerOf(w http.ResponseWriter, info *request.Info) answer {
	if info == nil {
		return answer{w: w}
	}
	return answer{w, info.Record}
}

// Header implements http.ResponseWriter.
func (a answer) Header() http.Header { return a.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (a answer) WriteHeader(code int) {
	if a.record != nil {
		out := &a.record.Answer
		out.Status, out.MediaType, out.Began = code, a.w.Header().Get("Content-Type"), time.Now()
	}
	a.w.WriteHeader(code)
}

// Write implements http.ResponseWriter. The record counts a part before it is written, because it
// shows the answer that was given, whether or not the client was still there to read it.
func (a answer) Write(part []byte) (int, error) {
	if a.record != nil {
		noteBody(a.record, part)
	}
	return a.w.Write(part)
}

// noteBody adds a part of the body to the record: all bytes count, the first Keep bytes are kept.
func noteBody(record *request.Record, part []byte) {
	out := &record.Answer
	out.Size += int64(len(part))
	if room := record.Keep - len(out.Body); room > 0 && !out.Stream {
		out.Body = append(out.Body, part[:min(room, len(part))]...)
	}
}

// begin writes the header of a response whose length is not known.
func (a answer) begin(code int, contentType []string) {
	a.w.Header()["Content-Type"] = contentType
	a.WriteHeader(code)
}

// end marks the record complete. whole, bare, text and object call it themselves.
func (a answer) end() {
	if a.record != nil {
		a.record.Answer.Ended = time.Now()
	}
}

// whole answers with a complete body, given in one or more pieces.
func (a answer) whole(code int, contentType []string, pieces ...[]byte) {
	n := 0
	for _, piece := range pieces {
		n += len(piece)
	}
	a.w.Header()["Content-Length"] = contentLengthOf(n)
	a.begin(code, contentType)
	for _, piece := range pieces {
		_, _ = a.Write(piece) // an error means that the client has gone
	}
	a.end()
}

// statusOnly answers with a status and no body. The caller has set the headers.
func (a answer) statusOnly(code int) {
	a.WriteHeader(code)
	a.end()
}

// text answers with a line of plain text.
func (a answer) text(code int, text string) {
	http.Error(a, text, code)
	a.end()
}

// object answers with a typed object. The object is encoded before anything is written, so an
// encoding error still becomes a clean 500. An object without a protobuf form is sent as JSON.
func (a answer) object(code int, codecs *codec.Factory, obj meta.Typed, media codec.Media) {
	if s, ok := obj.(*meta.Status); ok && s.Kind == "" { // copied, because it may be shared
		named := *s
		named.Kind, named.APIVersion = "Status", "v1"
		obj = &named
	}
	if a.record != nil {
		a.record.Answer.Object = obj
	}
	media.As, media.Stream = "", false
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	body, err := codecs.Append((*buffer)[:0], obj, media)
	if err != nil { // no protobuf form
		media = codec.Media{}
		if body, err = codecs.Append((*buffer)[:0], obj, media); err != nil {
			a.text(http.StatusInternalServerError, err.Error())
			return
		}
	}
	a.whole(code, contentTypes[media.Type], body)
	*buffer = body
}

// stream begins a response without end, such as a watch. The record counts its bytes and keeps
// none.
func (a answer) stream(contentType string) {
	if a.record != nil {
		a.record.Answer.Stream = true
	}
	a.begin(http.StatusOK, []string{contentType})
}

// handOn lets another handler answer for as long as it likes. That handler gets the bare
// ResponseWriter, because answer would hide the methods of the connection (Hijack) from it. So the
// record does not see the bytes, and takes the status from the Info, where filters.Begin noted it.
func (a answer) handOn(h http.Handler, r *http.Request, info *request.Info) {
	if a.record == nil {
		h.ServeHTTP(a.w, r)
		return
	}
	a.record.Answer.Stream, a.record.Answer.Began = true, time.Now()
	h.ServeHTTP(a.w, r)
	a.record.Answer.Status, a.record.Answer.MediaType = info.Status, a.w.Header().Get("Content-Type")
	a.end()
}

// contentLengthOf returns the value of the Content-Length header; slice, string and digits share
// one allocation.
func contentLengthOf(n int) []string {
	v := new(struct {
		value  [1]string
		digits [20]byte
	})
	v.value[0] = alias.String(strconv.AppendInt(v.digits[:0], int64(n), 10))
	return v.value[:]
}

// contentTypes are the values of the Content-Type header, shared by all responses and never
// changed.
var contentTypes = [...][]string{
	codec.JSON:     {codec.JSONType},
	codec.YAML:     {codec.YAMLType},
	codec.Protobuf: {codec.ProtobufType},
}
