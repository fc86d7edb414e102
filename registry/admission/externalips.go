package admission

import (
	"context"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// DenyServiceExternalIPs is the plugin of that name. It refuses external IPs of services, by which
// a user could take over traffic for any address. A service that has external IPs already may keep
// them.
type DenyServiceExternalIPs struct{}

// Name is the plugin's name.
func (DenyServiceExternalIPs) Name() string { return "DenyServiceExternalIPs" }

// Handles is true for creates and updates.
func (DenyServiceExternalIPs) Handles(op Operation) bool { return op == Create || op == Update }

// Validate refuses a service with an external IP that it did not have before.
func (DenyServiceExternalIPs) Validate(_ context.Context, a *Attributes) error {
	svc, ok := a.Object.(*corev1.Service)
	if !ok || a.Subresource != "" {
		return nil
	}
	var had []string
	if old, ok := a.Old.(*corev1.Service); ok {
		had = old.Spec.ExternalIPs
	}
	for _, ip := range svc.Spec.ExternalIPs {
		if !slices.Contains(had, ip) {
			return a.Forbidden("Use of external IPs is denied by admission control")
		}
	}
	return nil
}
