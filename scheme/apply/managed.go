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

// manager is what tells the entries of managedFields apart.
type manager struct {
	name        string
	operation   meta.ManagedFieldsOperationType
	apiVersion  string // "" of who applies: to do so in another version makes nobody another manager
	subresource string
}

// id is the manager as kube-apiserver sorts it: as JSON.
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

// owner is a manager with what it owns.
type owner struct {
	manager
	version string // the apiVersion of fields
	fields  *Set
	read    *read          // from which fields are; nil if they are not
	text    *meta.FieldsV1 // fields as they are written; nil if nobody has written them yet
	time    *meta.Time
}

// own sets what the owner owns.
func (o *owner) own(fields *Set) {
	if fields != o.fields {
		o.fields, o.read, o.text = fields, nil, nil
	}
}

// reconcile makes what the owner owns what it has to be by a schema.
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
	o.own(fields)
	return nil
}

// exchange has the owner lose some fields and then get others.
func (o *owner) exchange(m *meter.Meter, lost, won *Set) {
	if won.Subtract(m, o.fields).Empty() && o.fields.Intersect(m, lost).Subtract(m, won).Empty() { // nothing that it does not have
		return
	}
	o.own(o.fields.Subtract(m, lost).Union(m, won))
}

// seconds is when the owner came to own what it does; unknown is long ago.
func (o *owner) seconds() int64 {
	if o.time == nil {
		return 0
	}
	return o.time.Unix()
}

// find returns the index of a manager among owners, -1 if it is not there.
func find(owners []owner, m manager) int {
	return slices.IndexFunc(owners, func(o owner) bool { return o.manager == m })
}

// timeOf returns when a manager came to own what it does, nil if that is not known.
func timeOf(owners []owner, m manager) *meta.Time {
	if i := find(owners, m); i >= 0 {
		return owners[i].time
	}
	return nil
}

// byManager returns owners by who they are.
func byManager(owners []owner) map[manager]owner {
	m := make(map[manager]owner, len(owners))
	for _, o := range owners {
		m[o.manager] = o
	}
	return m
}

// Decodable reports why entries of metadata.managedFields cannot be what somebody owns; nil if they
// can. If ctx is over its error is returned.
func Decodable(ctx context.Context, entries []meta.ManagedFieldsEntry) error {
	_, err := decode(meterOf(ctx, entries), entries)
	return err
}

// meterOf returns the Meter of work on entries; nil if that is little.
func meterOf(ctx context.Context, lists ...[]meta.ManagedFieldsEntry) *meter.Meter {
	size := 0
	for _, entries := range lists {
		for i := range entries {
			if f := entries[i].FieldsV1; f != nil {
				size += len(f.Raw)
			}
		}
	}
	return meter.For(ctx, size)
}

// decode returns the owners that entries tell of. Of several entries of the same manager the last counts.
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
		return owner{}, fmt.Errorf("error decoding versioned set of %q: error decoding set: %w", meta.Excerpt(e.Manager), err)
	}
	o.fields = o.read.fields
	return o, nil
}

const fieldsType = "FieldsV1"

// encode returns the entries of owners, in order: who applies first, then by time.
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

// maxUpdaters is how many entries an object may have of managers that update it. If there are more, the oldest of a version
// become one, of the manager called bucket.
const (
	maxUpdaters = 10
	bucket      = "ancient-changes"
)

// capped returns owners with not too many updaters among them.
//
// It does so in the steps of kube-apiserver: an updater whose version comes for the first time waits for a second, with
// which it becomes a bucket. A bucket that is younger than what went into it is lost when it is its turn.
func capped(m *meter.Meter, owners []owner) []owner {
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
		b.own(unite(m, sets))
		left[id] = b
	}
	return slices.Collect(maps.Values(left))
}
