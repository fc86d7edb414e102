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

// answer is the one way out: every handler of this package writes its response through it, so that
// the Record of a request, if somebody wants one, learns of every status and every byte. There are
// four sorts: bytes that are all there (whole), an object that is encoded for this answer (object),
// parts that follow each other (begin, Write, end), and what another handler answers (handOn).
//
// It is an http.ResponseWriter. Handlers pass it on by value, which costs no allocation; as an
// interface it costs one.
type answer struct {
	w      http.ResponseWriter
	record *request.Record // nil: nobody wants one
}

// answerTo returns the way out of a request.
func answerTo(w http.ResponseWriter, r *http.Request) answer {
	return answerOf(w, request.From(r.Context()))
}

// answerOf is answerTo for a caller who has the Info; it may be nil.
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

// Write implements http.ResponseWriter. A part counts as soon as it is to be written: a client that
// has gone changes nothing of what it was answered.
func (a answer) Write(part []byte) (int, error) {
	if a.record != nil {
		note(a.record, part)
	}
	return a.w.Write(part)
}

// note adds a part of the body to a record.
func note(record *request.Record, part []byte) {
	out := &record.Answer
	out.Size += int64(len(part))
	if room := record.Keep - len(out.Body); room > 0 && !out.Stream {
		out.Body = append(out.Body, part[:min(room, len(part))]...)
	}
}

// begin writes the head of an answer whose length is not known.
func (a answer) begin(code int, contentType []string) {
	a.w.Header()["Content-Type"] = contentType
	a.WriteHeader(code)
}

// end says that the answer is complete. Answers in one piece end by themselves.
func (a answer) end() {
	if a.record != nil {
		a.record.Answer.Ended = time.Now()
	}
}

// whole answers with a body that is all there, in one or more pieces.
func (a answer) whole(code int, contentType []string, pieces ...[]byte) {
	n := 0
	for _, piece := range pieces {
		n += len(piece)
	}
	a.w.Header()["Content-Length"] = contentLength(n)
	a.begin(code, contentType)
	for _, piece := range pieces {
		_, _ = a.Write(piece) // a client that has gone needs no answer
	}
	a.end()
}

// bare answers with a status and headers that the caller has set, without a body.
func (a answer) bare(code int) {
	a.WriteHeader(code)
	a.end()
}

// text answers with a line of plain text.
func (a answer) text(code int, text string) {
	http.Error(a, text, code)
	a.end()
}

// object answers with a typed object. Encoding it cannot fail half way: nothing is written before
// it is done.
func (a answer) object(code int, codecs *codec.Factory, obj meta.Typed, media codec.Media) {
	if s, ok := obj.(*meta.Status); ok && s.Kind == "" { // it may be shared
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

// stream begins an answer that lasts: the record counts its bytes, but keeps none.
func (a answer) stream(contentType string) {
	if a.record != nil {
		a.record.Answer.Stream = true
	}
	a.begin(http.StatusOK, []string{contentType})
}

// handOn lets another handler answer for as long as it likes. What it writes passes by the record,
// which would hide the connection from it; the record learns the status that the filters have seen.
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

// contentLength is the value of the Content-Length header, made in one piece.
func contentLength(n int) []string {
	v := new(struct {
		value  [1]string
		digits [20]byte
	})
	v.value[0] = alias.String(strconv.AppendInt(v.digits[:0], int64(n), 10))
	return v.value[:]
}

// contentTypes are header values, shared by all answers.
var contentTypes = [...][]string{
	codec.JSON:     {codec.JSONType},
	codec.YAML:     {codec.YAMLType},
	codec.Protobuf: {codec.ProtobufType},
}
