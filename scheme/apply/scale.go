package apply

import (
	"context"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Scale translates managedFields between objects and their scale subresource. The only field that
// both have is the number of replicas.
type Scale struct {
	// APIVersion is the apiVersion of the object whose scale is read or written.
	APIVersion string
	// Replicas holds, by apiVersion, the path of the replicas in the object; a nil path for a
	// version without a scale subresource.
	Replicas map[string]Path
}

// scaleVersion is the only version of the scale subresource.
const scaleVersion = "autoscaling/v1"

// scaleReplicas is the path of the replicas in a Scale.
var scaleReplicas = Path{Field("spec"), Field("replicas")}

// Of returns the managedFields of an object's scale: an entry for each owner of the replicas among
// the object's managedFields. If ctx has ended, it returns the error of ctx.
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
			o.setFields(SetOf(scaleReplicas))
			out = append(out, o)
		}
	}
	return encode(m, out), m.Err()
}

// Into returns the managedFields of an object, made of those that it had before a write to its
// scale, and those that the scale has after it.
//
// A manager that owns the replicas in object and has no entry in scale loses them. A manager that
// owns them in scale, and did not own them in object, gains them in an entry of its own. That entry
// has the time of the manager's entry in object, if there was one. An updater is never the same
// manager in the object and in its scale, because the apiVersions differ. If ctx has ended, Into
// returns the error of ctx.
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
				continue // the loop below adds it again, with the replicas alone
			}
		case scales:
			delete(now, o.manager)
		default:
			o.setFields(o.fields.Subtract(m, SetOf(replicas)))
			if o.fields.Empty() {
				continue
			}
		}
		out = append(out, o)
	}
	for _, o := range scalers {
		if _, ok := now[o.manager]; ok && o.fields.Has(scaleReplicas) {
			o.version, o.time = s.APIVersion, before[o.manager].time
			o.setFields(SetOf(s.Replicas[s.APIVersion]))
			out = append(out, o)
		}
	}
	return encode(m, out), m.Err()
}
