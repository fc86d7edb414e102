package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

var testTime = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func resource(t *testing.T, name string) *registry.Resource {
	t.Helper()
	for _, r := range Resources(Config{EventTTL: time.Hour}) {
		if r.GroupResource.Resource == name {
			return &r
		}
	}
	t.Fatalf("no resource %s", name)
	return nil
}

// create runs obj through the strategy as a new object.
func create(r *registry.Resource, obj meta.Object) field.ErrorList {
	if r.Status != nil && !r.Status.OnCreate {
		k := kindOf(r)
		keep, err := k.Keeper([]string{"status"}, false)
		if err != nil {
			panic(err)
		}
		keep(obj, k.New())
	}
	if errs := complete(obj, nil); len(errs) > 0 {
		return errs
	}
	return door{r.Strategy.Prepare, validate(r)}.write(obj, nil)
}

// complete runs the step of a service that comes before its reservations, in a dual-stack cluster.
func complete(obj, old meta.Object) field.ErrorList {
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	f := families{corev1.IPv4Protocol, corev1.IPv6Protocol}
	was, _ := old.(*corev1.Service)
	if was != nil { // as the reader of a stored service does
		f.completeStored(was)
	}
	return completeService(f, svc, was)
}

// update runs obj through a door as a change of old. The door "" is the resource itself.
func update(r *registry.Resource, name string, obj, old meta.Object) field.ErrorList {
	d := door{r.Strategy.Prepare, validate(r)}
	if name == "" {
		if errs := complete(obj, old); len(errs) > 0 {
			return errs
		}
	}
	if name == "status" {
		d = door{r.Status.Prepare, r.Status.Validate}
	}
	for _, sub := range r.Subresources {
		if sub.Name == name {
			d = door{sub.Prepare, sub.Validate}
		}
	}
	keeper(r, name)(obj, old)
	return d.write(obj, old)
}

// validate returns the checks for objects that are written in the version of the core group.
func validate(r *registry.Resource) func(obj, old meta.Object) field.ErrorList {
	if f := r.Strategy.ValidateIn; f != nil {
		return func(obj, old meta.Object) field.ErrorList { return f(corev1.GroupVersion, obj, old) }
	}
	return r.Strategy.Validate
}

// door holds the functions of a door.
type door struct {
	prepare  func(r *registry.Request, obj, old meta.Object)
	validate func(obj, old meta.Object) field.ErrorList
}

func (d door) write(obj, old meta.Object) field.ErrorList {
	if d.prepare != nil {
		d.prepare(&registry.Request{Now: testTime}, obj, old)
	}
	if d.validate == nil {
		return nil
	}
	return d.validate(obj, old)
}

func kindOf(r *registry.Resource) kind.Kind {
	s := checktest.Scheme()
	return kind.NewTypes(s, codec.NewFactory(s)).Kind(meta.GroupKind{Group: r.GroupResource.Group, Kind: r.Kind})
}

// keeper returns the function that resets the fields that a door may not set, as the registry does.
func keeper(r *registry.Resource, door string) func(obj, old meta.Object) {
	var owned []string
	if r.Status != nil {
		owned = append(owned, "status")
	}
	inside := false // the door owns fields and may set nothing else
	for _, sub := range r.Subresources {
		owned = append(owned, sub.Owns...)
	}
	for _, sub := range r.Subresources {
		if sub.Name == door && len(sub.Owns) > 0 {
			owned, inside = sub.Owns, true
		}
	}
	if r.Status != nil && door == "status" {
		owned, inside = []string{"status"}, true
	}
	keep, err := kindOf(r).Keeper(owned, inside)
	if err != nil {
		panic(err)
	}
	return keep
}

func TestResourcesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Resources(Config{EventTTL: time.Hour}) {
		if seen[r.GroupResource.Resource] {
			t.Errorf("%s: declared twice", r.GroupResource.Resource)
		}
		seen[r.GroupResource.Resource] = true
		if !checktest.Scheme().Recognizes(corev1.GroupVersion.WithKind(r.Kind)) {
			t.Errorf("%s: kind %s is not registered", r.GroupResource.Resource, r.Kind)
		}
		obj, err := checktest.Scheme().NewObject(corev1.GroupVersion.WithKind(r.Kind))
		if err != nil {
			t.Fatal(err)
		}
		if r.Table == nil {
			continue // rows have the default columns
		}
		if cells := r.Table.Cells(obj.(meta.Object), testTime); len(cells) != len(r.Table.Columns) {
			t.Errorf("%s: got %d cells for %d columns", r.GroupResource.Resource, len(cells), len(r.Table.Columns))
		}
		for _, c := range r.Table.Columns {
			if c.Description == "" || c.Type == "" {
				t.Errorf("%s: column %q lacks a type or description", r.GroupResource.Resource, c.Name)
			}
		}
		for _, f := range r.Fields {
			if _, _, err := checktest.Scheme().FieldLabel(corev1.GroupVersion.WithKind(r.Kind), f.Label, ""); err != nil {
				t.Errorf("%s: field %s: %v", r.GroupResource.Resource, f.Label, err)
			}
		}
	}
}

// TestEmptyObjects: clients can send empty objects, so that no function of a strategy may panic on
// them.
func TestEmptyObjects(t *testing.T) {
	for _, r := range Resources(Config{EventTTL: time.Hour}) {
		make := func() meta.Object {
			obj, err := checktest.Scheme().NewObject(corev1.GroupVersion.WithKind(r.Kind))
			if err != nil {
				t.Fatal(err)
			}
			return obj.(meta.Object)
		}
		create(&r, make())
		update(&r, "", make(), make())
		if r.Status != nil {
			update(&r, "status", make(), make())
		}
		for _, sub := range r.Subresources {
			update(&r, sub.Name, make(), make())
		}
		if r.Strategy.Warnings != nil {
			r.Strategy.Warnings(make(), nil)
		}
	}
}

func sprint(v any) string { return fmt.Sprint(v) }
