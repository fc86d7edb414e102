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

// selector is what a list or watch selects, compiled. It belongs to one request.
type selector struct {
	stored condition // of objects as they are stored
	shown  condition // of objects as they are shown, where a converter may change what is asked for

	// name is the one metadata.name that can match, or "".
	name string
	// group is a field that has one value in all that matches, and by which watchers are grouped.
	group cache.Pair
}

// condition is what objects have to meet.
type condition struct {
	labels meta.LabelRequirements
	judge  *judge // of fields; nil without any
	meter  *meter.Meter
}

// judge matches the fields of objects as one version shows them. It belongs to one request.
type judge struct {
	ctx     context.Context
	s       *Store
	fields  meta.FieldRequirements
	version *kind.Version
	// names: the fields are name and namespace, which are found in every object.
	names bool
	// same are the forms of stored objects in which the cache has found what the version has at the
	// same places.
	same []uint32
	// raw are forms in which some of that may be missing that the version has: what is there
	// counts.
	raw    []uint32
	looker *looker // into all others, once they are in the version; made for the first
	err    error   // of the first object that could not be looked at
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
		sel.stored = condition{labels: req.Labels, judge: s.judge(ctx, version, fields)}
	} else {
		fixed, others := s.divide(fields)
		sel.stored = condition{judge: s.judge(ctx, version, fixed)}
		sel.shown = condition{labels: req.Labels, judge: s.judge(ctx, version, others)}
	}
	if !s.finds(sel.stored.judge) {
		return sel, nil
	}
	for _, label := range s.groupBy {
		if value, ok := sel.stored.judge.fields.RequiresExact(label); ok {
			sel.group = cache.Pair{Key: label, Value: value}
		}
	}
	return sel, nil
}

// divide takes those fields apart from others that no conversion changes: whose object it is, and
// what is declared for all versions.
func (s *Store) divide(fields meta.FieldRequirements) (fixed, others meta.FieldRequirements) {
	for _, f := range fields {
		everywhere := slices.ContainsFunc(s.res.Fields, func(v FieldValue) bool { return v.Label == f.Field && v.Version == "" })
		if everywhere || isName(f) {
			fixed = append(fixed, f)
		} else {
			others = append(others, f)
		}
	}
	return fixed, others
}

// isName reports whether a requirement is of the name or namespace, which the cache finds in all
// objects.
func isName(f meta.FieldRequirement) bool {
	return f.Field == "metadata.name" || f.Field == "metadata.namespace"
}

// finds reports whether the cache has found what a judge looks for in all objects.
func (s *Store) finds(j *judge) bool {
	return j != nil && (j.names || !s.redeclared && len(j.same) == 2*len(s.reader.lookers))
}

// limit bounds the work of selecting.
func (sel *selector) limit(m *meter.Meter) { sel.stored.meter, sel.shown.meter = m, m }

// judge makes the judge of fields that are meant in a version, nil if there are none.
func (s *Store) judge(ctx context.Context, version *kind.Version, fields meta.FieldRequirements) *judge {
	if fields.Empty() {
		return nil
	}
	if s.kind != s.reader.kind { // another group turns its labels into those of the kind that is stored
		home := *s
		home.kind = s.reader.kind
		s, version = &home, s.reader.home
	}
	other := func(f meta.FieldRequirement) bool { return !isName(f) }
	j := &judge{ctx: ctx, s: s, fields: fields, version: version, names: !slices.ContainsFunc(fields, other)}
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

// agree reports whether fields that are asked for in a version stand at the same places in another
// one, so that what was found in the stored form is what the client means.
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
	// stepsPerRequirement is how many steps it takes to hold a requirement against an object.
	stepsPerRequirement = 16
	// fewRequirements on labels are held against each object one by one; of more, those about its
	// labels are.
	fewRequirements = 16
)

// match returns the function that the cache filters with, nil for all objects. Nothing matches once
// the Meter has ended.
func (c *condition) match() func(*cache.Object) bool {
	labels, j, m := c.labels, c.judge, c.meter
	if labels.Empty() && j == nil {
		return nil
	}
	fields := 0
	if j != nil {
		fields = len(j.fields)
	}
	steps := stepsPerRequirement * (len(labels) + fields)
	// A pointer, because a slice in an interface would be allocated for each object.
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

// failed is why the request fails whatever the cache says: an object that could not be looked at,
// or the end of the Meter.
func (c *condition) failed() error {
	if c.judge != nil && c.judge.err != nil {
		return c.judge.err
	}
	return c.meter.Err()
}

// matches reports whether an object has the fields. One that cannot be shown in the version has
// them, and is what the request fails with.
func (j *judge) matches(o *cache.Object) bool {
	_, form := o.Stored()
	if j.names || slices.Contains(j.same, form) || slices.Contains(j.raw, form) && j.found(o) {
		return j.fields.Matches(&o.Fields)
	}
	return j.err != nil || j.looks(o)
}

// found reports whether the cache has found all the fields in an object.
func (j *judge) found(o *cache.Object) bool {
	return !slices.ContainsFunc(j.fields, func(f meta.FieldRequirement) bool {
		value, ok := o.Fields.Get(f.Field)
		return !ok || value == ""
	})
}

// looks is matches for an object that the cache has read in another form, or by another
// declaration.
func (j *judge) looks(o *cache.Object) bool {
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

// only returns the one key under prefix that can match, or "".
func (s *Store) only(sel *selector, prefix, namespace string) string {
	if sel.name == "" || namespace == "" && s.res.Namespaced || strings.Contains(sel.name, "/") {
		return ""
	}
	return prefix + sel.name
}
