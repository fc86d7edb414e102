package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme"
	oursv1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	oursmeta "github.com/coracle-project/coracle/scheme/meta"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// TestCustomDoors has the strategies of both extensions servers judge updates of custom resources,
// of their statuses and of their scales. The schemas have validation rules.
func TestCustomDoors(t *testing.T) {
	rnd := random("custom doors")
	var seen doorTally
	for i := range times(1200) {
		what := fmt.Sprint("schema ", i)
		tree := randomSchema(rnd, 0)
		giveStatus(rnd, tree)
		if chance(rnd, 2) {
			(&ruleGame{t: t, rnd: rnd}).spread(tree, 0)
		}
		s := propsOf(t, tree)
		errs, ok := theirSchemaErrors(t, s, nil, true)
		if ok && len(errs) > 0 {
			repair(tree, schemaPath, errs)
			s = propsOf(t, tree)
			errs, ok = theirSchemaErrors(t, s, nil, true)
		}
		if !ok || len(errs) > 0 {
			continue
		}
		seen.schemas++
		newDoors(t, s).compare(t, rnd, what, tree, &seen)
	}
	t.Logf("%+v", seen)
	if count >= 1 && (seen.statuses < 5000 || seen.refused < 1000) {
		t.Error("too little was compared")
	}
}

type doorTally struct{ schemas, updates, statuses, scales, refused int }

// giveStatus gives a schema a spec and a status, which the doors treat differently.
func giveStatus(rnd *rand.Rand, tree jsonObject) {
	fields := tree["properties"].(jsonObject)
	for _, name := range []string{"spec", "status"} {
		if chance(rnd, 12) {
			continue // not described, or of any type
		}
		part := randomSchema(rnd, 1)
		for range 4 {
			if part["type"] != "object" || part["properties"] == nil {
				part = randomSchema(rnd, 1)
			}
		}
		if below, ok := part["properties"].(jsonObject); ok && chance(rnd, 2) {
			below["replicas"], below["selector"] = jsonObject{"type": "integer"}, jsonObject{"type": "string"}
		}
		fields[name] = part
	}
	if chance(rnd, 8) {
		fields[oneOf(rnd, "kind", "apiVersion")] = jsonObject{"type": "string", "maxLength": 3}
	}
}

// doors are the doors to the objects of one definition.
type doors struct {
	*bench
	theirs map[string]rest.RESTUpdateStrategy
	create rest.RESTCreateStrategy
	ours   registry.Resource
}

var doorPaths = apiextensions.CustomResourceSubresourceScale{
	SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: new(".status.selector"),
}

func newDoors(t *testing.T, s *crdv1.JSONSchemaProps) *doors {
	t.Helper()
	d := &doors{bench: newBench(t, s)}
	var status apiservervalidation.SchemaValidator
	if part, ok := s.Properties["status"]; ok {
		var in apiextensions.JSONSchemaProps
		if err := crdv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(part.DeepCopy(), &in, nil); err != nil {
			t.Fatal(err)
		}
		var err error
		if status, _, err = apiservervalidation.NewSchemaValidator(&in); err != nil {
			t.Fatal(err)
		}
	}
	strategy := customresource.NewStrategy(unstructuredTyper{}, false, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		d.validator, status, d.structural, &apiextensions.CustomResourceSubresourceStatus{}, &doorPaths, nil)
	d.create, d.theirs = strategy, map[string]rest.RESTUpdateStrategy{"": strategy, "scale": strategy, "status": customresource.NewStatusStrategy(strategy)}

	def := &oursv1.CustomResourceDefinition{}
	def.Spec.Group, def.Spec.Names.Plural, def.Spec.Names.Kind, def.Spec.Scope = "example.com", "widgets", "Widget", oursv1.ClusterScoped
	def.Spec.Versions = []oursv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true, Schema: &oursv1.CustomResourceValidation{OpenAPIV3Schema: ourProps(s)},
		Subresources: &oursv1.CustomResourceSubresources{Status: &oursv1.CustomResourceSubresourceStatus{}, Scale: &oursv1.CustomResourceSubresourceScale{
			SpecReplicasPath: doorPaths.SpecReplicasPath, StatusReplicasPath: doorPaths.StatusReplicasPath, LabelSelectorPath: doorPaths.LabelSelectorPath,
		}},
	}}
	var err error
	if d.ours, err = extensions.Declare(def, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

// unstructuredTyper stands for a server's typer; strategies ask it nothing.
type unstructuredTyper struct{ runtime.ObjectTyper }

// compare has objects created and updated at all doors.
func (d *doors) compare(t *testing.T, rnd *rand.Rand, what string, tree jsonObject, seen *doorTally) {
	t.Helper()
	var last jsonObject
	for i := range 12 {
		obj := randomObjectOf(rnd, tree)
		if last != nil && !chance(rnd, 3) {
			if changed, ok := mutated(rnd, last).(jsonObject); ok {
				obj = changed
			}
		}
		obj["apiVersion"], obj["kind"] = "example.com/v1", "Widget"
		obj["metadata"] = jsonObject{"name": "a", "uid": "u", "resourceVersion": "1", "generation": int64(1), "creationTimestamp": "2020-01-01T00:00:00Z"}
		now, err := d.theirsOf(obj)
		if err != nil {
			continue
		}
		if last == nil {
			d.same(t, fmt.Sprintf("%s, object %d", what, i), "", now, nil, seen)
		} else {
			seen.updates, seen.statuses, seen.scales = seen.updates+1, seen.statuses+1, seen.scales+1
			for _, door := range []string{"", "status"} {
				d.same(t, fmt.Sprintf("%s, update %d by %q", what, i, door), door, now, last, seen)
			}
			if scaled := runtime.DeepCopyJSON(last); unstructured.SetNestedField(scaled, int64(rnd.IntN(5)-1), "spec", "replicas") == nil {
				d.same(t, fmt.Sprintf("%s, scaling %d", what, i), "scale", scaled, last, seen)
			}
		}
		last = now
	}
}

// same compares the errors at a door. Kubernetes visits the fields of a map in random order and
// reports the first error, so same asks it again while the two differ.
func (d *doors) same(t *testing.T, what, door string, obj, old jsonObject, seen *doorTally) {
	t.Helper()
	ours := d.ourVerdict(t, door, obj, old)
	var theirs []string
	for range 500 {
		if theirs = d.theirVerdict(door, obj, old); slices.EqualFunc(ours, theirs, sameText) || len(theirs) > 100 {
			if len(theirs) > 0 {
				seen.refused++
			}
			return
		}
	}
	t.Fatalf("%s: %s\n object: %.3000s\n old: %.3000s\n schema: %.3000s", what, errorsDiffer(theirs, ours), encode(obj), encode(old),
		encode(treeOfProps(t, d.source)))
}

func (d *doors) theirVerdict(door string, obj, old jsonObject) (out []string) {
	ctx := context.Background()
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	var errs field.ErrorList
	if old == nil {
		d.create.PrepareForCreate(ctx, u)
		errs = d.create.Validate(ctx, u)
	} else {
		was := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(old)}
		d.theirs[door].PrepareForUpdate(ctx, u, was)
		errs = d.theirs[door].ValidateUpdate(ctx, u, was)
	}
	for _, err := range errs {
		out = append(out, fmt.Sprint(err.Type, " ", err.Field, " ", err.ErrorBody()))
	}
	slices.Sort(out)
	return out
}

func (d *doors) ourVerdict(t *testing.T, door string, obj, old jsonObject) (out []string) {
	t.Helper()
	u, was, r := ourObject(t, obj), oursmeta.Object(nil), &registry.Request{Context: context.Background()}
	if old != nil {
		was = ourObject(t, old)
	}
	prepare, judge := d.ours.Strategy.Prepare, d.ours.Strategy.ValidateRequest
	switch sub := d.door(door); {
	case sub == nil:
	case sub.Project != nil:
		scale := &autoscalingv1.Scale{}
		replicas, _, _ := unstructured.NestedInt64(obj, "spec", "replicas")
		scale.Spec.Replicas = int32(replicas)
		u = ourObject(t, old)
		if err := sub.Project.Apply(u, scale); err != nil {
			t.Fatal(err)
		}
	default:
		prepare, judge = sub.Prepare, sub.ValidateRequest
	}
	prepare(r, u, was)
	for _, err := range judge(r, nil, u, was) {
		out = append(out, fmt.Sprint(err.Type, " ", err.Field, " ", err.Body()))
	}
	slices.Sort(out)
	return out
}

// door returns our subresource of a name; nil is the resource itself.
func (d *doors) door(name string) *registry.Subresource {
	i := slices.IndexFunc(d.ours.Subresources, func(sub registry.Subresource) bool { return sub.Name == name })
	if i < 0 {
		return nil
	}
	return &d.ours.Subresources[i]
}

// ourObject converts an object to ours.
func ourObject(t *testing.T, obj jsonObject) *scheme.Unstructured {
	t.Helper()
	content := runtime.DeepCopyJSON(obj)
	u := &scheme.Unstructured{TypeMeta: oursmeta.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}, Content: content}
	if err := json.Unmarshal(encode(content["metadata"]), &u.ObjectMeta); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(content, name)
	}
	return u
}
