package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DeviceAdminAccess lets nobody have access to devices as an administrator, whoever else uses them,
// but in namespaces with a label for it. It is asked when that is asked for, and when it is given.
type DeviceAdminAccess struct {
	namespaces *Namespaces
}

const adminAccessLabel = "resource.kubernetes.io/admin-access"

// NewDeviceAdminAccess returns the plugin. It looks into the labels of namespaces.
func NewDeviceAdminAccess(n *Namespaces) DeviceAdminAccess { return DeviceAdminAccess{n} }

// Name is the plugin's name.
func (DeviceAdminAccess) Name() string { return "DeviceAdminAccess" }

// Handles is true for creates and updates.
func (DeviceAdminAccess) Handles(op Operation) bool { return op == Create || op == Update }

// Validate looks at the namespace of who wants such access. The answer is that to an object that is
// not valid, as kube-apiserver's is.
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

// adminAccess is the path of what is new and needs the label: nothing in the spec of an old claim,
// which cannot change.
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

// adminRequest is the path of the first request for such access, as it is in a claim.
func adminRequest(list []resourcev1.DeviceRequest) *field.Path {
	for i := range list {
		if r := list[i].Exactly; r != nil && scheme.OrZero(r.AdminAccess) {
			return field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// adminResult is the path of the first device that was allocated with such access.
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
