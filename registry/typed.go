package registry

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file turns declarations of one Go type into declarations of meta.Object, which a Store works
// with. Packages that declare kinds call Typed. Each helper wraps one shape of function; a nil
// function stays nil, because nil has a meaning in a declaration.

// Typed turns a declaration whose functions take T into the Resource that New takes:
//
//	registry.Typed(registry.ResourceOf[*Widget]{
//		Kind: "Widget",
//		...
//		Strategy: registry.StrategyOf[*Widget]{
//			Validate: func(w, old *Widget) field.ErrorList { ... },
//		},
//	})
//
// T must be the hub type of the kind, else New fails.
func Typed[T meta.Object](r ResourceOf[T]) Resource {
	res := Resource{
		GroupResource: r.GroupResource, Kind: r.Kind, ListKind: r.ListKind, Singular: r.Singular,
		ShortNames: r.ShortNames, Categories: r.Categories, Namespaced: r.Namespaced,
		Type: r.Type, StorageVersion: r.StorageVersion, StoredAsJSON: r.StoredAsJSON,
		Strategy: untyped(r.Strategy), Generation: r.Generation, ResetFields: r.ResetFields,
		Reserve: reserve(r.Reserve), Guard: guard(r.Guard),
		Fields: r.Fields, ReturnsDeleted: r.ReturnsDeleted, Verbs: r.Verbs, NoCreate: r.NoCreate,
		Served: r.Served, Tables: r.Tables,
		ResetFieldsIn: r.ResetFieldsIn, Custom: r.Custom, Since: r.Since, Deprecated: r.Deprecated,
		Complete: complete(r.Complete), CompleteNeeds: r.CompleteNeeds, TTL: result(r.TTL),
		fits: func(obj meta.Object) bool { _, ok := obj.(T); return ok },
	}
	if st := r.Status; st != nil {
		res.Status = &Status{
			OnCreate: st.OnCreate, Prepare: prepare(st.Prepare), Validate: onChange(st.Validate),
			Warnings: onChange(st.Warnings), Metadata: st.Metadata, ResetFields: st.ResetFields,
		}
	}
	for _, sub := range r.Subresources {
		res.Subresources = append(res.Subresources, Subresource{
			Name: sub.Name, Kind: sub.Kind, Owns: sub.Owns, Versions: sub.Versions, Verbs: sub.Verbs,
			Metadata: sub.Metadata, ResetFields: sub.ResetFields,
			Prepare: prepare(sub.Prepare), Validate: onChange(sub.Validate),
			ValidateRequest: validateRequestOf(sub.ValidateRequest),
			Warnings:        onChange(sub.Warnings),
			Project:         projection(sub.Project), Also: sub.Also, Complete: sub.Complete, Check: sub.Check,
			Create: sub.Create, Returned: sub.Returned,
			Connect: sub.Connect,
		})
	}
	if t := r.Table; t != nil {
		res.Table = &Table{
			Columns:    t.Columns,
			Cells:      func(obj meta.Object, now time.Time) []any { return t.Cells(as[T](obj), now) },
			Conditions: result(t.Conditions),
		}
	}
	return res
}

// untyped wraps the functions of a strategy so that they take any meta.Object.
func untyped[T meta.Object](s StrategyOf[T]) Strategy {
	u := Strategy{
		ValidateName:             s.ValidateName,
		Metadata:                 s.Metadata,
		Prepare:                  prepare(s.Prepare),
		Validate:                 onChange(s.Validate),
		ValidateRequest:          validateRequestOf(s.ValidateRequest),
		Warnings:                 onChange(s.Warnings),
		AllowCreateOnUpdate:      s.AllowCreateOnUpdate,
		AllowUnconditionalUpdate: s.AllowUnconditionalUpdate,
		Held:                     result(s.Held),
		Permanent:                s.Permanent,
		OrphanByDefault:          s.OrphanByDefault,
		OrphanWarning:            s.OrphanWarning,
		NoGarbageCollection:      s.NoGarbageCollection,
	}
	if f := s.ValidateIn; f != nil {
		u.ValidateIn = func(gv meta.GroupVersion, obj, old meta.Object) field.ErrorList {
			return f(gv, as[T](obj), as[T](old))
		}
	}
	if f := s.Canonicalize; f != nil {
		u.Canonicalize = func(obj meta.Object) { f(as[T](obj)) }
	}
	if f := s.Graceful; f != nil {
		u.Graceful = func(obj meta.Object, opts *meta.DeleteOptions) bool { return f(as[T](obj), opts) }
	}
	if f := s.Terminate; f != nil {
		u.Terminate = func(obj meta.Object) { f(as[T](obj)) }
	}
	return u
}

func complete[T meta.Object](f func(T)) func(meta.Object) {
	if f == nil {
		return nil
	}
	return func(obj meta.Object) { f(as[T](obj)) }
}

func reserve[T meta.Object](f ReserveOf[T]) Reserve {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, r *Request, obj, old meta.Object) (admission.Settle, error) {
		return f(ctx, r, as[T](obj), as[T](old))
	}
}

func guard[T meta.Object](f GuardOf[T]) Guard {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, r *Request, obj, old meta.Object) error {
		return f(ctx, r, as[T](obj), as[T](old))
	}
}

func projection[T meta.Object](p *ProjectionOf[T]) *Projection {
	if p == nil {
		return nil
	}
	return &Projection{
		Show:       func(obj meta.Object, to ProjectionPurpose) (meta.Object, error) { return p.Show(as[T](obj), to) },
		Apply:      func(obj, shown meta.Object) error { return p.Apply(as[T](obj), shown) },
		Validate:   p.Validate,
		Replicas:   p.Replicas,
		ReplicasIn: p.ReplicasIn,
		Table:      p.Table,
	}
}

// as returns obj as a T, and the zero T (nil) if obj is nil. The type always fits, because New has
// compared T with the hub type (see fits).
func as[T meta.Object](obj meta.Object) T {
	if obj == nil {
		var none T
		return none
	}
	return obj.(T)
}

func result[T meta.Object, R any](f func(T) R) func(meta.Object) R {
	if f == nil {
		return nil
	}
	return func(obj meta.Object) R { return f(as[T](obj)) }
}

func onChange[T meta.Object, R any](f func(obj, old T) R) func(obj, old meta.Object) R {
	if f == nil {
		return nil
	}
	return func(obj, old meta.Object) R { return f(as[T](obj), as[T](old)) }
}

func validateRequestOf[T meta.Object](
	f func(*Request, field.ErrorList, T, T) field.ErrorList,
) func(*Request, field.ErrorList, meta.Object, meta.Object) field.ErrorList {
	if f == nil {
		return nil
	}
	return func(r *Request, found field.ErrorList, obj, old meta.Object) field.ErrorList {
		return f(r, found, as[T](obj), as[T](old))
	}
}

func prepare[T meta.Object](f func(r *Request, obj, old T)) func(r *Request, obj, old meta.Object) {
	if f == nil {
		return nil
	}
	return func(r *Request, obj, old meta.Object) { f(r, as[T](obj), as[T](old)) }
}
