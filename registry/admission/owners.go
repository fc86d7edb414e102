package admission

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin OwnerReferencesPermissionEnforcement. The chain calls Validate for each
// create and update; only a write that changes the owners costs more than a comparison.

// ResourceOf returns the resource that has a kind, as discovery lists it at that moment, and
// whether the resource is namespaced. ok is false if no served resource has the kind.
type ResourceOf func(gvk meta.GroupVersionKind) (resource string, namespaced, ok bool)

// OwnerReferencesPermissionEnforcement is the plugin of that name. It guards the garbage collector,
// which deletes an object when its owners are gone, and lets an owner wait for the dependents that
// block it. To change the owners of an object, a user needs the right to delete the object. To
// block the deletion of an owner (blockOwnerDeletion), a user needs the right to update the
// finalizers of the owner.
type OwnerReferencesPermissionEnforcement struct {
	may      request.Authorizer
	resource ResourceOf
}

// NewOwnerReferencesPermissionEnforcement returns the plugin.
func NewOwnerReferencesPermissionEnforcement(
	may request.Authorizer, resource ResourceOf,
) OwnerReferencesPermissionEnforcement {
	return OwnerReferencesPermissionEnforcement{may, resource}
}

// Name is the plugin's name.
func (OwnerReferencesPermissionEnforcement) Name() string {
	return "OwnerReferencesPermissionEnforcement"
}

// Handles is true for creates and updates.
func (OwnerReferencesPermissionEnforcement) Handles(op Operation) bool {
	return op == Create || op == Update
}

// Validate refuses a change of the owners for which the user lacks a right. A new object may have
// any owners: when it is deleted with them, only its own creator loses something. An update of a
// pod's status cannot change the owners, so it is not checked.
func (p OwnerReferencesPermissionEnforcement) Validate(ctx context.Context, a *Attributes) error {
	now := a.Meta()
	if now == nil || a.Subresource == "status" && a.Resource.Group == "" && a.Resource.Resource == "pods" {
		return nil
	}
	var old []meta.OwnerReference
	if a.Old != nil {
		old = a.Old.GetObjectMeta().OwnerReferences
	}
	if sameOwners(now.OwnerReferences, old) {
		return nil
	}
	if a.Operation == Update {
		may := &request.Attributes{
			Verb: "delete", Namespace: a.Namespace, Group: a.Resource.Group, Version: a.Resource.Version,
			Resource: a.Resource.Resource, Subresource: a.Subresource, Name: a.Name,
		}
		if lack := p.lack(ctx, a, may); lack != "" {
			return a.Forbidden("cannot set an ownerRef on a resource you can't delete: %s", lack)
		}
	}
	return p.mayBlock(ctx, a, newBlocking(now.OwnerReferences, old))
}

// mayBlock checks the right to block each of the owners. If the user may update the finalizers of
// all resources, mayBlock does not check the single owners, whose kinds may then be unknown.
func (p OwnerReferencesPermissionEnforcement) mayBlock(
	ctx context.Context, a *Attributes, owners []*meta.OwnerReference,
) error {
	if len(owners) == 0 {
		return nil
	}
	all := &request.Attributes{
		Verb: "update", Group: "*", Version: "*", Resource: "*", Subresource: "finalizers", Name: "*",
	}
	if p.lack(ctx, a, all) == "" {
		return nil
	}
	for _, owner := range owners {
		may, err := p.finalizersOf(owner, a.Namespace)
		if err != nil {
			return a.Forbidden("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "+
				"APIVersion %s Kind %s: %w", owner.APIVersion, owner.Kind, err)
		}
		if lack := p.lack(ctx, a, may); lack != "" {
			return a.Forbidden("cannot set blockOwnerDeletion if an ownerReference refers to a resource "+
				"you can't set finalizers on: %s", lack)
		}
	}
	return nil
}

// finalizersOf returns the request to update the finalizers of an owner. The owner is in the
// namespace of its dependent, or in none.
func (p OwnerReferencesPermissionEnforcement) finalizersOf(
	owner *meta.OwnerReference, namespace string,
) (*request.Attributes, error) {
	gv, ok := meta.ParseGroupVersion(owner.APIVersion)
	if !ok {
		return nil, fmt.Errorf("unexpected GroupVersion string: %s", owner.APIVersion)
	}
	resource, namespaced, ok := p.resource(gv.WithKind(owner.Kind))
	if !ok {
		return nil, fmt.Errorf("no matches for kind %q in version %q", owner.Kind, gv)
	}
	if !namespaced {
		namespace = ""
	}
	return &request.Attributes{
		Verb: "update", Namespace: namespace, Group: gv.Group, Version: gv.Version,
		Resource: resource, Subresource: "finalizers", Name: owner.Name,
	}, nil
}

// lack returns "" if the user of a may do what r says, and otherwise the authorizer's reason and
// error, as messages show them. The server itself (nil) may do everything.
func (p OwnerReferencesPermissionEnforcement) lack(ctx context.Context, a *Attributes, r *request.Attributes) string {
	if a.User == nil {
		return ""
	}
	r.User, r.IsResource = a.User, true
	decision, reason, err := p.may.Authorize(ctx, r)
	if decision == request.Allow {
		return ""
	}
	return fmt.Sprintf("%v, %v", reason, err)
}

// sameOwners reports whether two lists are equal, order included.
func sameOwners(now, old []meta.OwnerReference) bool {
	if len(now) != len(old) {
		return false
	}
	for i := range now {
		if !scheme.Equal(&now[i], &old[i]) {
			return false
		}
	}
	return true
}

// newBlocking returns the owners in now that the object blocks, but did not block before. It
// identifies owners by their UIDs.
func newBlocking(now, old []meta.OwnerReference) (list []*meta.OwnerReference) {
	had := map[meta.UID]bool{}
	for i := range old {
		had[old[i].UID] = scheme.OrZero(old[i].BlockOwnerDeletion)
	}
	for i := range now {
		if scheme.OrZero(now[i].BlockOwnerDeletion) && !had[now[i].UID] {
			list = append(list, &now[i])
		}
	}
	return list
}
