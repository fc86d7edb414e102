// Package backing keeps what a server stores: it opens the stores of the configuration, measures
// their operations, encrypts values and tells of objects that cannot be read.
//
// Guarantees: a Store may be given to others before it is open, and closing it closes every engine
// that is open. A value is encrypted as the configuration says at the moment of the write, by the
// resource that its key belongs to, also after that resource was removed. A new encryption
// configuration is in force only when all its plugins are well. What was counted of a resource is
// forgotten with it. Taps show the changes of one backend in order.
//
// Not here: which resources there are (Keys knows), and which engine the configuration means.
//
// Read: store.go, records.go, metered.go, encryption.go, kms.go, taps.go, unreadable.go.
package backing
