package autoscaling

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file validates the metrics of autoscalers. checkMetrics in check.go calls
// metricCheck.checkSpec for each. A metric has a type, and one source in the field of that type.
// The other fields for sources must be unset.

// metricSource is one of the fields that hold the source of a metric.
type metricSource struct {
	name  string                         // of the field
	of    autoscalingv2.MetricSourceType // the type that wants the field
	set   bool
	check func(p *field.Path) field.ErrorList
}

// metricCheck checks metrics.
type metricCheck struct {
	anyVersion bool // the objects of Object metrics may have an invalid apiVersion
}

// checkSpec checks the metric at p. If several sources are set, it looks into the first only and
// reports those that do not belong to the type.
func (c metricCheck) checkSpec(p *field.Path, m *autoscalingv2.MetricSpec) field.ErrorList {
	sources := []metricSource{
		{"object", autoscalingv2.ObjectMetricSourceType, m.Object != nil,
			func(p *field.Path) field.ErrorList { return c.checkObject(p, m.Object) }},
		{"external", autoscalingv2.ExternalMetricSourceType, m.External != nil,
			func(p *field.Path) field.ErrorList { return checkExternal(p, m.External) }},
		{"pods", autoscalingv2.PodsMetricSourceType, m.Pods != nil,
			func(p *field.Path) field.ErrorList { return checkPods(p, m.Pods) }},
		{"resource", autoscalingv2.ResourceMetricSourceType, m.Resource != nil,
			func(p *field.Path) field.ErrorList { return checkResource(p, m.Resource) }},
		{"containerResource", autoscalingv2.ContainerResourceMetricSourceType, m.ContainerResource != nil,
			func(p *field.Path) field.ErrorList {
				return checkContainerResource(p, m.ContainerResource)
			}},
	}
	wrongType := check.Supported(p.Child("type"), m.Type,
		autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType,
		autoscalingv2.ResourceMetricSourceType)
	var errs field.ErrorList
	if m.Type == "" {
		errs = append(errs, field.Required(p.Child("type"), "must specify a metric source type"))
	}
	errs = append(errs, wrongType...)
	set := 0
	for _, s := range sources {
		if s.set {
			if set++; set == 1 {
				errs = append(errs, s.check(p.Child(s.name))...)
			}
		}
	}
	for _, s := range sources {
		if s.of == m.Type && !s.set {
			errs = append(errs, field.Required(p.Child(s.name),
				"must populate information for the given metric source"))
		}
	}
	errs = append(errs, wrongType...) // as kube-apiserver, twice
	for _, s := range sources {
		if set > 1 && s.set && s.of != m.Type {
			errs = append(errs, field.Forbidden(p.Child(s.name), "must populate the given metric source only"))
		}
	}
	return errs
}

// checkObject checks a metric that describes one object, such as the requests of an Ingress.
func (c metricCheck) checkObject(p *field.Path, s *autoscalingv2.ObjectMetricSource) field.ErrorList {
	at := p.Child("describedObject")
	errs := checkReference(at, &s.DescribedObject)
	if !c.anyVersion {
		errs = append(errs, checkAPIVersion(at, &s.DescribedObject, true)...)
	}
	errs = append(errs, checkMetric(p, &s.Metric, &s.Target)...)
	if s.Target.Value == nil && s.Target.AverageValue == nil {
		errs = append(errs, field.Required(p.Child("target", "averageValue"),
			"must set either a target value or averageValue"))
	}
	return errs
}

// checkExternal checks a metric from outside of the cluster.
func checkExternal(p *field.Path, s *autoscalingv2.ExternalMetricSource) field.ErrorList {
	errs := checkMetric(p, &s.Metric, &s.Target)
	switch value, average := s.Target.Value != nil, s.Target.AverageValue != nil; {
	case !value && !average:
		errs = append(errs, field.Required(p.Child("target", "averageValue"),
			"must set either a target value for metric or a per-pod target"))
	case value && average:
		errs = append(errs, field.Forbidden(p.Child("target", "value"),
			"may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

// checkPods checks a metric of each pod, which is averaged.
func checkPods(p *field.Path, s *autoscalingv2.PodsMetricSource) field.ErrorList {
	errs := checkMetric(p, &s.Metric, &s.Target)
	if s.Target.AverageValue == nil {
		errs = append(errs, field.Required(p.Child("target", "averageValue"),
			"must specify a positive target averageValue"))
	}
	return errs
}

// checkResource checks a metric of CPU or memory over all containers of the pods.
func checkResource(p *field.Path, s *autoscalingv2.ResourceMetricSource) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), "must specify a resource name"))
	}
	return append(errs, checkUtilization(p.Child("target"), &s.Target)...)
}

// checkResourceName checks the name of a container's resource. A malformed name is reported by
// check.QualifiedName, any other by podspec.ResourceName; podspec.ContainerResource checks both
// sorts, as in Kubernetes.
func checkResourceName(p *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := check.QualifiedName(p, string(name))
	if len(errs) == 0 {
		errs = podspec.ResourceName(p, name)
	}
	return append(errs, podspec.ContainerResource(p, name)...)
}

// checkContainerResource checks a metric of CPU or memory of one container of each pod (KEP-1610).
func checkContainerResource(p *field.Path, s *autoscalingv2.ContainerResourceMetricSource) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), "must specify a resource name"))
	} else {
		errs = append(errs, checkResourceName(p.Child("name"), s.Name)...)
	}
	if s.Container == "" {
		errs = append(errs, field.Required(p.Child("container"), "must specify a container"))
	} else {
		errs = append(errs, check.DNSLabel(p.Child("container"), s.Container)...)
	}
	return append(errs, checkUtilization(p.Child("target"), &s.Target)...)
}

// checkUtilization checks the target of a resource: either an average amount or a percentage of the
// request.
func checkUtilization(p *field.Path, t *autoscalingv2.MetricTarget) field.ErrorList {
	errs := checkMetricTarget(p, t)
	switch amount, percentage := t.AverageValue != nil, t.AverageUtilization != nil; {
	case !amount && !percentage:
		errs = append(errs, field.Required(p.Child("averageUtilization"),
			"must set either a target raw value or a target utilization"))
	case amount && percentage:
		errs = append(errs, field.Forbidden(p.Child("averageValue"),
			"may not set both a target raw value and a target utilization"))
	}
	return errs
}

// checkMetric checks the name of a metric and its target; p is the path of the source.
func checkMetric(p *field.Path, id *autoscalingv2.MetricIdentifier, t *autoscalingv2.MetricTarget) field.ErrorList {
	var errs field.ErrorList
	if name := p.Child("metric", "name"); id.Name == "" {
		errs = append(errs, field.Required(name, "must specify a metric name"))
	} else {
		errs = append(errs, check.PathSegment(name, id.Name)...)
	}
	return append(errs, checkMetricTarget(p.Child("target"), t)...)
}

// checkMetricTarget checks the type of a target and that its numbers are positive. Which of the
// numbers is required depends on the source; its type is not compared with them.
func checkMetricTarget(p *field.Path, t *autoscalingv2.MetricTarget) field.ErrorList {
	var errs field.ErrorList
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	case "":
		errs = append(errs, field.Required(p.Child("type"), "must specify a metric target type"))
		fallthrough
	default:
		errs = append(errs, field.Invalid(p.Child("type"), t.Type,
			"must be either Utilization, Value, or AverageValue"))
	}
	if t.Value != nil && t.Value.Sign() <= 0 {
		errs = append(errs, field.Invalid(p.Child("value"), *t.Value, "must be positive"))
	}
	if t.AverageValue != nil && t.AverageValue.Sign() <= 0 {
		errs = append(errs, field.Invalid(p.Child("averageValue"), *t.AverageValue, "must be positive"))
	}
	if n := t.AverageUtilization; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(p.Child("averageUtilization"), *n, "must be greater than 0"))
	}
	return errs
}
