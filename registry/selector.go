package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/storage/cache"
)

// This file compiles label and field selectors to functions on cached objects, for List and Watch
// (list.go). The cache found labels and selectable fields when it read an object, so most selectors
// decode nothing. A field selector in a version whose fields stand elsewhere encodes objects in
// that version first.

// selector is the compiled selectors of a list or watch. It belongs to one request.
type selector struct {
	stored condition // on objects as they are stored
	shown  condition // on converted objects: labels and fields that a converter may change

	// name is the metadata.name that every selected object has, or "".
	name string
	// group is a field and its value that every selected object has, and by which the cache groups
	// watchers; zero if there is none.
	group cache.Pair
}

// condition is the part of a selector that is checked on objects in one form.
type condition struct {
	labels       meta.LabelRequirements
	fieldMatcher *fieldMatcher // nil: no field selector
	meter        *meter.Meter
}

// fieldMatcher matches field selectors against objects as one version shows them. It belongs to one
// request.
type fieldMatcher struct {
	ctx     context.Context
	s       *Store
	fields  meta.FieldRequirements
	version *kind.Version
	// names is set if the selector names only metadata.name and metadata.namespace, which the cache
	// has found in every object.
	names bool
	// same lists the forms whose version has the fields at the same paths as version: the values
	// that the cache has found count.
	same []uint32
	// raw lists forms with the same paths whose objects may still need defaults: a value that the
	// cache has found counts, a missing one does not.
	raw []uint32
	// looker finds the fields in objects of all other forms, after they were encoded in version. It
	// is made when the first such object is compared.
	looker *looker
	err    error // of the first object that could not be encoded or scanned
}

// selector compiles the selectors of a request.
func (s *Store) selector(ctx context.Context, req *request.ListRequest) (selector, error) {
	version := s.reader.home
	if req.Version != "" && !req.Fields.Empty() {
		if version = kind.In(s.kind, req.Version); version == nil {
			return selector{}, meta.NewBadRequest(fmt.Sprintf("%s has no version %q", s.kind.GroupKind(), req.Version))
		}
	}
	fields, err := req.Fields.Transform(version.FieldLabel)
	if err != nil {
		return selector{}, meta.NewBadRequest(meta.Excerpt(err.Error()))
	}
	var sel selector
	sel.name, _ = fields.RequiresExact("metadata.name")
	if s.batch == nil || req.Version == "" {
		sel.stored = condition{labels: req.Labels, fieldMatcher: s.newFieldMatcher(ctx, version, fields)}
	} else {
		fixed, others := s.divide(fields)
		sel.stored = condition{fieldMatcher: s.newFieldMatcher(ctx, version, fixed)}
		sel.shown = condition{labels: req.Labels, fieldMatcher: s.newFieldMatcher(ctx, version, others)}
	}
	if !s.finds(sel.stored.fieldMatcher) {
		return sel, nil
	}
	for _, label := range s.groupBy {
		if value, ok := sel.stored.fieldMatcher.fields.RequiresExact(label); ok {
			sel.group = cache.Pair{Key: label, Value: value}
		}
	}
	return sel, nil
}

// divide splits a field selector: fixed are the fields that no conversion changes (name, namespace,
// and fields that are declared for all versions), others the rest.
func (s *Store) divide(fields meta.FieldRequirements) (fixed, others meta.FieldRequirements) {
	for _, f := range fields {
		everywhere := slices.ContainsFunc(s.res.Fields, func(v FieldValue) bool {
			return v.Label == f.Field && v.Version == ""
		})
		if everywhere || isName(f) {
			fixed = append(fixed, f)
		} else {
			others = append(others, f)
		}
	}
	return fixed, others
}

// isName reports whether a requirement is about metadata.name or metadata.namespace.
func isName(f meta.FieldRequirement) bool {
	return f.Field == "metadata.name" || f.Field == "metadata.namespace"
}

// finds reports whether the cache has found the fields of a selector in every object, whatever its
// form: same then has both forms (JSON and protobuf) of each looker. After a redeclaration, the
// cache may hold fields that it found by the old declaration.
func (s *Store) finds(j *fieldMatcher) bool {
	return j != nil && (j.names || !s.redeclared && len(j.same) == 2*len(s.reader.lookers))
}

// limit bounds the work of selecting by a Meter.
func (sel *selector) limit(m *meter.Meter) { sel.stored.meter, sel.shown.meter = m, m }

// newFieldMatcher returns the matcher of a field selector in a version, nil if the selector is
// empty.
func (s *Store) newFieldMatcher(
	ctx context.Context, version *kind.Version, fields meta.FieldRequirements,
) *fieldMatcher {
	if fields.Empty() {
		return nil
	}
	if s.kind != s.reader.kind { // the field labels of another group were translated to those of the stored kind
		home := *s
		home.kind = s.reader.kind
		s, version = &home, s.reader.home
	}
	other := func(f meta.FieldRequirement) bool { return !isName(f) }
	j := &fieldMatcher{ctx: ctx, s: s, fields: fields, version: version, names: !slices.ContainsFunc(fields, other)}
	for _, l := range s.reader.lookers {
		if s.agree(version, l, fields) {
			j.same = append(j.same, l.shownForm, l.protoForm)
			if l.jsonForm != l.shownForm {
				j.raw = append(j.raw, l.jsonForm)
			}
		}
	}
	return j
}

// agree reports whether the fields of a selector have the same declaration in version and in the
// version of a looker, so that the values found in stored bytes are those that the client means.
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

const (
	// stepsPerRequirement is the number of meter steps for comparing one requirement with an
	// object.
	stepsPerRequirement = 16
	// fewRequirements: up to this number of label requirements are compared one by one with each
	// object. More are indexed by key, so that an object is compared only with those about its own
	// labels.
	fewRequirements = 16
)

// match returns the function that the cache filters with, nil for all objects. Nothing matches once
// the Meter has ended.
func (c *condition) match() func(*cache.Object) bool {
	labels, j, m := c.labels, c.fieldMatcher, c.meter
	if labels.Empty() && j == nil {
		return nil
	}
	fields := 0
	if j != nil {
		fields = len(j.fields)
	}
	steps := stepsPerRequirement * (len(labels) + fields)
	// Matches gets a pointer, because converting a slice to an interface would allocate for each
	// object.
	meets := func(o *cache.Object) bool { return m.Step(steps) == nil && labels.Matches(&o.Labels) }
	if len(labels) > fewRequirements {
		index := labels.Index()
		meets = func(o *cache.Object) bool {
			label := func(i int) (key, value string) { return o.Labels[i].Key, o.Labels[i].Value }
			return m.Step(stepsPerRequirement*(len(o.Labels)+fields)) == nil && index.Matches(len(o.Labels), label)
		}
	}
	if j == nil {
		return meets
	}
	return func(o *cache.Object) bool { return meets(o) && j.matches(o) }
}

// failed returns the error of the request after the cache has filtered: an object could not be
// checked, or the Meter has ended.
func (c *condition) failed() error {
	if c.fieldMatcher != nil && c.fieldMatcher.err != nil {
		return c.fieldMatcher.err
	}
	return c.meter.Err()
}

// matches reports whether an object matches. An object that cannot be shown in the version matches,
// and its error fails the request.
func (j *fieldMatcher) matches(o *cache.Object) bool {
	_, form := o.Stored()
	if j.names || slices.Contains(j.same, form) || slices.Contains(j.raw, form) && j.found(o) {
		return j.fields.Matches(&o.Fields)
	}
	return j.err != nil || j.looks(o)
}

// found reports whether the cache has found a value for each field of the selector in an object.
func (j *fieldMatcher) found(o *cache.Object) bool {
	return !slices.ContainsFunc(j.fields, func(f meta.FieldRequirement) bool {
		value, ok := o.Fields.Get(f.Field)
		return !ok || value == ""
	})
}

// looks is the slow path of matches: it encodes the object in the version and scans the result. It
// is needed if the cache found the fields in another version, or by another declaration.
func (j *fieldMatcher) looks(o *cache.Object) bool {
	data, stored := o.Stored()
	version := j.version.GVK.Version
	if form := j.s.FormOf(version, codec.Media{}); stored != form {
		data, j.err = o.Form(form, func() ([]byte, error) { return j.s.Encode(j.ctx, o, version, codec.Media{}) })
		if j.err != nil {
			return true
		}
	}
	if j.looker == nil {
		j.looker = newLooker(j.version, j.s.res.Fields, j.s.forms)
	}
	var peek codec.Peek
	if err := j.looker.written.json.Peek(data, &peek); err != nil {
		j.err = j.s.namedError(j.ctx, o, err)
		return true
	}
	fields := j.looker.fieldPairs(nil, &peek)
	return j.fields.Matches(&fields)
}

// only returns the key of the single object that can match, or "".
func (s *Store) only(sel *selector, prefix, namespace string) string {
	if sel.name == "" || namespace == "" && s.res.Namespaced || strings.Contains(sel.name, "/") {
		return ""
	}
	return prefix + sel.name
}
