package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file has the plugin ResourceClaimStatus. The chain calls Validate, which acts on updates of
// the status of a ResourceClaim. Authorization alone cannot tell who changes which field.

// ClaimStatus demands further rights of users that write the status of a ResourceClaim, depending
// on the fields that they change. A change of status.allocation or status.reservedFor needs the
// request's verb on resourceclaims/binding, cluster-wide. A change of status.devices needs a verb
// on resourceclaims/driver with the driver's name: arbitrary-node:update or, for a user on the node
// of the devices, associated-node:update; for a patch, the verbs end in patch. No server serves
// these subresources: they occur only in roles.
type ClaimStatus struct {
	may request.Authorizer
}

// NewClaimStatus returns the plugin.
func NewClaimStatus(may request.Authorizer) ClaimStatus { return ClaimStatus{may} }

// Name is the plugin's name.
func (ClaimStatus) Name() string { return "ResourceClaimStatus" }

// Handles is true for updates.
func (ClaimStatus) Handles(op Operation) bool { return op == Update }

// Validate refuses a change whose right the user lacks. As in kube-apiserver, where the check is
// part of validation, the answer is a 422.
func (c ClaimStatus) Validate(ctx context.Context, a *Attributes) error {
	claim, ok := a.Object.(*resourcev1.ResourceClaim)
	if !ok || a.Subresource != "status" || a.User == nil {
		return nil
	}
	old, ok := a.Old.(*resourcev1.ResourceClaim)
	if !ok {
		return nil
	}
	w := claimWrite{c.may, request.Attributes{
		User: a.User, Verb: "update", IsResource: true, Group: a.Resource.Group, Version: a.Resource.Version,
		Resource: a.Resource.Resource, Namespace: a.Namespace, Name: a.Name,
	}}
	if info := request.From(ctx); info != nil && info.Attributes.Verb == "patch" { // plugins see a patch as an update
		w.asked.Verb = "patch"
	}
	errs := w.binding(ctx, &claim.Status, &old.Status)
	if claim.Status.Allocation != nil {
		errs = append(errs, w.devices(ctx, &claim.Status, &old.Status)...)
	}
	if len(errs) > 0 {
		return meta.NewInvalid(a.Kind.GroupKind(), a.Name, errs)
	}
	return nil
}

// claimWrite is a write of the status of a claim.
type claimWrite struct {
	may   request.Authorizer
	asked request.Attributes // of the request
}

// binding checks changes of allocation and reservedFor, which the scheduler writes.
func (w *claimWrite) binding(ctx context.Context, s, old *resourcev1.ResourceClaimStatus) field.ErrorList {
	if scheme.Equal(&s.Allocation, &old.Allocation) && scheme.Equal(&s.ReservedFor, &old.ReservedFor) {
		return nil
	}
	err := w.authorize(ctx, w.asked.Verb, "binding", "", "")
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("status", "allocation"), fmt.Sprintf(
		`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`, w.asked.Verb, err))}
}

// devices checks changes of the device statuses, which drivers write.
func (w *claimWrite) devices(ctx context.Context, s, old *resourcev1.ResourceClaimStatus) field.ErrorList {
	drivers := changedDrivers(s.Devices, old.Devices)
	if len(drivers) == 0 {
		return nil
	}
	verbs := []string{"arbitrary-node:" + w.asked.Verb}
	if w.fromNode(allocatedNode(s.Allocation)) {
		verbs = slices.Insert(verbs, 0, "associated-node:"+w.asked.Verb)
	}
	var errs field.ErrorList
	for _, driver := range drivers {
		if err := w.driver(ctx, verbs, driver); err != nil {
			errs = append(errs, field.Forbidden(field.NewPath("status", "devices"), fmt.Sprintf(
				`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, err)))
		}
	}
	return errs
}

// driver returns nil if the user has one of verbs for a driver, else the reason why the user lacks
// the first of them.
func (w *claimWrite) driver(ctx context.Context, verbs []string, driver string) error {
	var first error
	for _, verb := range verbs {
		err := w.authorize(ctx, verb, "driver", w.asked.Namespace, driver)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// authorize returns nil if the user has a right, else an error with the text of a 403.
func (w *claimWrite) authorize(ctx context.Context, verb, subresource, namespace, name string) error {
	asked := w.asked
	asked.Verb, asked.Subresource, asked.Namespace, asked.Name = verb, subresource, namespace, name
	decision, reason, err := w.may.Authorize(ctx, &asked)
	switch {
	case decision == request.Allow:
		return nil
	case err != nil && reason != "":
		reason = fmt.Sprintf("%v: %s", err, reason)
	case err != nil:
		reason = err.Error()
	}
	return errors.New(request.Forbidden(&asked, reason).Error())
}

// changedDrivers returns the drivers of the devices whose status was added, changed or removed,
// sorted.
func changedDrivers(now, old []resourcev1.AllocatedDeviceStatus) []string {
	type device struct{ driver, pool, name, share string }
	key := func(d *resourcev1.AllocatedDeviceStatus) device {
		return device{d.Driver, d.Pool, d.Device, scheme.OrZero(d.ShareID)}
	}
	before := make(map[device]*resourcev1.AllocatedDeviceStatus, len(old))
	for i := range old {
		before[key(&old[i])] = &old[i]
	}
	var drivers []string
	for i := range now {
		d := &now[i]
		was, known := before[key(d)]
		delete(before, key(d))
		if !known || !scheme.Equal(d, was) {
			drivers = append(drivers, d.Driver)
		}
	}
	for gone := range before {
		drivers = append(drivers, gone.driver)
	}
	slices.Sort(drivers)
	return slices.Compact(drivers)
}

// allocatedNode returns the node of a claim's devices if the allocation is tied to exactly one node
// by name, else "".
func allocatedNode(a *resourcev1.AllocationResult) string {
	if a == nil || a.NodeSelector == nil || len(a.NodeSelector.NodeSelectorTerms) != 1 {
		return ""
	}
	term := &a.NodeSelector.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return ""
	}
	f := &term.MatchFields[0]
	if f.Key != "metadata.name" || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

// fromNode reports whether the user is a service account whose token is bound to a pod on node.
func (w *claimWrite) fromNode(node string) bool {
	_, _, isAccount := request.ServiceAccountOf(w.asked.User.Name)
	on := w.asked.User.Extra[request.ExtraNodeName]
	return isAccount && len(on) == 1 && on[0] == node && len(names.DNSSubdomainName(node, false)) == 0
}
