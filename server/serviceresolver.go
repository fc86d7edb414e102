package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// resolveService finds the address of a service as kube-apiserver does unless it is told otherwise: its cluster IP, which the
// machine has to route, or the name that it stands for.
func (s Stores) resolveService(ctx context.Context, to callout.Service) (string, error) {
	services, err := registry.ViewOf[*corev1.Service](s.Store(meta.GroupResource{Resource: "services"}))
	if err != nil {
		return "", err
	}
	svc, err := services.Get(ctx, to.Namespace, to.Name)
	if meta.IsNotFound(err) {
		return "", meta.NewNotFound(meta.GroupResource{Resource: "service"}, to.Name)
	}
	if err != nil {
		return "", err
	}
	port := to.Port
	if port == 0 {
		port = 443
	}
	host := svc.Spec.ClusterIP
	switch svc.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		if svc.Spec.Type == corev1.ServiceTypeClusterIP && host == "None" {
			return "", errors.New(`cannot route to service with ClusterIP "None"`)
		}
		if !hasPort(svc, port) {
			return "", meta.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, svc.Name))
		}
	case corev1.ServiceTypeExternalName:
		host = svc.Spec.ExternalName
	default:
		return "", fmt.Errorf("unsupported service type %q", svc.Spec.Type)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

func hasPort(svc *corev1.Service, port int) bool {
	for i := range svc.Spec.Ports {
		if int(svc.Spec.Ports[i].Port) == port {
			return true
		}
	}
	return false
}
