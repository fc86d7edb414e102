package generic

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// RecordsOf returns the records of a kind of the core group: objects in the main backend that
// belong to no resource, such as the allocated node ports. prefix ends in "/" and is appended to
// the Table's root. In the configuration of encryption and in the metrics of the store, the records
// have the name of a resource of the core group: name.
//
// The Table gets an entry for the prefix, but no offer, so clients cannot see the records.
func RecordsOf[T meta.Object](s *Resources, kind, name, prefix string) (registry.Records[T], error) {
	b := s.needs.Backends.Main()
	prefix = s.table.root + prefix
	records, err := registry.RecordsOf[T](b.Registry, b.Store,
		corev1.GroupVersion.WithKind(kind).GroupKind(), prefix)
	if err != nil {
		return records, err
	}
	s.table.change.Lock()
	defer s.table.change.Unlock()
	s.table.set(s.table.Now().withRecords(&Entry{Record: b.NewRecord(meta.GroupResource{Resource: name}, prefix)}))
	return records, nil
}
