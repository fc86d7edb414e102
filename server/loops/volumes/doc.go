// Package volumes has the loops for claims, volumes and their classes. Three of them keep claims,
// volumes and VolumeAttributesClasses from being deleted while something uses them, and one gives
// claims a storage class. In brackets is the controller of kube-controller-manager that does the
// same:
//
//	ClaimProtection   while a pod on a node uses the claim (persistentvolumeclaim-protection)
//	VolumeProtection  while the volume is bound (persistentvolume-protection)
//	ClassProtection   while a claim or volume names it (volumeattributesclass-protection)
//	DefaultClass      the default class for claims without one (a part of persistentvolume-binder)
//
// Words. To protect an object is to keep a finalizer on it. An object is in use if another object
// needs it: a pod needs its claims, and a claim its class. An object is due if its finalizer is
// missing, or if it is being deleted and still has the finalizer. A claim is classless if it names
// no storage class and no volume, and is not bound. A volume is vacant if a classless claim may be
// bound to it.
//
// Laws. Each object that nobody has deleted has its finalizer soon after the loop has seen it. An
// object that is being deleted loses the finalizer only after the loop has looked for its users and
// found none. An object that cannot be read counts as a user. Finalizers of other controllers stay.
// While a storage class is marked as the default, each classless claim gets it soon, unless a
// vacant volume fits the claim. A class that a claim has is never changed.
//
// The server makes one of each loop per run and calls Run once; the loops share the Informers of
// that run. They rest while a kube-controller-manager works on the same store.
//
// Not here: admission, which adds the same finalizers when an object is created
// (registry/admission) and gives new claims the default class, and the binding of claims to
// volumes, which this server does not do.
//
// Read: protection.go, claimprotection.go, volumeprotection.go, classprotection.go,
// defaultclass.go.
package volumes
