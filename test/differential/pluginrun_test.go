package differential

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file passes single writes through one admission plugin of Kubernetes and through our plugin
// of the same name. The tests of plugins make the writes.

// pluginWrite is a write of one versioned object for both sides.
type pluginWrite struct {
	op        theiradmission.Operation
	resource  schema.GroupVersionResource
	kind      schema.GroupVersionKind
	sub       string
	namespace string
	name      string
	dryRun    bool
	user      string
	// obj and old are nil if the write has none. decode converts them to ours.
	obj, old runtime.Object
	decode   func(*testing.T, any) meta.Object
}

// ourDecoder is a pluginWrite.decode for objects whose hub type is T.
func ourDecoder[T any, P interface {
	*T
	meta.Object
}](t *testing.T, obj any) meta.Object {
	return toOurs[T, P](t, obj)
}

// pluginPair is a plugin of both sides.
type pluginPair struct {
	theirs theiradmission.Interface
	ours   admission.Plugin
	// The number of writes so far, and how many of them were refused or changed.
	writes, refused, changed int
}

// compare passes a write through both plugins. It compares the error as clients see it and, if
// there is none, the object afterwards.
func (p *pluginPair) compare(t *testing.T, w *pluginWrite) {
	t.Helper()
	p.writes++
	wantObj, wantErr := p.askTheirs(t, w)
	gotObj, gotErr := p.askOurs(t, w)
	got, want := "admitted", "admitted"
	if gotErr != nil {
		got = pluginStatus(meta.StatusOf(gotErr))
	}
	if wantErr != nil {
		want = pluginStatus(responsewriters.ErrorToAPIStatus(wantErr))
	}
	if got != want {
		t.Fatalf("%s:\n got %s\nwant %s\nobject %s\nold %s", p.what(w), got, want, encode(w.obj), encode(w.old))
	}
	if wantErr != nil {
		p.refused++
		return
	}
	if wantObj == nil {
		return
	}
	if !apiequality.Semantic.DeepEqual(gotObj, wantObj) {
		t.Fatalf("%s:\n got %s\nwant %s\nobject %s", p.what(w), encode(gotObj), encode(wantObj), encode(w.obj))
	}
	if !apiequality.Semantic.DeepEqual(wantObj, w.obj) {
		p.changed++
	}
}

func (p *pluginPair) what(w *pluginWrite) string {
	return fmt.Sprintf("%s: %s %s/%s %q in %q by %q, dry run %t", p.ours.Name(), w.op, w.resource.Resource, w.sub, w.name, w.namespace, w.user, w.dryRun)
}

// report logs the numbers. It fails the test if too few writes were refused or changed, or nearly
// all were refused.
func (p *pluginPair) report(t *testing.T) {
	t.Helper()
	t.Logf("%s: %d writes, %d refused, %d changed", p.ours.Name(), p.writes, p.refused, p.changed)
	if n := p.refused + p.changed; n < p.writes/20 || p.refused > p.writes*19/20 {
		t.Errorf("%s: of %d writes %d were refused and %d changed: they are too random", p.ours.Name(), p.writes, p.refused, p.changed)
	}
}

// askTheirs returns a copy of the object as Kubernetes' plugin leaves it, or the error.
func (p *pluginPair) askTheirs(t *testing.T, w *pluginWrite) (runtime.Object, error) {
	t.Helper()
	obj, old := internalForPlugin(t, w.obj), internalForPlugin(t, w.old)
	var options runtime.Object = &metav1.CreateOptions{}
	if w.op == theiradmission.Update {
		options = &metav1.UpdateOptions{}
	}
	var who user.Info
	if w.user != "" {
		who = &user.DefaultInfo{Name: w.user}
	}
	a := theiradmission.NewAttributesRecord(obj, old, w.kind, w.namespace, w.name, w.resource, w.sub, w.op, options, w.dryRun, who)
	if p.theirs.Handles(w.op) {
		if m, is := p.theirs.(theiradmission.MutationInterface); is {
			if err := m.Admit(t.Context(), a, nil); err != nil {
				return nil, err
			}
		}
		if v, is := p.theirs.(theiradmission.ValidationInterface); is {
			if err := v.Validate(t.Context(), a, nil); err != nil {
				return nil, err
			}
		}
	}
	if w.obj == nil {
		return nil, nil
	}
	after := reflect.New(reflect.TypeOf(w.obj).Elem()).Interface().(runtime.Object)
	must(legacyscheme.Scheme.Convert(obj, after, nil))
	return after, nil
}

func internalForPlugin(t *testing.T, obj runtime.Object) runtime.Object {
	t.Helper()
	if obj == nil {
		return nil
	}
	out, err := legacyscheme.Scheme.ConvertToVersion(obj.DeepCopyObject(), runtime.InternalGroupVersioner)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// askOurs returns the object as our plugin leaves it in Kubernetes' type, or the error.
func (p *pluginPair) askOurs(t *testing.T, w *pluginWrite) (runtime.Object, error) {
	t.Helper()
	a := &admission.Attributes{
		Operation: admission.Operation(w.op), Resource: meta.GroupVersionResource(w.resource), Kind: meta.GroupVersionKind(w.kind),
		Subresource: w.sub, Namespace: w.namespace, Name: w.name, DryRun: w.dryRun,
	}
	if w.user != "" {
		a.User = &request.User{Name: w.user}
	}
	if w.obj != nil {
		a.Object = w.decode(t, w.obj)
	}
	if w.old != nil {
		a.Old = w.decode(t, w.old)
	}
	if p.ours.Handles(a.Operation) {
		if m, is := p.ours.(admission.Mutator); is {
			if err := m.Mutate(t.Context(), a); err != nil {
				return nil, err
			}
		}
		if v, is := p.ours.(admission.Validator); is {
			if err := v.Validate(t.Context(), a); err != nil {
				return nil, err
			}
		}
	}
	if w.obj == nil {
		return nil, nil
	}
	text, err := json.Marshal(a.Object)
	if err != nil {
		t.Fatal(err)
	}
	after := reflect.New(reflect.TypeOf(w.obj).Elem()).Interface().(runtime.Object)
	if err := json.Unmarshal(text, after); err != nil {
		t.Fatal(err)
	}
	return after, nil
}

// pluginStatus shows what clients see of an error.
func pluginStatus(status any) string {
	var s metav1.Status
	must(json.Unmarshal(encode(status), &s))
	s.TypeMeta = metav1.TypeMeta{}
	return string(encode(s))
}
