package router

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// answer is the only way in which this package writes a response, so the Record of a request, if
// there is one, sees every object that is answered. There are four ways to answer: bytes that are
// complete (whole), an object encoded for this response (object), a response in parts (begin and
// Write), and another handler's response (handOn).
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
func (a answer) WriteHeader(code int) { a.w.WriteHeader(code) }

// Write implements http.ResponseWriter.
func (a answer) Write(part []byte) (int, error) { return a.w.Write(part) }

// records reports whether the Record wants the object that is answered.
func (a answer) records() bool { return a.record != nil && a.record.Answered }

// begin writes the header of a response whose length is not known.
func (a answer) begin(code int, contentType []string) {
	a.w.Header()["Content-Type"] = contentType
	a.w.WriteHeader(code)
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
		_, _ = a.w.Write(piece) // an error means that the client has gone
	}
}

// text answers with a line of plain text.
func (a answer) text(code int, text string) { http.Error(a.w, text, code) }

// object answers with a typed object. The object is encoded before anything is written, so an
// encoding error still becomes a clean 500. An object without a protobuf form is sent as JSON.
func (a answer) object(code int, codecs *codec.Factory, obj meta.Typed, media codec.Media) {
	if s, ok := obj.(*meta.Status); ok && s.Kind == "" { // copied, because it may be shared
		named := *s
		named.Kind, named.APIVersion = "Status", "v1"
		obj = &named
	}
	a.noteObject(codecs, obj)
	var noted []byte
	if a.record != nil {
		noted = a.record.AnsweredObject
	}
	a.encoded(code, codecs, obj, media, noted)
}

// encoded is object for an object that the Record has been told about. noted is what the Record got
// of it; if that is the form of the answer, it is sent. noted may be nil.
func (a answer) encoded(code int, codecs *codec.Factory, obj meta.Typed, media codec.Media, noted []byte) {
	if noted != nil && media.Type == codec.JSON && !media.Pretty {
		a.whole(code, contentTypes[codec.JSON], noted, newline)
		return
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

// noteObject tells the Record about an object that is encoded for this answer.
func (a answer) noteObject(codecs *codec.Factory, obj meta.Typed) {
	if a.record == nil {
		return
	}
	a.record.Status, _ = obj.(*meta.Status)
	if a.record.Answered {
		a.record.AnsweredObject = noteOf(codecs, obj)
	}
}

// noteOf returns an object as JSON, for a Record; nil if it cannot be encoded, which is then an
// error of the answer.
func noteOf(codecs *codec.Factory, obj meta.Typed) []byte {
	text, err := codecs.Append(nil, obj, codec.Media{})
	if err != nil {
		return nil
	}
	return bytes.TrimSuffix(text, newline)
}

// stream begins a response without end, such as a watch.
func (a answer) stream(contentType string) { a.begin(http.StatusOK, []string{contentType}) }

// handOn lets another handler answer for as long as it likes. That handler gets the bare
// ResponseWriter, because answer would hide the methods of the connection (Hijack) from it.
func (a answer) handOn(h http.Handler, r *http.Request) { h.ServeHTTP(a.w, r) }

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
