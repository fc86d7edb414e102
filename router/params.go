package router

import (
	"strconv"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// params reads option parameters from a query, with the conversions of the API: the first value counts, and a malformed
// number is an error in strconv's words.
type params struct {
	*request.Query
	err error
}

func (p *params) optionalBoolean(name string) *bool {
	if _, ok := p.Lookup(name); !ok {
		return nil
	}
	b := p.Bool(name)
	return &b
}

func (p *params) integer(name string) int64 {
	v := p.Get(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseInt(meta.Excerpt(v), 10, 64) // what is cut is none
	if err != nil && p.err == nil {
		p.err = meta.NewBadRequest(err.Error())
	}
	return n
}

func (p *params) optionalInteger(name string) *int64 {
	if p.Get(name) == "" {
		return nil
	}
	n := p.integer(name)
	return &n
}

// preconditions are those of a deletion, nil if there are none.
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

// invalid is the 422 for options that contradict each other; nil if errs is empty.
func invalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return meta.NewInvalid(meta.GroupKind{Group: "meta.k8s.io", Kind: kind}, "", errs)
}

// listRequest reads the options of a list, watch or deletecollection.
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
		// A watch from no revision in particular begins with what there is. Clients that want
		// bookmarks learn from one where that ends.
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
	if info.Name != "" && len(info.Parts) > 1 { // the legacy /watch/.../name
		req.Fields = append(req.Fields, meta.FieldRequirement{Field: "metadata.name", Value: info.Name})
	}
	return req, opts, nil
}
