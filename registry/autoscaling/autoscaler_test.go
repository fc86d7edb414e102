package autoscaling

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv2"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

func resource() registry.Resource { return Resources()[0] }

func create(obj *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	return resource().Strategy.Validate(obj, nil)
}

func decode(t *testing.T, text string) *autoscalingv2.HorizontalPodAutoscaler {
	t.Helper()
	return checktest.Decode[autoscalingv2.HorizontalPodAutoscaler](t, text)
}

// with returns a valid autoscaler; more is added to its spec.
func with(t *testing.T, more string) *autoscalingv2.HorizontalPodAutoscaler {
	t.Helper()
	return decode(t, `{"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"maxReplicas":5`+more+`}}`)
}

func TestSpec(t *testing.T) {
	for in, want := range map[string]string{
		`{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"maxReplicas":5}`: ``,
		`{}`: `spec.maxReplicas: Required value: must be set and greater than 0
spec.maxReplicas: Invalid value: 0: must be greater than or equal to ` + "`minReplicas`" + `
spec.scaleTargetRef.kind: Required value
spec.scaleTargetRef.name: Required value
spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group`,
		`{"scaleTargetRef":{"kind":"a/b","name":"..","apiVersion":"a/b/c"},"minReplicas":0,"maxReplicas":-1}`: `spec.minReplicas: Invalid value: 0: must be greater than or equal to 1
spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1
spec.maxReplicas: Invalid value: -1: must be greater than or equal to ` + "`minReplicas`" + `
spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain '/'
spec.scaleTargetRef.name: Invalid value: "..": may not be '..'
spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c
spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas`,
		`{"scaleTargetRef":{"kind":"ReplicationController","name":"r","apiVersion":"v1"},"maxReplicas":1}`:           ``,
		`{"scaleTargetRef":{"kind":"ReplicationController","name":"r","apiVersion":"a/b/c"},"maxReplicas":1}`:        `spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`,
		`{"scaleTargetRef":{"kind":"Deployment","name":"r","apiVersion":"v1"},"maxReplicas":1}`:                      `spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`,
		`{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"minReplicas":3,"maxReplicas":3}`: ``,
	} {
		t.Run(in, func(t *testing.T) { checktest.Want(t, create(decode(t, `{"spec":`+in+`}`)), want) })
	}
}

func TestMetrics(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1"}}}`:                                                       ``,
		`{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},"metric":{"name":"m"},"target":{"type":"Value","value":"1"}}}`: ``,
		`{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}`:                                                 ``,
		`{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}`:                                                         ``,
		`{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","target":{"type":"Utilization","averageUtilization":1}}}`:                     ``,
		`{}`: `$.type: Required value: must specify a metric source type
$.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"
$.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
		`{"type":"Odd"}`: `$.type: Unsupported value: "Odd": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"
$.type: Unsupported value: "Odd": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"`,
		`{"type":"Resource"}`: `$.resource: Required value: must populate information for the given metric source`,
		// If a metric has two sources, only the first one is checked, and sources that do not
		// belong to the type are errors.
		`{"type":"Resource","pods":{},"resource":{}}`: `$.pods.metric.name: Required value: must specify a metric name
$.pods.target.type: Required value: must specify a metric target type
$.pods.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue
$.pods.target.averageValue: Required value: must specify a positive target averageValue
$.pods: Forbidden: must populate the given metric source only`,
		`{"type":"Pods","resource":{"target":{"type":"Value"}}}`: `$.resource.name: Required value: must specify a resource name
$.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization
$.pods: Required value: must populate information for the given metric source`,
		`{"type":"Object","object":{"describedObject":{"apiVersion":"a/b/c"},"metric":{"name":"a/b"},"target":{"type":"Odd","averageUtilization":0}}}`: `$.object.describedObject.kind: Required value
$.object.describedObject.name: Required value
$.object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c
$.object.metric.name: Invalid value: "a/b": may not contain '/'
$.object.target.type: Invalid value: "Odd": must be either Utilization, Value, or AverageValue
$.object.target.averageUtilization: Invalid value: 0: must be greater than 0
$.object.target.averageValue: Required value: must set either a target value or averageValue`,
		`{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"Value"}}}`: `$.external.target.averageValue: Required value: must set either a target value for metric or a per-pod target`,
		`{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"Value","value":"0","averageValue":"-1"}}}`: `$.external.target.value: Invalid value: "0": must be positive
$.external.target.averageValue: Invalid value: "-1": must be positive
$.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target`,
		`{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"0"}}}`: `$.pods.target.averageValue: Invalid value: "0": must be positive`,
		`{"type":"ContainerResource","containerResource":{"target":{"type":"Utilization","averageUtilization":1,"averageValue":"1"}}}`: `$.containerResource.name: Required value: must specify a resource name
$.containerResource.container: Required value: must specify a container
$.containerResource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization`,
		`{"type":"ContainerResource","containerResource":{"name":"\u0000","container":"c","target":{"type":"Utilization","averageUtilization":1}}}`: `$.containerResource.name: Invalid value: "\x00": ` + checktest.Qualified + `
$.containerResource.name: Invalid value: "\u0000": must be a standard resource for containers`,
		`{"type":"ContainerResource","containerResource":{"name":"pods","container":"C","target":{"type":"Utilization","averageUtilization":1}}}`: `$.containerResource.name: Invalid value: "pods": must be a standard resource for containers
$.containerResource.container: Invalid value: "C": ` + checktest.Label,
	} {
		t.Run(in, func(t *testing.T) {
			checktest.Want(t, create(with(t, `,"metrics":[`+in+`]`)), strings.ReplaceAll(want, "$", "spec.metrics[0]"))
		})
	}
}

func TestBehavior(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: ``,
		`{"scaleUp":{"stabilizationWindowSeconds":3600,"policies":[{"type":"Pods","value":1,"periodSeconds":1800}],"tolerance":"0"}}`: ``,
		`{"scaleUp":{"stabilizationWindowSeconds":-1,"selectPolicy":"Odd","policies":[],"tolerance":"-1"},"scaleDown":{"stabilizationWindowSeconds":3601,
			"policies":[{"type":"Odd","value":0,"periodSeconds":0},{"type":"Percent","value":1,"periodSeconds":1801}]}}`: `$.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero
$.scaleUp.selectPolicy: Unsupported value: "Odd": supported values: "Disabled", "Max", "Min"
$.scaleUp.policies: Required value: must specify at least one Policy
$.scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0
$.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600
$.scaleDown.policies[0].type: Unsupported value: "Odd": supported values: "Percent", "Pods"
$.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero
$.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero
$.scaleDown.policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800`,
	} {
		t.Run(in, func(t *testing.T) {
			checktest.Want(t, create(with(t, `,"behavior":`+in)), strings.ReplaceAll(want, "$", "spec.behavior"))
		})
	}
	half := &autoscalingv2.HorizontalPodAutoscaler{}
	resource().Strategy.Canonicalize(half)
	half.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
	if resource().Strategy.Canonicalize(half); half.Spec.Behavior.ScaleUp == nil || half.Spec.Behavior.ScaleDown == nil {
		t.Errorf("behavior: got %+v, want it completed", half.Spec.Behavior)
	}
}

// TestUpdate: an invalid value that does not change may stay.
func TestUpdate(t *testing.T) {
	update := func(obj, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
		return resource().Strategy.Validate(obj, old)
	}
	wrong := decode(t, `{"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"v1"},"minReplicas":0,"maxReplicas":5,
		"metrics":[{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s","apiVersion":"a/b/c"},"metric":{"name":"m"},"target":{"type":"Value","value":"1"}}}]}}`)
	checktest.Want(t, update(wrong, wrong), "")
	const (
		zero    = "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"
		target  = `spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`
		version = `spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`
	)
	checktest.Want(t, update(wrong, with(t, "")), zero+"\n"+target+"\n"+version)
	old := decode(t, `{"spec":{"scaleTargetRef":{"kind":"StatefulSet","name":"d","apiVersion":"v1"},"minReplicas":1,"maxReplicas":5,
		"metrics":[{"type":"Object"},{"type":"Object","object":{"describedObject":{"apiVersion":"v1"}}}]}}`)
	checktest.Want(t, update(wrong, old), zero+"\n"+target+"\n"+version)
	old.Spec.MinReplicas = nil
	old.Spec.ScaleTargetRef = wrong.Spec.ScaleTargetRef
	checktest.Want(t, update(wrong, old), zero+"\n"+version)
}

func TestStatus(t *testing.T) {
	a := decode(t, `{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/conditions":"[]"}},"status":{"currentReplicas":-1,"desiredReplicas":-2}}`)
	checktest.Want(t, resource().Status.Validate(a, a), `status.currentReplicas: Invalid value: -1: must be greater than or equal to 0
status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0`)
	if len(a.Annotations) > 0 {
		t.Errorf("annotations: got %v, want none of those of conversions", a.Annotations)
	}
}

func TestTable(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: `x Deployment/d cpu: <unknown>/80% 1 5 0 <unknown>`,
		`{"minReplicas":2,"metrics":[{"type":"Pods","pods":{"target":{"averageValue":"3"}}},{"type":"Resource","resource":{"name":"memory","target":{"averageValue":"1Gi"}}},{"type":"Odd"},{"type":"Odd"}]}`: `x Deployment/d <unknown>/3, memory: <unknown>/1Gi + 2 more... 2 5 0 <unknown>`,
		`{"metrics":[{"type":"Pods"},{"type":"Object"}]}`:                                                                                                                     `x Deployment/d <unknown type>, <unknown type> 1 5 0 <unknown>`,
		`{"metrics":[{"type":"External"},{"type":"ContainerResource"}]}`:                                                                                                      `x Deployment/d <unknown type>, <unknown type> 1 5 0 <unknown>`,
		`{"metrics":[{"type":"Resource"}]}`:                                                                                                                                   `x Deployment/d <unknown type> 1 5 0 <unknown>`,
		`{"metrics":[{"type":"Odd"},{"type":"Resource","resource":{"name":"cpu","target":{}}}]}`:                                                                              `x Deployment/d <unknown type>, cpu: <unknown>/<auto> 1 5 0 <unknown>`,
		`{"metrics":[{"type":"External","external":{"target":{"value":"1"}}},{"type":"External","external":{"target":{"averageValue":"2"}}}]}`:                                `x Deployment/d <unknown>/1, <unknown>/2 (avg) 1 5 0 <unknown>`,
		`{"metrics":[{"type":"Object","object":{"target":{"value":"1"}}},{"type":"ContainerResource","containerResource":{"name":"cpu","target":{"averageUtilization":5}}}]}`: `x Deployment/d <unknown>/1, cpu: <unknown>/5% 1 5 0 <unknown>`,
	} {
		more := strings.TrimSuffix(strings.TrimPrefix(in, "{"), "}")
		if more != "" {
			more = "," + more
		}
		checkRow(t, with(t, more), want)
	}
	for in, want := range map[string]string{
		`"metrics":[{"type":"External","external":{"target":{"value":"1"}}},{"type":"External","external":{"target":{"averageValue":"2"}}}]}},
			"currentMetrics":[{"external":{"current":{"value":"3"}}},{"external":{"current":{"averageValue":"4"}}}]`: `3/1, 4/2 (avg)`,
		`"metrics":[{"type":"Object","object":{"target":{"value":"1"}}},{"type":"Object","object":{"target":{"averageValue":"2"}}}]}},
			"currentMetrics":[{"object":{"current":{"value":"3"}}},{"object":{"current":{"averageValue":"4"}}}]`: `3/1, 4/2 (avg)`,
		`"metrics":[{"type":"Object","object":{"target":{"averageValue":"2"}}},{"type":"Pods","pods":{"target":{"averageValue":"2"}}}]}},
			"currentMetrics":[{"object":{"current":{"value":"3"}}},{"pods":{"current":{"averageValue":"4"}}}]`: `<unknown>/2 (avg), 4/2`,
		`"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":2}}},{"type":"Resource","resource":{"name":"memory","target":{"averageValue":"2"}}}]}},
			"currentMetrics":[{"resource":{"current":{"averageUtilization":3}}},{"resource":{"current":{"averageValue":"4"}}}]`: `cpu: 3%/2%, memory: 4/2`,
		`"metrics":[{"type":"ContainerResource","containerResource":{"name":"cpu","target":{"averageUtilization":2}}},{"type":"ContainerResource","containerResource":{"name":"memory","target":{"averageValue":"2"}}}]}},
			"currentMetrics":[{"containerResource":{"current":{"averageUtilization":3}}},{"containerResource":{"current":{}}}]`: `cpu: 3%/2%, memory: <nil>/2`,
	} {
		spec, status, _ := strings.Cut(in, "}},\n")
		a := decode(t, `{"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":5,`+spec+`},"status":{"currentReplicas":2,`+status+`}}`)
		checkRow(t, a, `x Deployment/d `+want+` 1 5 2 <unknown>`)
	}
	empty := &autoscalingv2.HorizontalPodAutoscaler{}
	checkRow(t, empty, ` / <none> <unset> 0 0 <unknown>`)
}

func checkRow(t *testing.T, a *autoscalingv2.HorizontalPodAutoscaler, want string) {
	t.Helper()
	table := resource().Table
	cells := table.Cells(meta.Object(a), time.Now())
	if got := strings.TrimSuffix(fmt.Sprintln(cells...), "\n"); got != want || len(cells) != len(table.Columns) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
