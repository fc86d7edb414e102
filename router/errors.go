package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ErrNotFound returns the error for a resource, version or path that does not exist inside a known
// group.
func ErrNotFound() error {
	return &meta.StatusError{Status: meta.Status{
		Status: meta.StatusFailure, Code: http.StatusNotFound, Reason: meta.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &meta.StatusDetails{},
	}}
}

// ErrMethod returns the error for a verb that a resource does not serve.
func ErrMethod() error {
	return &meta.StatusError{Status: meta.Status{
		Status: meta.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: meta.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource", Details: &meta.StatusDetails{},
	}}
}

// statusFactory encodes Status objects, which no scheme contains.
var statusFactory = codec.NewFactory(nil)

// WriteError answers with the Status of err in a media type that the client accepts, or in indented
// JSON if it accepts none. An error that is not a *meta.StatusError becomes an internal error, with
// two exceptions: the end of the request's context is a timeout, and a request.PlainError is
// answered in plain text.
func WriteError(w http.ResponseWriter, r *http.Request, err error) { answerTo(w, r).fail(r, err) }

// fail answers r with the Status of err, as WriteError says.
func (a answer) fail(r *http.Request, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		a.timeout()
		return
	}
	if broken, ok := err.(request.PlainError); ok {
		text := fmt.Sprintf("Internal Server Error: %q: %v", meta.Excerpt(r.RequestURI), broken)
		a.text(http.StatusInternalServerError, htmlEscaper.Replace(text))
		return
	}
	status := meta.StatusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		a.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	media, negotiateErr := codec.Negotiate(r.Header.Get("Accept"), codec.OfferUnrouted)
	if negotiateErr != nil {
		a.record, media = nil, codec.Media{Pretty: true} // as kube-apiserver, which does not record such a Status
	} else if media.Type == codec.JSON {
		media.Pretty = media.Pretty || isPretty(r)
	}
	a.object(int(status.Code), statusFactory, status, media)
}

// isPretty reports whether r asks for indented JSON: by the parameter pretty, or because it comes
// from a browser, curl or wget.
func isPretty(r *http.Request) bool {
	asked := ""
	if r.URL.RawQuery != "" {
		asked = request.QueryOf(r).Get("pretty")
	}
	return codec.Pretty(asked, r.UserAgent())
}

// timeout answers a request whose time is up with 504. The body is a Status without kind and
// apiVersion as text/plain, whatever the client accepts: kube-apiserver writes it in a filter that
// does not negotiate.
func (a answer) timeout() {
	status := meta.NewTimeout("request did not complete within the allotted timeout", 0).Status
	a.noteObject(statusFactory, &status)
	status.TypeMeta = meta.TypeMeta{}
	body, err := codec.AppendJSON(nil, &status)
	if err != nil { // impossible: a Status can be encoded
		a.text(http.StatusInternalServerError, err.Error())
		return
	}
	a.begin(http.StatusGatewayTimeout, plainText)
	_, _ = a.Write(append(body, '\n'))
}

// plainText is the Content-Type of responses that are not objects.
var plainText = []string{"text/plain; charset=utf-8"}

// htmlEscaper escapes HTML in text that repeats what a client sent.
var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// errNoName and errNoNamespace are the errors for paths with an empty name or namespace.
func errNoName() error      { return meta.NewBadRequest("name must be provided") }
func errNoNamespace() error { return meta.NewBadRequest("Namespace parameter required.") }
