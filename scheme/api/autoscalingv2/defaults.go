package autoscalingv2

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DefaultCPUUtilization is the target of an autoscaler without metrics: the CPU that its pods
// should use, in percent of their requests.
const DefaultCPUUtilization = 80

// CPUUtilization is the measurement of the CPU that pods use, and what it should be in percent of
// their requests.
func CPUUtilization(percent int32) MetricSpec {
	return MetricSpec{Type: ResourceMetricSourceType, Resource: &ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: MetricTarget{Type: UtilizationMetricType, AverageUtilization: &percent},
	}}
}

// conversionAnnotations hold what autoscaling/v1 has no fields for. Here they mean nothing.
var conversionAnnotations = []string{
	"autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/behavior",
	"autoscaling.alpha.kubernetes.io/current-metrics", "autoscaling.alpha.kubernetes.io/conditions",
	"autoscaling.alpha.kubernetes.io/scale-down-tolerance", "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
}

// DropConversionAnnotations takes out the annotations that only conversions set.
func DropConversionAnnotations(m *meta.ObjectMeta) {
	for _, key := range conversionAnnotations {
		delete(m.Annotations, key)
	}
}

func defaultAutoscaler(a *HorizontalPodAutoscaler) {
	DropConversionAnnotations(&a.ObjectMeta)
	scheme.SetPointer(&a.Spec.MinReplicas, 1)
	if len(a.Spec.Metrics) == 0 {
		a.Spec.Metrics = []MetricSpec{CPUUtilization(DefaultCPUUtilization)}
	}
}

// defaultPeriod is the time that policies limit changes in, in seconds.
const defaultPeriod = 15

// CompleteBehavior sets what the rules of a behavior leave out, except the stabilization window for
// scaling down: the controller has a default for that.
func CompleteBehavior(b *HorizontalPodAutoscalerBehavior) {
	defaultRules(&b.ScaleUp,
		HPAScalingPolicy{PodsScalingPolicy, 4, defaultPeriod},
		HPAScalingPolicy{PercentScalingPolicy, 100, defaultPeriod},
	)
	scheme.SetPointer(&b.ScaleUp.StabilizationWindowSeconds, 0)
	defaultRules(&b.ScaleDown, HPAScalingPolicy{PercentScalingPolicy, 100, defaultPeriod})
}

// defaultRules sets what rules leave out. A list of policies that is empty on purpose stays.
func defaultRules(rules **HPAScalingRules, policies ...HPAScalingPolicy) {
	scheme.SetPointer(rules, HPAScalingRules{})
	r := *rules
	scheme.SetPointer(&r.SelectPolicy, MaxChangePolicySelect)
	if r.Policies == nil {
		r.Policies = policies
	}
}
