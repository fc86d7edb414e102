package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ErrNotFound is the answer for a resource, version or path inside a known group that does not exist.
func ErrNotFound() error {
	return &meta.StatusError{Status: meta.Status{
		Status: meta.StatusFailure, Code: http.StatusNotFound, Reason: meta.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &meta.StatusDetails{},
	}}
}

// ErrMethod is the answer for a verb that a resource does not serve.
func ErrMethod() error {
	return &meta.StatusError{Status: meta.Status{
		Status: meta.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: meta.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource", Details: &meta.StatusDetails{},
	}}
}

// statusFactory encodes Status objects, which belong to no scheme.
var statusFactory = codec.NewFactory(nil)

// WriteError answers with the Status of err in the media type that the client accepts, indented JSON if it accepts none that
// a Status has. Errors that are no *meta.StatusError are internal errors, but for the end of the request's context,
// which is a timeout, and a *request.PathError, which is answered in plain text.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		writeTimeout(w)
		return
	}
	if broken, ok := err.(*request.PathError); ok {
		writePathError(w, r, broken)
		return
	}
	status := meta.StatusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	media, negotiateErr := codec.Negotiate(r.Header.Get("Accept"), codec.OfferUnrouted)
	if negotiateErr != nil {
		media = codec.Media{Pretty: true}
	} else if media.Type == codec.JSON {
		media.Pretty = media.Pretty || isPretty(r)
	}
	writeObject(w, int(status.Code), statusFactory, status, media)
}

// isPretty reports whether r wants indented JSON.
func isPretty(r *http.Request) bool {
	asked := ""
	if r.URL.RawQuery != "" {
		asked = request.QueryOf(r).Get("pretty")
	}
	return codec.Pretty(asked, r.UserAgent())
}

// writeTimeout answers a request whose time is up. As in kube-apiserver, nobody asks any more what the client accepts:
// it gets bare JSON, without kind, as text.
func writeTimeout(w http.ResponseWriter) {
	status := meta.NewTimeout("request did not complete within the allotted timeout", 0).Status
	status.TypeMeta = meta.TypeMeta{}
	body, err := codec.AppendJSON(nil, &status)
	if err != nil { // a Status can be encoded
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusGatewayTimeout)
	w.Write(append(body, '\n'))
}

// forText takes the meaning that they have in HTML from what a client has sent.
var forText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func writePathError(w http.ResponseWriter, r *http.Request, err *request.PathError) {
	text := fmt.Sprintf("Internal Server Error: %q: %v", meta.Excerpt(r.RequestURI), err)
	http.Error(w, forText.Replace(text), http.StatusInternalServerError)
}

// errNoName and errNoNamespace are the answers to paths that leave an empty place for one.
func errNoName() error      { return meta.NewBadRequest("name must be provided") }
func errNoNamespace() error { return meta.NewBadRequest("Namespace parameter required.") }

// writeObject answers with a typed object. Encoding it cannot fail half way: nothing is written before it is done.
func writeObject(w http.ResponseWriter, code int, codecs *codec.Factory, obj meta.Typed, media codec.Media) {
	if s, ok := obj.(*meta.Status); ok && s.Kind == "" { // it may be shared
		named := *s
		named.Kind, named.APIVersion = "Status", "v1"
		obj = &named
	}
	media.As, media.Stream = "", false
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	body, err := codecs.Append((*buffer)[:0], obj, media)
	if err != nil { // no protobuf form
		media = codec.Media{}
		if body, err = codecs.Append((*buffer)[:0], obj, media); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	h := w.Header()
	h["Content-Type"] = contentTypes[media.Type]
	h["Content-Length"] = contentLength(len(body))
	w.WriteHeader(code)
	w.Write(body)
	*buffer = body
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
