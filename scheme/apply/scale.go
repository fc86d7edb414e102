package apply

import (
	"context"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Scale takes managedFields from objects to their scales and back: replicas are a field of both.
type Scale struct {
	// APIVersion is that of the object whose scale is written.
	APIVersion string
	// Replicas is where objects have them, by apiVersion; nil in a version without scale.
	Replicas map[string]Path
}

const scaleVersion = "autoscaling/v1"

var scaleReplicas = Path{Field("spec"), Field("replicas")}

// Of returns the managedFields of the scale of an object that has the given ones. If ctx is over
// its error is returned.
func (s *Scale) Of(ctx context.Context, object []meta.ManagedFieldsEntry) ([]meta.ManagedFieldsEntry, error) {
	m := meterOf(ctx, object)
	owners, err := decode(m, object)
	if err != nil {
		return nil, err
	}
	out := owners[:0]
	for _, o := range owners {
		if replicas := s.Replicas[o.version]; replicas != nil && o.fields.Has(replicas) {
			o.version = scaleVersion
			o.own(SetOf(scaleReplicas))
			out = append(out, o)
		}
	}
	return encode(m, out), m.Err()
}

// Into returns the managedFields of an object, made of those that it had and those that its scale has now.
//
// Whoever owns the replicas of the object and is not in the scale any more has lost them. Whoever has come to own those of the
// scale owns those of the object, by an entry of their own, whose time is not known. An updater of the object is always another
// one in the scale, since the apiVersion there is another. If ctx is over its error is returned.
func (s *Scale) Into(ctx context.Context, object, scale []meta.ManagedFieldsEntry) ([]meta.ManagedFieldsEntry, error) {
	m := meterOf(ctx, object, scale)
	owners, err := decode(m, object)
	if err != nil {
		return nil, err
	}
	scalers, err := decode(m, scale)
	if err != nil {
		return nil, err
	}

	before, now := byManager(owners), byManager(scalers)
	var out []owner
	for _, o := range owners {
		replicas, served := s.Replicas[o.version]
		_, scales := now[o.manager]
		switch {
		case !served:
			continue
		case replicas == nil || !o.fields.Has(replicas):
			if scales && now[o.manager].fields.Has(scaleReplicas) {
				continue // and comes again with replicas alone
			}
		case scales:
			delete(now, o.manager)
		default:
			o.own(o.fields.Subtract(m, SetOf(replicas)))
			if o.fields.Empty() {
				continue
			}
		}
		out = append(out, o)
	}
	for _, o := range scalers {
		if _, ok := now[o.manager]; ok && o.fields.Has(scaleReplicas) {
			o.version, o.time = s.APIVersion, before[o.manager].time
			o.own(SetOf(s.Replicas[s.APIVersion]))
			out = append(out, o)
		}
	}
	return encode(m, out), m.Err()
}
