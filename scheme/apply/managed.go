package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file turns metadata.managedFields into owners and back, and keeps the number of entries
// within its limit. Door.Update, Door.Apply and Scale decode the entries before a write and encode
// them after it.

// manager is what tells the entries of managedFields apart: no two entries have the same manager.
type manager struct {
	name        string
	operation   meta.ManagedFieldsOperationType
	apiVersion  string // "" if operation is Apply: an applier that changes its version is still the same manager
	subresource string
}

// id returns the manager as JSON. kube-apiserver sorts managers by this text.
func (m manager) id() string {
	id := []byte("{")
	for _, member := range [...]struct{ name, value string }{
		{`"manager":`, m.name},
		{`"operation":`, string(m.operation)},
		{`"apiVersion":`, m.apiVersion},
		{`"subresource":`, m.subresource},
	} {
		if member.value == "" {
			continue
		}
		if len(id) > 1 {
			id = append(id, ',')
		}
		id = jsontext.AppendString(append(id, member.name...), member.value, jsontext.HTML)
	}
	return string(append(id, '}'))
}

// owner is a manager with the fields that it owns: one entry of managedFields, decoded.
type owner struct {
	manager
	version string // the apiVersion in which fields are written
	fields  *Set
	read    *read          // the cached set that holds fields; nil if fields was changed after it was read
	text    *meta.FieldsV1 // fields as FieldsV1; nil if it has to be encoded anew
	time    *meta.Time     // of the manager's last write that changed a field; nil if it is not known
}

// setFields sets the owner's fields. If fields is another Set, it drops the cached set and the
// encoded text.
func (o *owner) setFields(fields *Set) {
	if fields != o.fields {
		o.fields, o.read, o.text = fields, nil, nil
	}
}

// reconcile adapts the owner's fields to a schema that may have changed since they were written.
func (o *owner) reconcile(m *meter.Meter, s *schema.Schema) error {
	if o.read != nil && o.read.fits.Load() == s {
		return nil
	}
	fields, err := Reconcile(m, o.fields, s)
	if err != nil {
		return err
	}
	if o.read != nil && fields == o.fields {
		o.read.fits.Store(s)
	}
	o.setFields(fields)
	return nil
}

// exchange removes the fields in lost from the owner's fields, and then adds those in won.
func (o *owner) exchange(m *meter.Meter, lost, won *Set) {
	// If nothing changes, the encoded text is kept.
	if won.Subtract(m, o.fields).Empty() && o.fields.Intersect(m, lost).Subtract(m, won).Empty() {
		return
	}
	o.setFields(o.fields.Subtract(m, lost).Union(m, won))
}

// seconds returns the owner's time in Unix seconds; 0 if it is not known, so that such an owner
// counts as the oldest.
func (o *owner) seconds() int64 {
	if o.time == nil {
		return 0
	}
	return o.time.Unix()
}

// ownerIndex returns the index of manager m among owners, -1 if it is not there.
func ownerIndex(owners []owner, m manager) int {
	return slices.IndexFunc(owners, func(o owner) bool { return o.manager == m })
}

// timeOf returns the time of manager m among owners, nil if it is not known.
func timeOf(owners []owner, m manager) *meta.Time {
	if i := ownerIndex(owners, m); i >= 0 {
		return owners[i].time
	}
	return nil
}

// byManager returns the owners in a map.
func byManager(owners []owner) map[manager]owner {
	m := make(map[manager]owner, len(owners))
	for _, o := range owners {
		m[o.manager] = o
	}
	return m
}

// Decodable returns an error that says why entries, as metadata.managedFields, cannot be decoded;
// nil if they can. If ctx has ended, it returns the error of ctx.
func Decodable(ctx context.Context, entries []meta.ManagedFieldsEntry) error {
	_, err := decode(meterOf(ctx, entries), entries)
	return err
}

// meterOf returns a Meter for work on the entries of all lists; nil if there is so little text that
// no Meter is needed.
func meterOf(ctx context.Context, lists ...[]meta.ManagedFieldsEntry) *meter.Meter {
	size := 0
	for _, entries := range lists {
		for i := range entries {
			if f := entries[i].FieldsV1; f != nil {
				size += len(f.Raw)
			}
		}
	}
	return meter.ForSize(ctx, size)
}

// decode returns the owners that entries describe. If several entries have the same manager, the
// last one counts.
func decode(m *meter.Meter, entries []meta.ManagedFieldsEntry) ([]owner, error) {
	owners := make([]owner, 0, len(entries)+1) // there may be one more after the write
	at := make(map[manager]int, len(entries))
	for i := range entries {
		o, err := decodeEntry(m, &entries[i], i)
		if err != nil {
			return nil, err
		}
		j, repeated := at[o.manager]
		if repeated {
			owners[j] = o
			continue
		}
		at[o.manager] = len(owners)
		owners = append(owners, o)
	}
	return owners, nil
}

// decodeEntry returns the owner that the entry with index i describes. The texts are Kubernetes'.
func decodeEntry(m *meter.Meter, e *meta.ManagedFieldsEntry, i int) (owner, error) {
	o := owner{
		manager: manager{name: e.Manager, operation: e.Operation, subresource: e.Subresource},
		version: e.APIVersion,
		text:    e.FieldsV1,
		time:    e.Time,
	}
	switch e.Operation {
	case meta.ManagedFieldsOperationApply:
	case meta.ManagedFieldsOperationUpdate:
		o.apiVersion = e.APIVersion
	default:
		return owner{}, errors.New("operation must be `Apply` or `Update`")
	}
	switch {
	case e.APIVersion == "":
		return owner{}, errors.New("apiVersion must not be empty")
	case e.FieldsType == "":
		return owner{}, fmt.Errorf("missing fieldsType in managed fields entry %d", i)
	case e.FieldsType != fieldsType:
		return owner{}, fmt.Errorf("invalid fieldsType %q in managed fields entry %d", meta.Excerpt(e.FieldsType), i)
	case e.FieldsV1 == nil:
		return o, nil
	}
	var err error
	if o.read, err = sets.parse(m, e.FieldsV1.Raw); err != nil {
		return owner{}, fmt.Errorf("error decoding versioned set of %q: error decoding set: %w",
			meta.Excerpt(e.Manager), err)
	}
	o.fields = o.read.fields
	return o, nil
}

// fieldsType is the only form of sets in managedFields.
const fieldsType = "FieldsV1"

// encode returns the entries of owners in the order of kube-apiserver: appliers first, then by
// time, name, version and subresource. It sorts owners in place.
func encode(m *meter.Meter, owners []owner) []meta.ManagedFieldsEntry {
	if len(owners) == 0 {
		return nil
	}
	slices.SortFunc(owners, func(a, b owner) int {
		return cmp.Or(
			strings.Compare(string(a.operation), string(b.operation)),
			cmp.Compare(a.seconds(), b.seconds()),
			strings.Compare(a.name, b.name),
			strings.Compare(a.version, b.version),
			strings.Compare(a.subresource, b.subresource),
		)
	})
	entries := make([]meta.ManagedFieldsEntry, len(owners))
	for i, o := range owners {
		if o.text == nil {
			o.text = &meta.FieldsV1{Raw: o.fields.AppendFields(m, make([]byte, 0, 512))}
		}
		entries[i] = meta.ManagedFieldsEntry{
			Manager:     o.name,
			Operation:   o.operation,
			APIVersion:  o.version,
			Time:        o.time,
			FieldsType:  fieldsType,
			FieldsV1:    o.text,
			Subresource: o.subresource,
		}
	}
	return entries
}

// maxUpdaters is how many entries with the operation Update an object may have. If there are more,
// the oldest entries of a version are joined into one, whose manager is called bucket.
const (
	maxUpdaters = 10
	bucket      = "ancient-changes"
)

// capUpdaters returns owners with at most maxUpdaters updaters among them. More are left if the
// updaters wrote in so many versions that joining those of one version does not suffice.
//
// The steps are those of kube-apiserver, from the oldest updater to the newest: the first updater
// of a version is only remembered; when a second one of that version comes, the two become a
// bucket, and later ones are added to it. If the bucket itself comes later in that order than
// updaters that were put into it, it is lost when its turn comes.
func capUpdaters(m *meter.Meter, owners []owner) []owner {
	var updaters []*owner
	for i := range owners {
		if owners[i].operation == meta.ManagedFieldsOperationUpdate {
			updaters = append(updaters, &owners[i])
		}
	}
	excess := len(updaters) - maxUpdaters
	if excess <= 0 {
		return owners
	}
	slices.SortFunc(updaters, func(a, b *owner) int {
		return cmp.Or(cmp.Compare(a.seconds(), b.seconds()), strings.Compare(a.id(), b.id()))
	})

	left := byManager(owners)
	first := map[string]manager{} // by version
	parts := map[manager][]*Set{} // of buckets
	for i := 0; excess > 0 && i < len(updaters); i++ {
		o := left[updaters[i].manager]
		waiting, ok := first[o.version]
		if !ok {
			first[o.version] = o.manager
			continue
		}
		to := manager{name: bucket, operation: meta.ManagedFieldsOperationUpdate, apiVersion: o.version}
		b, ok := left[to]
		if !ok {
			b = left[waiting]
			b.manager = to
			delete(left, waiting)
		}
		if len(parts[to]) == 0 {
			parts[to] = []*Set{b.fields}
		}
		parts[to] = append(parts[to], o.fields)
		b.time = o.time
		left[to] = b
		if delete(left, o.manager); o.manager == to {
			delete(parts, to)
		}
		excess--
	}
	for id, sets := range parts {
		b := left[id]
		b.setFields(unite(m, sets))
		left[id] = b
	}
	return slices.Collect(maps.Values(left))
}
