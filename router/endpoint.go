package router

import (
	"net/http"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decides which handler serves a verb on a path, and how a verb that is not served is
// refused. RESTRouter makes an endpoint when a resource is installed and calls item or collection
// for each request. The handlers themselves are in a file for each verb.

// endpoint is a resource in one served version with the handlers of its verbs. It is immutable.
type endpoint struct {
	cfg      *Config
	res      *Resource
	gv       meta.GroupVersion // the served version
	plain    uint32            // the number of the form of whole objects as JSON
	listKind string
	gr       meta.GroupResource
	itemDoc  []byte // `{"kind":"X","apiVersion":"v1",`: how the JSON of an object begins that is encoded here

	itemVerbs       map[string]http.Handler
	collectionVerbs map[string]http.Handler
}

// handlerFunc answers a request, or writes nothing and returns the error to answer with.
type handlerFunc func(out answer, r *http.Request, info *request.Info) error

// ServeHTTP calls f and answers the error that it returns.
func (f handlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	out := answerOf(w, info)
	if err := f(out, r, info); err != nil {
		out.fail(r, err)
	}
}

// newEndpoint makes the endpoint of a resource in the version gv. It has the verbs whose interface
// in res is not nil. A subresource is created at the path of its item, a resource at that of the
// collection.
func newEndpoint(cfg *Config, gv meta.GroupVersion, res *Resource) *endpoint {
	name, _, _ := strings.Cut(res.Name, "/")
	e := &endpoint{
		cfg: cfg, res: res, gv: gv,
		plain:     res.Encoder.FormOf(gv.Version, codec.Media{}),
		listKind:  res.Lists().Kind,
		gr:        meta.GroupResource{Group: gv.Group, Resource: name},
		itemDoc:   []byte(`{"kind":"` + res.Kind.Kind + `","apiVersion":"` + res.Kind.GroupVersion().String() + `",`),
		itemVerbs: map[string]http.Handler{}, collectionVerbs: map[string]http.Handler{},
	}
	set := func(verbs map[string]http.Handler, verb string, served bool, h handlerFunc) {
		if served {
			verbs[verb] = h
		}
	}
	set(e.itemVerbs, "get", res.Getter != nil, e.get)
	set(e.itemVerbs, "update", res.Updater != nil, e.update)
	set(e.itemVerbs, "patch", res.Updater != nil && !res.NoPatch, e.patch)
	set(e.itemVerbs, "delete", res.Deleter != nil, e.delete)
	set(e.itemVerbs, "watch", res.Watcher != nil, e.watch) // the legacy /watch/ paths
	set(e.collectionVerbs, "list", res.Lister != nil, e.list)
	set(e.collectionVerbs, "watch", res.Watcher != nil, e.watch)
	set(e.collectionVerbs, "deletecollection", res.CollectionDeleter != nil, e.deleteCollection)
	for _, verb := range res.ConnectVerbs {
		set(e.itemVerbs, verb, res.Connecter != nil, e.connect)
	}
	if strings.Contains(res.Name, "/") {
		set(e.itemVerbs, "create", res.Creater != nil, e.create)
	} else {
		set(e.collectionVerbs, "create", res.Creater != nil, e.create)
	}
	return e
}

// missingPart returns the error for the part that the path of an object leaves empty, name or
// namespace; nil if none is empty.
func (e *endpoint) missingPart(info *request.Info) func() error {
	switch {
	case info.Parts[1] == "":
		return errNoName
	case e.res.Namespaced && info.Namespace == "":
		return errNoNamespace
	}
	return nil
}

// item returns the handler of a verb on one object. gap returns the error for the part that the
// path leaves empty; a nil gap means a complete path (see missingPart). A path with a gap is
// refused with the error of gap if the verb is served, and as an unknown verb otherwise.
func (e *endpoint) item(verb string, gap func() error) http.Handler {
	if gap != nil {
		verb = ofItem(verb)
	}
	h, ok := e.itemVerbs[verb]
	switch {
	case verb == "create" && e.res.Custom && e.collectionVerbs[verb] != nil:
		// kube-apiserver ignores the name in the path.
		return e.collectionVerbs[verb]
	case gap == nil && len(e.itemVerbs) == 0: // a resource without objects, such as tokenreviews
		return notFound
	case !ok:
		return e.notAllowed(verb)
	case gap != nil:
		return e.refuse(gap)
	}
	return h
}

// ofItem returns the verb that a request without a name would have if it had one.
func ofItem(verb string) string {
	switch verb {
	case "list", "watch":
		return "get"
	case "deletecollection":
		return "delete"
	}
	return verb
}

// collection returns the handler of a verb on a collection. A collection over all namespaces can
// only be listed and watched; if the resource cannot be listed, the path does not exist.
func (e *endpoint) collection(verb string, info *request.Info) http.Handler {
	h, ok := e.collectionVerbs[verb]
	switch {
	case e.res.Namespaced && info.Namespace == "" && !info.InNamespace && e.collectionVerbs["list"] == nil:
		return notFound
	case !ok && e.res.Custom && e.itemVerbs[verb] != nil:
		return e.refuseNameless(verb)
	case !ok && verb == "watch" && e.collectionVerbs["list"] != nil:
		return warnDeprecated(e, handlerFunc(e.unwatched))
	case !ok:
		return e.notAllowed(verb)
	case !e.res.Namespaced || info.Namespace != "" || verb == "list" || verb == "watch":
		return h
	case info.InNamespace:
		return e.refuse(errNoNamespace)
	}
	return e.notAllowed(verb)
}

// refusal answers every request with an error.
func refusal(why func() error) http.Handler {
	return handlerFunc(func(answer, *http.Request, *request.Info) error { return why() })
}

// refuse is refusal for a request to e. A deprecated custom resource sends its warning even with a
// refusal, as in kube-apiserver.
func (e *endpoint) refuse(why func() error) http.Handler {
	if !e.res.Custom {
		return refusal(why)
	}
	return warnDeprecated(e, refusal(why))
}

// refuseNameless refuses a verb for objects that is sent to the collection of a custom resource.
// The media type of a patch is checked before the missing name.
func (e *endpoint) refuseNameless(verb string) http.Handler {
	return warnDeprecated(e, handlerFunc(func(_ answer, r *http.Request, _ *request.Info) error {
		if verb == "patch" {
			if _, err := patchForm(r.Header.Get("Content-Type"), false); err != nil {
				return err
			}
		}
		return errNoName()
	}))
}

// notAllowed and notFound refuse requests for resources with a Go type.
var notAllowed, notFound = refusal(ErrMethod), refusal(ErrNotFound)

// notAllowed refuses a verb; verb is "" for an unknown method.
func (e *endpoint) notAllowed(verb string) http.Handler {
	if !e.res.Custom {
		return notAllowed
	}
	return e.refuse(func() error { return meta.NewMethodNotSupported(e.gr, verb) })
}

// noSubresource refuses a subresource that a custom resource does not have.
func (e *endpoint) noSubresource(info *request.Info) http.Handler {
	return e.refuse(func() error { return meta.NewNotFound(e.gr, info.Name) })
}

// complete sets the defaults of c.
func (c *Config) complete() {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MinWatch == 0 {
		c.MinWatch = 30 * time.Minute
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
}

// offers returns the forms that responses with single objects of the resource can have.
func (e *endpoint) offers() codec.Offer {
	o := codec.OfferPartial
	if e.res.Tabler != nil {
		o |= codec.OfferTable
	}
	if e.res.Custom {
		o |= codec.OfferCustom | codec.OfferUnrouted
	}
	return o
}

// accept negotiates the form of the response. more are forms that this verb offers in addition.
func (e *endpoint) accept(r *http.Request, more codec.Offer) (codec.Media, error) {
	m, err := codec.Negotiate(r.Header.Get("Accept"), e.offers()|more)
	if err == nil && m.Type == codec.JSON && !m.Stream {
		m.Pretty = m.Pretty || isPretty(r)
	}
	return m, err
}
