package addresses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NewResolver returns a function that finds the addresses of Services, for requests to webhooks and
// to servers behind this one: the address of an endpoint, or the cluster IP. The function reads the
// caches of the stores at each call, and may be called by many at once.
func NewResolver(s registry.Stores, byEndpoints bool) callout.Resolver {
	if byEndpoints {
		return (&endpointResolver{Stores: s, kept: map[callout.Service]*serviceEndpoints{}}).resolve
	}
	return func(ctx context.Context, to callout.Service) (string, error) { return resolveService(ctx, s, to) }
}

// resolveService returns the address of a Service as kube-apiserver does by default: the cluster
// IP, for which this machine must have a route, or the external name of a Service of type
// ExternalName.
func resolveService(ctx context.Context, s registry.Stores, to callout.Service) (string, error) {
	svc, port, err := serviceOf(ctx, s, to)
	if err != nil {
		return "", err
	}
	host := svc.Spec.ClusterIP
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		if svc.Spec.Type == corev1.ServiceTypeClusterIP && host == "None" {
			return "", errors.New(`cannot route to service with ClusterIP "None"`)
		}
		if _, err := findPort(svc, port); err != nil {
			return "", err
		}
	case corev1.ServiceTypeExternalName:
		host = svc.Spec.ExternalName
	default:
		return "", fmt.Errorf("unsupported service type %q", svc.Spec.Type)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// serviceOf reads the Service that to names, and returns it with the port number, 443 if to has
// none.
func serviceOf(ctx context.Context, s registry.Stores, to callout.Service) (*corev1.Service, int, error) {
	all, err := registry.ViewOf[*corev1.Service](s.Store(services))
	if err != nil {
		return nil, 0, err
	}
	svc, err := all.Read(ctx, to.Namespace, to.Name, request.ReadYourWrites)
	if meta.IsNotFound(err) {
		return nil, 0, meta.NewNotFound(meta.GroupResource{Resource: "service"}, to.Name)
	}
	return svc, cmp.Or(to.Port, 443), err
}

// findPort returns the port of a Service that has the given number.
func findPort(svc *corev1.Service, port int) (*corev1.ServicePort, error) {
	for i := range svc.Spec.Ports {
		if int(svc.Spec.Ports[i].Port) == port {
			return &svc.Spec.Ports[i], nil
		}
	}
	return nil, meta.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, svc.Name))
}
