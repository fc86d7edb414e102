package server

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// recordsOf returns the records of a kind of the core group under a prefix of keys below that of all, which are encrypted and
// measured as name.
func recordsOf[T meta.Object](s *resources, kind, name, prefix string) (registry.Records[T], error) {
	b := s.backends.Main()
	prefix = s.table.root + prefix
	records, err := registry.RecordsOf[T](b.Registry, b.Store, corev1.GroupVersion.WithKind(kind).GroupKind(), prefix)
	if err != nil {
		return records, err
	}
	s.table.change.Lock()
	defer s.table.change.Unlock()
	s.table.set(s.table.now.Load().withRecords(&entry{Record: b.NewRecord(meta.GroupResource{Resource: name}, prefix)}))
	return records, nil
}
