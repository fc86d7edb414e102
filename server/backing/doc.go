// Package backing puts the store of a server together: it opens the engines of the configuration,
// measures their operations, encrypts values, makes the cache over each engine, and reports objects
// that cannot be read.
//
// Words: a Location says where objects are stored: it is an engine and the resources that it keeps.
// A backend is an open Location with its cache; the main backend has all resources that no other
// Location keeps. A record is what is stored under one prefix of keys: the objects of a resource,
// or records that are no resource, such as the records of servers.
//
// Laws: a Store may be passed on before it is open, and closing it closes every engine that is
// open. The record to which the key of a value belongs decides how the value is encrypted: with the
// first provider that the configuration in force names for the resource. The record of a removed
// resource stays until nobody can write objects of that resource. A new encryption configuration
// comes into force only when all its KMS plugins are healthy. The metrics of a resource are deleted
// when the resource is removed. Taps show the changes of one backend in order.
//
// Use: package server calls New, then Open in a goroutine, then NewBackends. All methods may be
// called at once, except Open and Unwrap of a Store that opens.
//
// Not here: which resources there are (Keys, which server/generic implements), which engine the
// configuration names (server), the providers of encryption (storage/encryption).
//
// Read: store.go, records.go, metered.go, encryption.go, kms.go, taps.go, unreadable.go.
package backing
