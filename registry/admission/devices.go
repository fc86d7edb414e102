package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DeviceAdminAccess allows claims with adminAccess, which may use devices that other claims use,
// only in namespaces with the label resource.kubernetes.io/admin-access: "true" (KEP-5018). It
// checks new claims and templates, and allocations. kube-apiserver has the rule in the strategy of
// claims; strategies do no I/O here, so it is a plugin.
type DeviceAdminAccess struct {
	namespaces *Namespaces
}

const adminAccessLabel = "resource.kubernetes.io/admin-access"

// NewDeviceAdminAccess returns the plugin. It reads the labels of namespaces through n.
func NewDeviceAdminAccess(n *Namespaces) DeviceAdminAccess { return DeviceAdminAccess{n} }

// Name is the plugin's name.
func (DeviceAdminAccess) Name() string { return "DeviceAdminAccess" }

// Handles is true for creates and updates.
func (DeviceAdminAccess) Handles(op Operation) bool { return op == Create || op == Update }

// Validate refuses adminAccess in a namespace without the label. As in kube-apiserver, the answer
// is a 422.
func (d DeviceAdminAccess) Validate(ctx context.Context, a *Attributes) error {
	at := adminAccess(a)
	if at == nil {
		return nil
	}
	namespace, err := d.namespaces.Of(ctx, a, request.Consistent)
	if err != nil {
		return err
	}
	if label, _ := namespace.Labels.Get(adminAccessLabel); label == "true" {
		return nil
	}
	return meta.NewInvalid(a.Kind.GroupKind(), a.Name, field.ErrorList{field.Forbidden(at,
		"admin access to devices requires the `"+adminAccessLabel+": true` label on the containing namespace")})
}

// adminAccess returns the path of a new adminAccess that needs the label, nil if there is none. The
// spec of an existing claim is not checked, because it cannot change.
func adminAccess(a *Attributes) *field.Path {
	switch obj := a.Object.(type) {
	case *resourcev1.ResourceClaim:
		if a.Operation == Create {
			return adminRequest(obj.Spec.Devices.Requests)
		}
		if old, ok := a.Old.(*resourcev1.ResourceClaim); ok && adminResult(old) == nil {
			return adminResult(obj)
		}
	case *resourcev1.ResourceClaimTemplate:
		if a.Operation == Create {
			return adminRequest(obj.Spec.Spec.Devices.Requests)
		}
	}
	return nil
}

// adminRequest returns the path of the first device request with adminAccess, as in a claim; nil if
// there is none.
func adminRequest(list []resourcev1.DeviceRequest) *field.Path {
	for i := range list {
		if r := list[i].Exactly; r != nil && scheme.OrZero(r.AdminAccess) {
			return field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// adminResult returns the path of the first device that was allocated with adminAccess; nil if
// there is none.
func adminResult(c *resourcev1.ResourceClaim) *field.Path {
	if c.Status.Allocation == nil {
		return nil
	}
	list := c.Status.Allocation.Devices.Results
	for i := range list {
		if scheme.OrZero(list[i].AdminAccess) {
			return field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess")
		}
	}
	return nil
}
