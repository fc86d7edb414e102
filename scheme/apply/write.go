package apply

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file has the state of one write through a Door. Owners record their fields in the version in
// which they wrote, so a write is compared in each of these versions; each version's conversion and
// comparison is done once. door.go, prune.go, conflict.go and lastapplied.go use it.

// write is one write to an object through a Door. It belongs to one goroutine.
type write struct {
	*Door
	ctx    context.Context
	meter  meter.Meter // counts all work of the write, whose size clients decide; it ends with ctx
	before typed
	after  any              // the tree after the write, in the version of the door
	forms  map[string]*form // the write in each version that was needed so far, by apiVersion
}

// typed is an object in one version, with the schema of that version.
type typed struct {
	tree    any
	version string
	schema  *schema.Schema // nil if the kind has no such version
}

// form is the write in one version: the object before it, and what the write changes.
type form struct {
	before typed
	*difference
}

// difference is the set of fields, in one version, that a write affects. Fields that the door
// resets are left out.
type difference struct {
	changed *Set // modified or added
	touched *Set // changed or removed
	none    bool // no field is changed or removed, counting those that the door resets
}

// write returns a write on which begin has to be called.
func (d *Door) write(ctx context.Context) *write {
	return &write{Door: d, ctx: ctx, meter: meter.NewValue(ctx)}
}

// begin starts the write, to an object that is tree before it. A second call starts anew.
func (w *write) begin(tree any) error {
	version := w.Kind.GroupVersion().String()
	s := w.Versions.Schema(version)
	if s == nil {
		return noType(w.Kind)
	}
	w.before, w.after = typed{tree, version, s}, nil
	w.forms = map[string]*form{version: {before: w.before}}
	return nil
}

// filter returns fields without those that nobody can own through the door.
func (w *write) filter(version string, fields *Set) *Set {
	return fields.SubtractAll(&w.meter, w.ResetFields[version])
}

// convert returns an object in another version. If the kind has no such version, that is an error
// for custom resources, and the zero typed for other kinds.
func (w *write) convert(t typed, version string) (typed, error) {
	gv, ok := meta.ParseGroupVersion(version)
	if !ok {
		return typed{}, fmt.Errorf("unexpected GroupVersion string: %v", meta.Excerpt(version))
	}
	to := gv.String()
	if to == t.version {
		return t, nil
	}
	s := w.Versions.Schema(to)
	if s == nil {
		if w.Custom {
			return typed{}, fmt.Errorf("request to convert CR to an invalid group/version: %s", meta.Excerpt(to))
		}
		return typed{}, nil
	}
	tree, err := w.Versions.Convert(w.ctx, t.tree, t.version, to)
	if err == nil {
		err = Check(&w.meter, tree, s, false)
	}
	return typed{tree, to, s}, err
}

// form returns the form of the write in a version, and makes it if it is not there. Its difference
// may not be computed yet.
func (w *write) form(version string) (*form, error) {
	if f, ok := w.forms[version]; ok {
		return f, nil
	}
	before, err := w.convert(w.before, version)
	if err != nil {
		return nil, err
	}
	f := &form{before: before}
	w.forms[version] = f
	return f, nil
}

// difference returns what the write changes in a version, and computes it if needed. The kind has
// that version.
func (w *write) difference(version string) (*difference, error) {
	f, err := w.form(version)
	if err != nil {
		return nil, err
	}
	if f.difference != nil {
		return f.difference, nil
	}
	after, err := w.convert(typed{w.after, w.before.version, w.before.schema}, version)
	if err != nil {
		return nil, fmt.Errorf("failed to convert new object: %w", err)
	}
	c, err := Compare(&w.meter, f.before.tree, after.tree, after.schema)
	if err != nil {
		return nil, fmt.Errorf("failed to compare objects: %w", err)
	}
	changed := w.filter(version, c.Modified.Union(&w.meter, c.Added))
	f.difference = &difference{
		changed: changed,
		touched: changed.Union(&w.meter, w.filter(version, c.Removed)),
		none:    c.Modified.Empty() && c.Added.Empty() && c.Removed.Empty(),
	}
	return f.difference, nil
}

// isNone reports whether the write leaves the object exactly as it was, including the order of
// lists.
func (w *write) isNone() bool {
	if d := w.forms[w.before.version].difference; d != nil && !d.none {
		return false
	}
	return same(&w.meter, w.before.tree, w.after)
}

// same reports whether two trees are equal.
func same(m *meter.Meter, a, b any) bool {
	r := reader{meter: m}
	return r.equal(partOf(a), partOf(b), 0)
}

// reconcile returns owners with their fields adapted to the current schemas, and without the owners
// whose version no longer exists.
func (w *write) reconcile(owners []owner) ([]owner, error) {
	kept := owners[:0]
	for _, o := range owners {
		f, err := w.form(o.version)
		if err != nil {
			return nil, err
		}
		if f.before.schema == nil {
			continue
		}
		if err := o.reconcile(&w.meter, f.before.schema); err != nil {
			return nil, err
		}
		kept = append(kept, o)
	}
	return kept, nil
}

// takeFromOthers removes the fields that the write touches from all owners except self, and drops
// owners without fields. It changes owners in place.
func (w *write) takeFromOthers(owners []owner, self manager) ([]owner, error) {
	kept := owners[:0]
	for _, o := range owners {
		if o.manager != self {
			d, err := w.difference(o.version)
			if err != nil {
				return nil, err
			}
			if !o.fields.Intersect(&w.meter, d.touched).Empty() {
				o.setFields(o.fields.Subtract(&w.meter, d.touched))
			}
		}
		if !o.fields.Empty() {
			kept = append(kept, o)
		}
	}
	return kept, nil
}

// noType returns the error for a door whose version does not exist.
func noType(kind meta.GroupVersionKind) error {
	return fmt.Errorf("no corresponding type for %v", kind)
}
