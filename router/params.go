package router

import (
	"strconv"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// params reads option parameters from a query with the conversions of the API: the first value of a
// parameter counts, and a malformed number is an error in strconv's words. The first error is kept
// in err; later calls go on and return zero values.
type params struct {
	*request.Query
	err error
}

// optionalBoolean returns a boolean parameter, nil if it was not sent.
func (p *params) optionalBoolean(name string) *bool {
	if _, ok := p.Lookup(name); !ok {
		return nil
	}
	b := p.Bool(name)
	return &b
}

// integer returns an integer parameter, 0 if it is empty or malformed.
func (p *params) integer(name string) int64 {
	v := p.Get(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseInt(meta.Excerpt(v), 10, 64) // a value that is long enough to be cut is no number
	if err != nil && p.err == nil {
		p.err = meta.NewBadRequest(err.Error())
	}
	return n
}

// optionalInteger returns an integer parameter, nil if it is empty.
func (p *params) optionalInteger(name string) *int64 {
	if p.Get(name) == "" {
		return nil
	}
	n := p.integer(name)
	return &n
}

// preconditions returns the preconditions of a deletion, nil if there are none.
func (p *params) preconditions() *meta.Preconditions {
	uid, version := meta.UID(p.Get("uid")), p.Get("resourceVersion")
	pre := &meta.Preconditions{}
	if uid != "" {
		pre.UID = &uid
	}
	if version != "" {
		pre.ResourceVersion = &version
	}
	if *pre == (meta.Preconditions{}) {
		return nil
	}
	return pre
}

// invalid returns the 422 for options that are invalid; nil if errs is empty.
func invalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return meta.NewInvalid(meta.GroupKind{Group: "meta.k8s.io", Kind: kind}, "", errs)
}

// listRequest reads the options of a list, watch or deletecollection, and validates them. It
// returns them as a request for the store and as ListOptions, of which the router itself uses the
// timeout (see watchTime).
func (e *endpoint) listRequest(info *request.Info) (*request.ListRequest, *meta.ListOptions, error) {
	p := params{Query: &info.Query}
	opts := &meta.ListOptions{
		LabelSelector:        p.Get("labelSelector"),
		FieldSelector:        p.Get("fieldSelector"),
		Watch:                info.Verb == "watch",
		AllowWatchBookmarks:  p.Bool("allowWatchBookmarks"),
		ResourceVersion:      p.Get("resourceVersion"),
		ResourceVersionMatch: meta.ResourceVersionMatch(p.Get("resourceVersionMatch")),
		TimeoutSeconds:       p.optionalInteger("timeoutSeconds"),
		Limit:                p.integer("limit"),
		Continue:             p.Get("continue"),
		SendInitialEvents:    p.optionalBoolean("sendInitialEvents"),
	}
	if p.err != nil {
		return nil, nil, p.err
	}
	if opts.Watch && !e.cfg.NoWatchLists && opts.SendInitialEvents == nil && opts.ResourceVersionMatch == "" &&
		(opts.ResourceVersion == "" || opts.ResourceVersion == "0") {
		// A watch from no revision in particular begins with the existing objects, as ADDED events.
		// With these options, clients that want bookmarks get one where the existing objects end
		// (KEP-3157).
		opts.SendInitialEvents, opts.ResourceVersionMatch = new(true), meta.ResourceVersionMatchNotOlderThan
	}
	req := &request.ListRequest{
		Version:              e.gv.Version,
		Namespace:            info.Namespace,
		ResourceVersion:      opts.ResourceVersion,
		ResourceVersionMatch: opts.ResourceVersionMatch,
		Limit:                opts.Limit,
		Continue:             opts.Continue,
		SendInitialEvents:    opts.SendInitialEvents,
		Bookmarks:            opts.AllowWatchBookmarks,
	}
	var err error
	if req.Labels, err = meta.ParseLabels(opts.LabelSelector); err != nil {
		return nil, nil, meta.NewBadRequest(meta.Excerpt(err.Error()))
	}
	if req.Fields, err = meta.ParseFields(opts.FieldSelector); err != nil {
		return nil, nil, meta.NewBadRequest(meta.Excerpt(err.Error()))
	}
	if err := invalid("ListOptions", meta.ValidateListOptions(opts, !e.cfg.NoWatchLists)); err != nil {
		return nil, nil, err
	}
	if info.Name != "" && len(info.Parts) > 1 { // the old path /watch/.../name selects one object
		req.Fields = append(req.Fields, meta.FieldRequirement{Field: "metadata.name", Value: info.Name})
	}
	return req, opts, nil
}
