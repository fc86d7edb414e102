package apiservices

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file checks one APIService: its service exists, the service listens on the port, the service
// has ready endpoints for the port, and the server behind answers. The first check that fails gives
// the condition. APIServiceAvailability.reconcile calls look; source calls behind. Reasons and
// messages are Kubernetes'.

// availability returns the condition Available with a status, a reason and a message.
func availability(
	status apiregistrationv1.ConditionStatus, reason, format string, args ...any,
) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}

// look finds out whether the server behind an APIService can be reached. unanswered says that no
// watch will show when the result changes, because the server behind did not answer, or because
// this server could not read the service or its slices. The loop checks such an APIService again
// soon.
func (c *APIServiceAvailability) look(
	ctx context.Context, s *apiregistrationv1.APIService,
) (found apiregistrationv1.APIServiceCondition, unanswered bool) {
	to := s.Spec.Service
	service, err := c.service(ctx, to)
	if meta.IsNotFound(err) {
		return availability(apiregistrationv1.ConditionFalse, "ServiceNotFound",
			"service/%s in %q is not present", to.Name, to.Namespace), false
	}
	if err != nil {
		return availability(apiregistrationv1.ConditionUnknown, "ServiceAccessError",
			"service/%s in %q cannot be checked due to: %v", to.Name, to.Namespace, err), true
	}
	if service.Spec.Type == corev1.ServiceTypeClusterIP { // Kubernetes checks no other type
		if found, ok := c.lookBehind(ctx, to, service); !ok {
			return found, found.Status == apiregistrationv1.ConditionUnknown
		}
	}
	if err := c.ask(ctx, s); err != nil {
		return availability(apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck", "%v", err), true
	}
	return availability(apiregistrationv1.ConditionTrue, "Passed", "all checks passed"), false
}

// lookBehind checks the port and the endpoint slices of a service of type ClusterIP. If ok is
// false, found says what is wrong.
func (c *APIServiceAvailability) lookBehind(
	ctx context.Context, to *apiregistrationv1.ServiceReference, service *corev1.Service,
) (found apiregistrationv1.APIServiceCondition, ok bool) {
	port := scheme.OrZero(to.Port)
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if at < 0 {
		return availability(apiregistrationv1.ConditionFalse, "ServicePortError",
			"service/%s in %q is not listening on port %d", to.Name, to.Namespace, port), false
	}
	list, err := slicesBehind[*discoveryv1.EndpointSlice](c.Client, to).
		List(ctx, meta.ListOptions{LabelSelector: behindSelector(to)})
	switch name := service.Spec.Ports[at].Name; {
	case err != nil:
		return availability(apiregistrationv1.ConditionUnknown, "EndpointsAccessError",
			"service/%s in %q cannot be checked due to: %v", to.Name, to.Namespace, err), false
	case len(list.Items) == 0:
		return availability(apiregistrationv1.ConditionFalse, "EndpointsNotFound",
			"cannot find endpointslices for service/%s in %q", to.Name, to.Namespace), false
	case !slices.ContainsFunc(list.Items, func(s *discoveryv1.EndpointSlice) bool { return serves(s, name) }):
		return availability(apiregistrationv1.ConditionFalse, "MissingEndpoints",
			"endpointslices for service/%s in %q have no addresses with port name %q",
			to.Name, to.Namespace, name), false
	}
	return found, true
}

// serves reports whether a slice has a ready endpoint and a port with this name. An endpoint
// without the condition counts as ready, as the API says.
func serves(s *discoveryv1.EndpointSlice, port string) bool {
	ready := func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
	named := func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == port && p.Port != nil }
	return slices.ContainsFunc(s.Endpoints, ready) && slices.ContainsFunc(s.Ports, named)
}

// service reads the service that an APIService leads to.
func (c *APIServiceAvailability) service(
	ctx context.Context, to *apiregistrationv1.ServiceReference,
) (*corev1.Service, error) {
	if !nameable(to) {
		return nil, meta.NewNotFound(corev1.GroupVersion.WithResource("services").GroupResource(), to.Name)
	}
	return servicesBehind[*corev1.Service](c.Client, to).Get(ctx, to.Name, meta.GetOptions{})
}

// behind is the Source of changes of the service that an APIService leads to, and of the endpoint
// slices of that service. It adds the names of the service and the slices, and not that of the
// APIService.
func behind(c *client.Client, to *apiregistrationv1.ServiceReference) controller.Source {
	if !nameable(to) {
		return func(ctx context.Context, _ func(controller.Name), _ func(error)) { <-ctx.Done() }
	}
	return controller.Join(
		controller.Watch(servicesBehind[*meta.PartialObjectMetadata](c, to),
			meta.ListOptions{FieldSelector: "metadata.name=" + to.Name}),
		controller.Watch(slicesBehind[*meta.PartialObjectMetadata](c, to),
			meta.ListOptions{LabelSelector: behindSelector(to)}),
	)
}

// nameable reports whether a service can have this namespace and name. Validation of APIServices
// only demands that they are not empty, and another text, such as one with a slash, would change
// the meaning of the path of a request.
func nameable(to *apiregistrationv1.ServiceReference) bool {
	return len(names.IsDNS1123Label(to.Namespace))+len(names.IsDNS1123Label(to.Name)) == 0
}

func servicesBehind[T meta.Object](c *client.Client, to *apiregistrationv1.ServiceReference) client.Resource[T] {
	return client.For[T](c, corev1.GroupVersion.WithResource("services")).In(to.Namespace)
}

func slicesBehind[T meta.Object](c *client.Client, to *apiregistrationv1.ServiceReference) client.Resource[T] {
	return client.For[T](c, discoveryv1.GroupVersion.WithResource("endpointslices")).In(to.Namespace)
}

func behindSelector(to *apiregistrationv1.ServiceReference) string {
	return discoveryv1.LabelServiceName + "=" + to.Name
}

// Each attempt of ask may reach another endpoint of the service, and the endpoint of a dead machine
// counts as ready for a while. So one success out of checkAttempts is enough, as in Kubernetes. In
// Kubernetes all attempts begin at once. Here the others begin when the first has failed, or after
// checkPatience.
const (
	checkAttempts = 5
	checkPatience = time.Second
	checkTimeout  = 6 * time.Second // of one attempt; Check itself gives up earlier
)

// ask calls Check until one attempt succeeds, at most checkAttempts times. If all fail, it returns
// the error of the attempt that ended last. It cancels the attempts that still run, and returns
// only when all have ended.
func (c *APIServiceAvailability) ask(ctx context.Context, s *apiregistrationv1.APIService) error {
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan error, checkAttempts)
	begun, ended := 0, 0
	defer func() {
		cancel()
		for ; ended < begun; ended++ {
			<-answers
		}
	}()
	begin := func(upTo int) {
		for ; begun < upTo; begun++ {
			go func() {
				ctx, cancel := context.WithTimeout(ctx, checkTimeout)
				defer cancel()
				answers <- c.Check(ctx, s)
			}()
		}
	}
	begin(1)
	patience := time.NewTimer(checkPatience)
	defer patience.Stop()
	var err error
	for ended < begun {
		select {
		case err = <-answers:
			if ended++; err == nil {
				return nil
			}
		case <-patience.C:
		}
		begin(checkAttempts)
	}
	return err
}
