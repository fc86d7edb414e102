package apply

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// write is what becomes of an object through a Door, in each version in which somebody owns fields of it.
type write struct {
	*Door
	ctx    context.Context
	meter  meter.Meter // of all that is done for the write, whose sizes clients decide on; it ends with ctx
	before typed
	after  any              // in the version of the door
	forms  map[string]*form // by apiVersion
}

// typed is an object in a version.
type typed struct {
	tree    any
	version string
	schema  *schema.Schema // nil if there is no such version any more
}

// form is a write in a version.
type form struct {
	before typed
	*difference
}

// difference is what a write does to fields.
type difference struct {
	changed *Set // modified or added
	touched *Set // changed or removed
	none    bool // no field is, not even one that the door resets
}

// write returns a write that has to begin.
func (d *Door) write(ctx context.Context) *write {
	return &write{Door: d, ctx: ctx, meter: meter.Of(ctx)}
}

// begin begins a write to tree, whatever the write was to before.
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

// filter leaves out what nobody can own through the door.
func (w *write) filter(version string, fields *Set) *Set {
	return fields.SubtractAll(&w.meter, w.Reset[version])
}

// convert returns an object in a version.
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

// form returns the write in a version, without after.
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

// difference returns what the write does to the fields of a version that there is.
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

// isNone reports whether the write leaves the object as it was, the order of lists included.
func (w *write) isNone() bool {
	if d := w.forms[w.before.version].difference; d != nil && !d.none {
		return false
	}
	return same(&w.meter, w.before.tree, w.after)
}

// same reports whether two trees say the same.
func same(m *meter.Meter, a, b any) bool {
	r := reader{meter: m}
	return r.equal(partOf(a), partOf(b), 0)
}

// reconcile returns owners as they have to be by the schemas of today. Those of versions that are gone own nothing.
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

// take returns owners without what the write touches of others' fields than those of self, and without such that own nothing.
func (w *write) take(owners []owner, self manager) ([]owner, error) {
	kept := owners[:0]
	for _, o := range owners {
		if o.manager != self {
			d, err := w.difference(o.version)
			if err != nil {
				return nil, err
			}
			if !o.fields.Intersect(&w.meter, d.touched).Empty() {
				o.own(o.fields.Subtract(&w.meter, d.touched))
			}
		}
		if !o.fields.Empty() {
			kept = append(kept, o)
		}
	}
	return kept, nil
}

func noType(kind meta.GroupVersionKind) error {
	return fmt.Errorf("no corresponding type for %v", kind)
}
