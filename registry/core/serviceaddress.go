package core

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// reserveAddresses allocates the cluster IPs of services.
func reserveAddresses(*Config) reservation {
	return func(_ context.Context, _ *registry.Request, svc, _ *corev1.Service) (settle, error) {
		if svc != nil {
			completeFamilies(svc)
		}
		return nil, nil
	}
}
