package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// selector is what a list or watch selects, compiled. It belongs to one request.
type selector struct {
	s      *Store
	labels meta.LabelRequirements
	fields meta.FieldRequirements

	// name is the one metadata.name that can match, or "".
	name string
	// group is a field that has one value in all that matches, and by which watchers are grouped.
	group cache.Pair

	// mine looks for the fields in the version of the request; nil if they are the same in all versions that objects are
	// stored in. Of objects stored in one of the forms in same, the cache knows them.
	mine *looker
	same []uint32
	ctx  context.Context
	err  error // the first object that could not be looked at
}

// selector compiles the selectors of a request.
func (s *Store) selector(ctx context.Context, req *request.ListRequest) (*selector, error) {
	sel := &selector{s: s, ctx: ctx, labels: req.Labels, fields: req.Fields}
	if sel.fields.Empty() {
		return sel, nil
	}
	version := s.reader.stored
	if req.Version != "" {
		version = kind.In(s.kind, req.Version)
	}
	var err error
	if sel.fields, err = req.Fields.Transform(version.FieldLabel); err != nil {
		return nil, meta.NewBadRequest(err.Error())
	}
	sel.name, _ = sel.fields.RequiresExact("metadata.name")
	for _, label := range groupBy(s.res.Fields) {
		if value, ok := sel.fields.RequiresExact(label); ok {
			sel.group = cache.Pair{Key: label, Value: value}
		}
	}
	for _, l := range s.reader.lookers {
		if s.agree(version, l, sel.fields) {
			sel.same = append(sel.same, l.jsonForm, l.protoForm)
		}
	}
	if len(sel.same) < 2*len(s.reader.lookers) || s.redeclared {
		sel.mine, sel.group = newLooker(version, s.res.Fields, s.forms), cache.Pair{}
	}
	return sel, nil
}

// agree reports whether fields that are asked for in a version stand at the same places in another one, so that what was
// found in the stored form is what the client means.
func (s *Store) agree(version *kind.Version, stored *looker, fields meta.FieldRequirements) bool {
	for _, f := range fields {
		if declared(s.res.Fields, version, f.Field) != declared(stored.fields, stored.version, f.Field) {
			return false
		}
	}
	return true
}

// declared returns the declaration of a field in a version, zero if there is none.
func declared(fields []FieldValue, version *kind.Version, label string) FieldValue {
	for _, f := range fields {
		if f.Label == label && (f.Version == "" || f.Version == version.GVK.Version) {
			f.Version = ""
			return f
		}
	}
	return FieldValue{}
}

// match returns the function that the cache filters with, nil for all objects.
func (sel *selector) match() func(*cache.Object) bool {
	labels, fields := sel.labels, sel.fields
	switch { // pointers, because a slice in an interface would be allocated for each object
	case labels.Empty() && fields.Empty():
		return nil
	case fields.Empty():
		return func(o *cache.Object) bool { return labels.Matches(&o.Labels) }
	case sel.mine != nil:
		return func(o *cache.Object) bool { return labels.Matches(&o.Labels) && sel.matchMine(o) }
	default:
		return func(o *cache.Object) bool { return labels.Matches(&o.Labels) && fields.Matches(&o.Fields) }
	}
}

// matchMine matches the fields as the request's version shows them. An object that cannot be shown in it matches, and
// is what the request fails with.
func (sel *selector) matchMine(o *cache.Object) bool {
	if sel.err != nil {
		return true
	}
	data, stored := o.Stored()
	if slices.Contains(sel.same, stored) {
		return sel.fields.Matches(&o.Fields)
	}
	version := sel.mine.version.GVK.Version
	if form := sel.s.FormOf(version, codec.Media{}); stored != form {
		var err error
		data, err = o.Form(form, func() ([]byte, error) { return sel.s.Encode(sel.ctx, o, version, codec.Media{}) })
		if err != nil {
			sel.err = err
			return true
		}
	}
	var peek codec.Peek
	if err := sel.mine.json.Peek(data, &peek); err != nil {
		sel.err = sel.s.namedError(sel.ctx, o, err)
		return true
	}
	fields := sel.mine.fieldPairs(&peek)
	return sel.fields.Matches(&fields)
}

// only returns the one key under prefix that can match, or "".
func (sel *selector) only(prefix, namespace string) string {
	if sel.name == "" || namespace == "" && sel.s.res.Namespaced || strings.Contains(sel.name, "/") {
		return ""
	}
	return prefix + sel.name
}
