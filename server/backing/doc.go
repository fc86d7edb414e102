// Package backing puts the store of a server together: it opens the engines of the configuration,
// measures their operations, encrypts values, makes the cache over each engine, and reports objects
// that cannot be read.
//
// Words: a place is where objects are stored: an engine, and the resources that it keeps. A backend
// is an open place with its cache; the main backend has all resources that no other place keeps. A
// record is what is stored under one prefix of keys: the objects of a resource, or records that are
// no resource, such as those of servers.
//
// Laws: a Store may be passed on before it is open, and closing it closes every engine that is
// open. The key of a value decides, by its record, how the value is encrypted; that stays so after
// the resource was removed, and the configuration in force at the write decides with which
// provider. A new encryption configuration comes into force only when all its KMS plugins are
// healthy. The metrics of a resource are deleted when the resource is removed. Taps show the
// changes of one backend in order.
//
// Use: package server calls New, then Open in a goroutine, then NewBackends. All methods may be
// called at once, except Open and Unwrap of a Store that opens.
//
// Not here: which resources there are (Keys, which server/generic implements), which engine the
// configuration names (server), the providers of encryption (storage/encryption).
//
// Read: store.go, records.go, metered.go, encryption.go, kms.go, taps.go, unreadable.go.
package backing
