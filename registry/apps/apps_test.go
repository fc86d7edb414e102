package apps

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func kind(t *testing.T, name string) *registry.Resource {
	t.Helper()
	for _, r := range Resources(podspec.Rules{}) {
		if r.Kind == name {
			return &r
		}
	}
	t.Fatalf("no kind %s", name)
	return nil
}

// decode returns an object with defaults. text is its JSON, in which $ stands for a selector and a
// template.
func decode[T any, P interface {
	*T
	meta.Object
}](t *testing.T, text string) P {
	t.Helper()
	const template = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	return checktest.Decode[T, P](t, strings.ReplaceAll(text, "$", template))
}

// create runs an object through the strategy as a new one.
func create(r *registry.Resource, obj meta.Object) field.ErrorList {
	r.Strategy.Prepare(&registry.Request{Now: now}, obj, nil)
	return r.Strategy.Validate(obj, nil)
}

// update runs an object through the strategy as a change of old.
func update(r *registry.Resource, obj, old meta.Object) field.ErrorList {
	r.Strategy.Prepare(&registry.Request{Now: now}, obj, old)
	return r.Strategy.Validate(obj, old)
}

// tries compares the errors of new objects of a kind. $ in want is the path of the spec.
func tries[T any, P interface {
	*T
	meta.Object
}](t *testing.T, name string, list map[string]string) {
	t.Helper()
	r := kind(t, name)
	for in, want := range list {
		t.Run(in, func(t *testing.T) {
			obj := decode[T, P](t, in)
			checktest.Want(t, create(r, obj), strings.ReplaceAll(want, "$", "spec"))
		})
	}
}

const (
	labels  = "$.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"
	percent = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
	never   = `{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		"spec":{"restartPolicy":"Never","activeDeadlineSeconds":5,"containers":[{"name":"c","image":"i"}]}}}}`
	always = `$.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"
$.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in `
	name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

// of returns the JSON of an object whose template has the label a=b, with the JSON of its selector.
func of(selector string) string {
	return `{"spec":{` + selector + `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
}

func asJSON(t *testing.T, obj meta.Object) []byte {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDeployment(t *testing.T) {
	tries[appsv1.Deployment](t, "Deployment", map[string]string{
		`{"spec":{$}}`:               ``,
		`{"spec":{$,"replicas":-1}}`: `$.replicas: Invalid value: -1: must be greater than or equal to 0`,
		of(``):                       "$.selector: Required value\n" + labels,
		of(`"selector":{},`):         `$.selector: Invalid value: {}: empty selector is invalid for deployment`,
		of(`"selector":{"matchLabels":{"a":"c"}},`): labels,
		of(`"selector":{"matchLabels":{"-":"c"}},`): `$.selector.matchLabels: Invalid value: "-": ` + name + `
$.selector: Invalid value: {"matchLabels":{"-":"c"}}: invalid label selector`,
		never: always + `ReplicaSet is not Supported`,
		`{"spec":{$,"strategy":{"type":"Recreate"}}}`:                    ``,
		`{"spec":{$,"strategy":{"type":"Recreate","rollingUpdate":{}}}}`: "$.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
		`{"spec":{$,"strategy":{"type":"Slow","rollingUpdate":{"maxSurge":"5%"}}}}`: `$.strategy: Unsupported value: ` +
			`{"Type":"Slow","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"5%"}}: supported values: "Recreate", "RollingUpdate"`,
		`{"spec":{$,"strategy":{"rollingUpdate":{"maxSurge":-1,"maxUnavailable":"5"}}}}`: `$.strategy.rollingUpdate.maxUnavailable: Invalid value: "5": ` + percent + `
$.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0`,
		`{"spec":{$,"strategy":{"rollingUpdate":{"maxSurge":"0%","maxUnavailable":0}}}}`:        "$.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
		`{"spec":{$,"strategy":{"rollingUpdate":{"maxSurge":"200%","maxUnavailable":"101%"}}}}`: `$.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%`,
		`{"spec":{$,"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}}}`:           ``,
		`{"spec":{$,"minReadySeconds":-1,"revisionHistoryLimit":-2}}`: `$.minReadySeconds: Invalid value: -1: must be greater than or equal to 0
$.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0`,
		`{"spec":{$,"minReadySeconds":600}}`: `$.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds`,
		`{"spec":{$,"minReadySeconds":599}}`: ``,
		`{"spec":{$,"progressDeadlineSeconds":-1}}`: `$.progressDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0
$.progressDeadlineSeconds: Invalid value: -1: must be greater than minReadySeconds`,
		`{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"-1"}},"spec":{$}}`: `$.rollback.version: Invalid value: -1: must be greater than or equal to 0`,
		`{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"x"}},"spec":{$}}`: `metadata.annotations[deprecated.deployment.rollback.to]: Invalid value: "x": ` +
			`strconv.ParseInt: parsing "x": invalid syntax`,
	})
	r := kind(t, "Deployment")
	old := decode[appsv1.Deployment](t, `{"spec":{$}}`)
	other := decode[appsv1.Deployment](t, `{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	checktest.Want(t, update(r, other, old), `spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}]}: field is immutable`)
	checktest.Want(t, update(r, scheme.DeepCopy(old), old), ``)
	if !slices.Equal(r.Generation, []string{"spec", "metadata.annotations"}) {
		t.Errorf("generation: got %v, want annotations counted, too", r.Generation)
	}
}

// TestRollback checks that the revision to roll back to is a number, and that a write of the status
// keeps it.
func TestRollback(t *testing.T) {
	r := kind(t, "Deployment")
	for in, want := range map[string]string{"007": "7", "+3": "3", "": "", "x": "x"} {
		d := &appsv1.Deployment{}
		d.Annotations = map[string]string{rollbackAnnotation: in}
		r.Strategy.Prepare(nil, d, nil)
		if got, ok := d.Annotations[rollbackAnnotation]; got != want || ok != (want != "") {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	old, d := &appsv1.Deployment{}, &appsv1.Deployment{}
	old.Annotations, old.Labels = map[string]string{rollbackAnnotation: "4"}, map[string]string{"a": "b"}
	r.Status.Prepare(nil, d, old)
	if d.Annotations[rollbackAnnotation] != "4" || d.Labels["a"] != "b" {
		t.Errorf("status: got %v and %v, want the old annotation and labels", d.Annotations, d.Labels)
	}
	r.Status.Prepare(nil, d, &appsv1.Deployment{})
	if len(d.Annotations)+len(d.Labels) > 0 {
		t.Errorf("status: got %v and %v, want neither", d.Annotations, d.Labels)
	}
}

func TestReplicaSet(t *testing.T) {
	tries[appsv1.ReplicaSet](t, "ReplicaSet", map[string]string{
		`{"spec":{$}}`: ``,
		`{"spec":{$,"replicas":-1,"minReadySeconds":-1}}`: `$.replicas: Invalid value: -1: must be greater than or equal to 0
$.minReadySeconds: Invalid value: -1: must be greater than or equal to 0`,
		of(`"selector":{},`): `$.selector: Invalid value: {}: empty selector is invalid for deployment`,
		never:                always + `ReplicaSet is not Supported`,
	})
	r := kind(t, "ReplicaSet")
	old := decode[appsv1.ReplicaSet](t, `{"spec":{$}}`)
	other := scheme.DeepCopy(old)
	other.Spec.Selector.MatchLabels = map[string]string{"c": "d"}
	checktest.Want(t, update(r, other, old), "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`\n"+
		`spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable`)
}

func TestStatefulSet(t *testing.T) {
	const forbidden = "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
		"'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
	tries[appsv1.StatefulSet](t, "StatefulSet", map[string]string{
		`{"spec":{$}}`: ``,
		`{"spec":{$,"podManagementPolicy":"Odd","updateStrategy":{"type":"Slow"}}}`: `$.podManagementPolicy: Invalid value: "Odd": must be 'OrderedReady' or 'Parallel'
$.updateStrategy: Invalid value: {"Type":"Slow","RollingUpdate":null}: must be 'RollingUpdate' or 'OnDelete'`,
		`{"spec":{$,"podManagementPolicy":"Parallel","updateStrategy":{"type":"OnDelete"}}}`: ``,
		`{"spec":{$,"updateStrategy":{"type":"OnDelete","rollingUpdate":{}}}}`: `$.updateStrategy.rollingUpdate: Invalid value: ` +
			`{"Partition":0,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'`,
		`{"spec":{$,"updateStrategy":{"type":"RollingUpdate"}}}`:                              ``,
		`{"spec":{$,"updateStrategy":{"rollingUpdate":{"partition":-1,"maxUnavailable":0}}}}`: `$.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0`,
		`{"spec":{$,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Odd","whenScaled":"Even"}}}`: `$.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Odd": supported values: "Retain", "Delete"
$.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Even": supported values: "Retain", "Delete"`,
		`{"spec":{$,"replicas":-1,"minReadySeconds":-1,"ordinals":{"start":-1},"serviceName":"A"}}`: `$.replicas: Invalid value: -1: must be greater than or equal to 0
$.minReadySeconds: Invalid value: -1: must be greater than or equal to 0
$.ordinals.start: Invalid value: -1: must be greater than or equal to 0
$.serviceName: Invalid value: "A": ` + checktest.Label,
		`{"spec":{$,"serviceName":"a"}}`: ``,
		of(``):                           "$.selector: Required value\n" + labels,
		of(`"selector":{},`):             `$.selector: Invalid value: {}: empty selector is invalid for statefulset`,
		of(`"selector":{"matchExpressions":[{"key":"a","operator":"X"}]},`): `$.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator
$.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"X"}]}`,
		never: always + `StatefulSet is not Supported`,
		`{"spec":{$,"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]}}`: `$.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required`,
		// Claim templates replace volumes of the same name. Host name and subdomain of the template
		// are ignored.
		`{"spec":{"selector":{"matchLabels":{"a":"b"}},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}},
			{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],
			"template":{"metadata":{"labels":{"a":"b"}},"spec":{"hostname":"A","subdomain":"B","volumes":[{"name":"d","hostPath":{"path":""}},{"name":"E","emptyDir":{}}],
			"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"d","mountPath":"/d"}]}]}}}}`: `$.template.spec.volumes[1].name: Invalid value: "E": ` + checktest.Label,
		// The metadata is checked twice, as in kube-apiserver: errors come twice.
		`{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b","-":""}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`: `$.template.labels: Invalid value: "-": ` + name + `
$.template.labels: Invalid value: "-": ` + name,
	})
	r := kind(t, "StatefulSet")
	make := func() *appsv1.StatefulSet {
		return decode[appsv1.StatefulSet](t, `{"spec":{$,"serviceName":"s","volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}}`)
	}
	for what, tt := range map[string]struct {
		change func(s *appsv1.StatefulSet)
		want   string
	}{
		"nothing": {func(*appsv1.StatefulSet) {}, ""},
		"what may change": {func(s *appsv1.StatefulSet) {
			s.Spec.Replicas, s.Spec.MinReadySeconds, s.Spec.RevisionHistoryLimit = new(int32(5)), 5, new(int32(5))
			s.Spec.Ordinals, s.Spec.Template.Spec.Containers[0].Image = &appsv1.StatefulSetOrdinals{Start: 5}, "j"
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
			s.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		}, ""},
		"the service": {func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "Bad" }, forbidden},
		"the claims":  {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec.AccessModes = nil }, forbidden},
		"the order":   {func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }, forbidden},
		"the selector": {func(s *appsv1.StatefulSet) {
			s.Spec.Selector.MatchExpressions = []meta.LabelSelectorRequirement{{Key: "a", Operator: "Exists"}}
		}, forbidden},
	} {
		t.Run(what, func(t *testing.T) {
			s := make()
			tt.change(s)
			checktest.Want(t, update(r, s, make()), tt.want)
		})
	}
	// An invalid template may stay, but its metadata must be valid.
	wrong := make()
	wrong.Spec.Template.Spec.Containers[0].Image = ""
	checktest.Want(t, update(r, scheme.DeepCopy(wrong), wrong), "")
	checktest.Want(t, update(r, scheme.DeepCopy(wrong), make()), "spec.template.spec.containers[0].image: Required value")
	wrong.Spec.Template.Labels["-"] = ""
	checktest.Want(t, update(r, scheme.DeepCopy(wrong), wrong), `spec.template.labels: Invalid value: "-": `+name)

	limited := make()
	limited.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(meta.FromInt32(0))
	kept := scheme.DeepCopy(limited)
	checktest.Want(t, update(r, kept, limited), `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0`)
	kept.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(meta.FromString("200%"))
	checktest.Want(t, update(r, kept, limited), `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "200%": must not be greater than 100%`)
	bare := make()
	bare.Spec.UpdateStrategy.RollingUpdate = nil
	for _, old := range []*appsv1.StatefulSet{make(), bare} {
		kept = scheme.DeepCopy(limited)
		checktest.Want(t, update(r, kept, old), "")
		if kept.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != nil {
			t.Error("how many may be missing is kept, though the old set does not say it")
		}
	}
}

func TestDaemonSet(t *testing.T) {
	tries[appsv1.DaemonSet](t, "DaemonSet", map[string]string{
		`{"spec":{$}}`:       ``,
		of(``):               labels,
		of(`"selector":{},`): `$.selector: Invalid value: {}: empty selector is invalid for daemonset`,
		of(`"selector":{"matchExpressions":[{"key":"a","operator":"X"}]},`): `$.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`,
		never: always + `DaemonSet is not Supported`,
		`{"spec":{$,"minReadySeconds":-1,"revisionHistoryLimit":-1}}`: `$.minReadySeconds: Invalid value: -1: must be greater than or equal to 0
$.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0`,
		`{"spec":{$,"updateStrategy":{"type":"Slow"}}}`:     `$.updateStrategy: Unsupported value: {"Type":"Slow","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"`,
		`{"spec":{$,"updateStrategy":{"type":"OnDelete"}}}`: ``,
		`{"spec":{$,"updateStrategy":{"rollingUpdate":{"maxUnavailable":"x","maxSurge":-1}}}}`: `$.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "x": ` + percent + `
$.updateStrategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0`,
		`{"spec":{$,"updateStrategy":{"rollingUpdate":{"maxUnavailable":"101%","maxSurge":"102%"}}}}`: `$.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%
$.updateStrategy.rollingUpdate.maxSurge: Invalid value: "102%": must not be greater than 100%
$.updateStrategy.rollingUpdate.maxSurge: Invalid value: "102%": may not be set when maxUnavailable is non-zero`,
		`{"spec":{$,"updateStrategy":{"rollingUpdate":{"maxUnavailable":"0%"}}}}`:           `$.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
		`{"spec":{$,"updateStrategy":{"rollingUpdate":{"maxUnavailable":0,"maxSurge":1}}}}`: ``,
	})
	r := kind(t, "DaemonSet")
	old := decode[appsv1.DaemonSet](t, `{"spec":{$}}`)
	other := scheme.DeepCopy(old)
	other.Spec.Selector = &meta.LabelSelector{}
	checktest.Want(t, update(r, other, old), "spec.selector: Invalid value: {}: field is immutable\nspec.selector: Invalid value: {}: empty selector is invalid for daemonset")
}

// TestTemplateGeneration checks that the annotation counts the changes of the template and that
// clients cannot change it.
func TestTemplateGeneration(t *testing.T) {
	r := kind(t, "DaemonSet")
	want := func(ds *appsv1.DaemonSet, number string) {
		t.Helper()
		if got := ds.Annotations[appsv1.TemplateGenerationAnnotation]; got != number {
			t.Errorf("got %q, want %s", got, number)
		}
	}
	first := decode[appsv1.DaemonSet](t, `{"spec":{$,"updateStrategy":{"type":"OnDelete","rollingUpdate":{}}}}`)
	r.Strategy.Prepare(nil, first, nil)
	want(first, "1")
	if u := first.Spec.UpdateStrategy.RollingUpdate; *u.MaxUnavailable != meta.FromInt32(0) || *u.MaxSurge != meta.FromInt32(0) {
		t.Errorf("limits that are not used: got %+v, want 0", u)
	}
	restored := decode[appsv1.DaemonSet](t, `{"metadata":{"annotations":{"deprecated.daemonset.template.generation":"9"}},"spec":{$}}`)
	r.Strategy.Prepare(nil, restored, nil)
	want(restored, "9")
	changed := decode[appsv1.DaemonSet](t, `{"spec":{$,"minReadySeconds":3}}`)
	r.Strategy.Prepare(nil, changed, restored)
	want(changed, "9")
	if got := r.Strategy.Warnings(changed, restored); len(got) > 0 {
		t.Errorf("warnings: got %q of a template that is not new", got)
	}
	changed.Spec.Template.Labels["new"] = "x"
	r.Strategy.Prepare(nil, changed, restored)
	want(changed, "10")
	changed.Annotations = nil
	r.Status.Prepare(nil, changed, restored)
	want(changed, "9")
}

func TestControllerRevision(t *testing.T) {
	r := kind(t, "ControllerRevision")
	for in, want := range map[string]string{
		`{"data":{}}`:               ``,
		`{}`:                        `data: Required value: data is mandatory`,
		`{"data":null}`:             `data: Required value: data is mandatory`,
		`{"data":[1]}`:              `data: Required value: data must be a valid JSON object`,
		`{"data":{},"revision":-1}`: `revision: Invalid value: -1: must be greater than or equal to 0`,
	} {
		checktest.Want(t, r.Strategy.Validate(checktest.Decode[appsv1.ControllerRevision](t, in), nil), want)
	}
	for raw, want := range map[string]string{
		"null": `data: Required value: data is mandatory`,
		"{":    `data: Invalid value: "<value omitted>": error parsing data: unexpected end of JSON input`,
	} {
		checktest.Want(t, r.Strategy.Validate(&appsv1.ControllerRevision{Data: meta.RawExtension{Raw: []byte(raw)}}, nil), want)
	}
	old := checktest.Decode[appsv1.ControllerRevision](t, `{"data":{"a":1},"revision":1}`)
	checktest.Want(t, r.Strategy.Validate(checktest.Decode[appsv1.ControllerRevision](t, `{"data":{"a":1},"revision":2}`), old), ``)
	checktest.Want(t, r.Strategy.Validate(checktest.Decode[appsv1.ControllerRevision](t, `{"data":{"a":2},"revision":2}`), old),
		`data: Invalid value: {"a":2}: field is immutable`)
}

func TestStatus(t *testing.T) {
	const negative = "must be greater than or equal to 0"
	for name, tt := range map[string]struct {
		kind string
		obj  meta.Object
		old  meta.Object
		want string
	}{
		"deployment": {"Deployment", checktest.Decode[appsv1.Deployment](t, `{"status":{"observedGeneration":-1,"replicas":-2,"updatedReplicas":-1,"readyReplicas":-1,
			"availableReplicas":0,"unavailableReplicas":-1,"terminatingReplicas":-1,"collisionCount":-1}}`), &appsv1.Deployment{}, `
status.observedGeneration: Invalid value: -1: ` + negative + `
status.replicas: Invalid value: -2: ` + negative + `
status.updatedReplicas: Invalid value: -1: ` + negative + `
status.readyReplicas: Invalid value: -1: ` + negative + `
status.unavailableReplicas: Invalid value: -1: ` + negative + `
status.terminatingReplicas: Invalid value: -1: ` + negative + `
status.collisionCount: Invalid value: -1: ` + negative + `
status.updatedReplicas: Invalid value: -1: cannot be greater than status.replicas
status.readyReplicas: Invalid value: -1: cannot be greater than status.replicas
status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas
status.availableReplicas: Invalid value: 0: cannot be greater than readyReplicas`},
		"collisions": {"Deployment", &appsv1.Deployment{}, checktest.Decode[appsv1.Deployment](t, `{"status":{"collisionCount":1}}`),
			`status.collisionCount: Invalid value: 0: cannot be decremented`},
		"more collisions": {"Deployment", checktest.Decode[appsv1.Deployment](t, `{"status":{"collisionCount":1,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}}`),
			checktest.Decode[appsv1.Deployment](t, `{"status":{"collisionCount":1}}`), ``},
		"replica set": {"ReplicaSet", checktest.Decode[appsv1.ReplicaSet](t, `{"status":{"replicas":-3,"fullyLabeledReplicas":-1,"readyReplicas":-2,"availableReplicas":-1,
			"observedGeneration":-1,"terminatingReplicas":-1}}`), &appsv1.ReplicaSet{}, `
status.replicas: Invalid value: -3: ` + negative + `
status.fullyLabeledReplicas: Invalid value: -1: ` + negative + `
status.readyReplicas: Invalid value: -2: ` + negative + `
status.availableReplicas: Invalid value: -1: ` + negative + `
status.observedGeneration: Invalid value: -1: ` + negative + `
status.terminatingReplicas: Invalid value: -1: ` + negative + `
status.fullyLabeledReplicas: Invalid value: -1: cannot be greater than status.replicas
status.readyReplicas: Invalid value: -2: cannot be greater than status.replicas
status.availableReplicas: Invalid value: -1: cannot be greater than status.replicas
status.availableReplicas: Invalid value: -1: cannot be greater than readyReplicas`},
		"stateful set": {"StatefulSet", checktest.Decode[appsv1.StatefulSet](t, `{"status":{"replicas":-3,"readyReplicas":-2,"currentReplicas":-1,"updatedReplicas":-1,
			"availableReplicas":-1,"observedGeneration":-1,"collisionCount":-1}}`), &appsv1.StatefulSet{}, `
status.replicas: Invalid value: -3: ` + negative + `
status.readyReplicas: Invalid value: -2: ` + negative + `
status.currentReplicas: Invalid value: -1: ` + negative + `
status.updatedReplicas: Invalid value: -1: ` + negative + `
status.availableReplicas: Invalid value: -1: ` + negative + `
status.observedGeneration: Invalid value: -1: ` + negative + `
status.collisionCount: Invalid value: -1: ` + negative + `
status.readyReplicas: Invalid value: -2: cannot be greater than status.replicas
status.currentReplicas: Invalid value: -1: cannot be greater than status.replicas
status.updatedReplicas: Invalid value: -1: cannot be greater than status.replicas
status.availableReplicas: Invalid value: -1: cannot be greater than status.replicas
status.availableReplicas: Invalid value: -1: cannot be greater than status.readyReplicas`},
		"fewer collisions of a stateful set": {"StatefulSet", checktest.Decode[appsv1.StatefulSet](t, `{"status":{"collisionCount":1}}`),
			checktest.Decode[appsv1.StatefulSet](t, `{"status":{"collisionCount":2}}`), `status.collisionCount: Invalid value: 1: cannot be decremented`},
		"daemon set": {"DaemonSet", checktest.Decode[appsv1.DaemonSet](t, `{"status":{"currentNumberScheduled":-1,"numberMisscheduled":-1,"desiredNumberScheduled":-1,
			"numberReady":-1,"observedGeneration":-1,"updatedNumberScheduled":-1,"numberAvailable":-1,"numberUnavailable":-1,"collisionCount":-1}}`),
			checktest.Decode[appsv1.DaemonSet](t, `{"status":{"collisionCount":2}}`), `
status.currentNumberScheduled: Invalid value: -1: ` + negative + `
status.numberMisscheduled: Invalid value: -1: ` + negative + `
status.desiredNumberScheduled: Invalid value: -1: ` + negative + `
status.numberReady: Invalid value: -1: ` + negative + `
status.observedGeneration: Invalid value: -1: ` + negative + `
status.updatedNumberScheduled: Invalid value: -1: ` + negative + `
status.numberAvailable: Invalid value: -1: ` + negative + `
status.numberUnavailable: Invalid value: -1: ` + negative + `
status.collisionCount: Invalid value: -1: ` + negative + `
status.collisionCount: Invalid value: -1: cannot be decremented`},
	} {
		t.Run(name, func(t *testing.T) { checktest.Want(t, kind(t, tt.kind).Status.Validate(tt.obj, tt.old), tt.want) })
	}
}

func TestWarnings(t *testing.T) {
	const (
		old      = `spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`
		dotted   = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
		spec     = `{"metadata":{"name":"a.b"},"spec":{"revisionHistoryLimit":-1,"template":{"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"}}},"volumeClaimTemplates":[{"spec":{"resources":{"requests":{"storage":"1m"}}}}]}}`
		fraction = `resources.requests[storage]: fractional byte value "1m" is invalid, must be an integer`
		history  = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
	)
	// newer returns obj with a later generation.
	newer := func(obj meta.Object) meta.Object {
		obj = scheme.Copy(obj).(meta.Object)
		obj.GetObjectMeta().Generation++
		return obj
	}
	for name, tt := range map[string]struct {
		obj                     meta.Object
		create, same, different []string
	}{
		"Deployment": {checktest.Decode[appsv1.Deployment](t, spec), []string{dotted, old}, nil, []string{old}},
		"ReplicaSet": {checktest.Decode[appsv1.ReplicaSet](t, spec), []string{dotted, old}, nil, []string{old}},
		"DaemonSet":  {checktest.Decode[appsv1.DaemonSet](t, spec), []string{old}, nil, nil},
		"StatefulSet": {checktest.Decode[appsv1.StatefulSet](t, spec), []string{old, "spec.volumeClaimTemplates[0]." + fraction, history},
			[]string{"spec.volumeClaimTemplates[0].Spec." + fraction, history}, []string{old, "spec.volumeClaimTemplates[0].Spec." + fraction, history}},
	} {
		r := kind(t, name)
		for what, got := range map[string][2][]string{
			"create": {r.Strategy.Warnings(tt.obj, nil), tt.create}, "same": {r.Strategy.Warnings(tt.obj, tt.obj), tt.same},
			"different": {r.Strategy.Warnings(newer(tt.obj), tt.obj), tt.different},
		} {
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("%s, %s: got %q, want %q", name, what, got[0], got[1])
			}
		}
	}
	if got := podspec.NameWarnings("a"); got != nil {
		t.Errorf("a label: got %q", got)
	}
	plain := decode[appsv1.StatefulSet](t, `{"spec":{$,"revisionHistoryLimit":0}}`)
	if got := kind(t, "StatefulSet").Strategy.Warnings(plain, nil); len(got) > 0 {
		t.Errorf("a plain set: got %q", got)
	}
}

func TestTables(t *testing.T) {
	const wide = `"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"nodeSelector":{"x":"y","v":"w"},"containers":[{"name":"c","image":"i"},{"name":"d","image":"j"}]}}`
	for _, tt := range []struct {
		kind string
		obj  meta.Object
		want string
	}{
		{"Deployment", checktest.Decode[appsv1.Deployment](t, `{"spec":{"replicas":3,`+wide+`},"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":4}}`), `x 1/3 2 4 <unknown> c,d i,j a=b`},
		{"Deployment", &appsv1.Deployment{}, ` 0/0 0 0 <unknown>   `},
		{"Deployment", &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &meta.LabelSelector{MatchExpressions: []meta.LabelSelectorRequirement{{}}}}}, ` 0/0 0 0 <unknown>   <invalid>`},
		{"ReplicaSet", checktest.Decode[appsv1.ReplicaSet](t, `{"spec":{"replicas":3,`+wide+`},"status":{"replicas":2,"readyReplicas":1}}`), `x 3 2 1 <unknown> c,d i,j a=b`},
		{"StatefulSet", checktest.Decode[appsv1.StatefulSet](t, `{"spec":{"replicas":3,`+wide+`},"status":{"readyReplicas":1}}`), `x 1/3 <unknown> c,d i,j`},
		{"DaemonSet", checktest.Decode[appsv1.DaemonSet](t, `{"spec":{`+wide+`},"status":{"desiredNumberScheduled":1,"currentNumberScheduled":2,"numberReady":3,"updatedNumberScheduled":4,"numberAvailable":5}}`),
			`x 1 2 3 4 5 v=w,x=y <unknown> c,d i,j a=b`},
		{"DaemonSet", &appsv1.DaemonSet{}, ` 0 0 0 0 0 <none> <unknown>   <none>`},
		{"ControllerRevision", checktest.Decode[appsv1.ControllerRevision](t, `{"revision":2,"metadata":{"ownerReferences":[{"kind":"Other","name":"o"},{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","controller":true}]}}`),
			`x daemonset.apps/d 2 <unknown>`},
		{"ControllerRevision", checktest.Decode[appsv1.ControllerRevision](t, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","controller":true}]}}`), `x pod/p 0 <unknown>`},
		{"ControllerRevision", checktest.Decode[appsv1.ControllerRevision](t, `{"metadata":{"ownerReferences":[{"kind":"Other","name":"o","controller":false}]}}`), `x <none> 0 <unknown>`},
	} {
		r := kind(t, tt.kind)
		cells := r.Table.Cells(tt.obj, now)
		if got := strings.TrimSuffix(fmt.Sprintln(cells...), "\n"); got != tt.want || len(cells) != len(r.Table.Columns) {
			t.Errorf("%s: got %q, want %q", tt.kind, got, tt.want)
		}
	}
}

func TestScales(t *testing.T) {
	for _, tt := range []struct {
		kind string
		obj  meta.Object
	}{
		{"Deployment", decode[appsv1.Deployment](t, `{"spec":{$,"replicas":3},"status":{"replicas":2}}`)},
		{"ReplicaSet", decode[appsv1.ReplicaSet](t, `{"spec":{$,"replicas":3},"status":{"replicas":2}}`)},
		{"StatefulSet", decode[appsv1.StatefulSet](t, `{"spec":{$,"replicas":3},"status":{"replicas":2}}`)},
	} {
		shown, err := kind(t, tt.kind).Subresources[0].Project.Show(tt.obj, registry.ToRead)
		got := fmt.Sprintf("%+v", shown)
		if err != nil || !strings.Contains(got, "Spec:{Replicas:3} Status:{Replicas:2 Selector:a=b}") {
			t.Errorf("%s: got %s, %v", tt.kind, got, err)
		}
	}
}

// TestDisabledFields checks that fields of features that are not served are cleared, unless the old
// template has them.
func TestDisabledFields(t *testing.T) {
	const text = `{"spec":{"template":{"spec":{"schedulingGroup":{"podGroupName":"g"},"containers":[{"name":"c","image":"i"}]}}}}`
	for name, list := range map[string][3]meta.Object{
		"Deployment":  {checktest.Decode[appsv1.Deployment](t, text), checktest.Decode[appsv1.Deployment](t, text), &appsv1.Deployment{}},
		"ReplicaSet":  {checktest.Decode[appsv1.ReplicaSet](t, text), checktest.Decode[appsv1.ReplicaSet](t, text), &appsv1.ReplicaSet{}},
		"StatefulSet": {checktest.Decode[appsv1.StatefulSet](t, text), checktest.Decode[appsv1.StatefulSet](t, text), &appsv1.StatefulSet{}},
		"DaemonSet":   {checktest.Decode[appsv1.DaemonSet](t, text), checktest.Decode[appsv1.DaemonSet](t, text), &appsv1.DaemonSet{}},
	} {
		r, has := kind(t, name), func(obj meta.Object) bool { return strings.Contains(string(asJSON(t, obj)), "podGroupName") }
		if r.Strategy.Prepare(nil, list[0], list[1]); !has(list[0]) {
			t.Errorf("%s: what the old one has is dropped", name)
		}
		if r.Strategy.Prepare(nil, list[0], list[2]); has(list[0]) {
			t.Errorf("%s: what the old one has not is kept", name)
		}
		if r.Strategy.Prepare(nil, list[1], nil); has(list[1]) {
			t.Errorf("%s: kept on create", name)
		}
	}
}
