package interop

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// lanterns is the definition of lanterns in a group.
func lanterns(group string) *apiextensionsv1.CustomResourceDefinition {
	def := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lanterns." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "lanterns", Kind: "Lantern"},
		},
	}
	integer, object := apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: new(1.0)}, apiextensionsv1.JSONSchemaProps{Type: "object"}
	object.XPreserveUnknownFields = new(true)
	for version, field := range map[string]string{"v1": "candles", "v2": "lumens"} {
		def.Spec.Versions = append(def.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: version == "v2",
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"spec":   {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{field: integer}},
					"status": object,
				},
			}},
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		})
	}
	return def
}

// definitionClient returns the client of definitions, in JSON or protobuf.
func definitionClient(t *testing.T, config *rest.Config, contentType string) apiextensions.Interface {
	t.Helper()
	config.ContentType = contentType
	c, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDefinitionClient creates, changes and deletes a definition with the typed client, in both
// encodings.
func TestDefinitionClient(t *testing.T) {
	t.Parallel()
	for name, contentType := range map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"} {
		t.Run(name, func(t *testing.T) {
			ctx, def := t.Context(), lanterns(name+".example.com")
			crds := definitionClient(t, shared.config(t), contentType).ApiextensionsV1().CustomResourceDefinitions()
			only := metav1.ListOptions{FieldSelector: "metadata.name=" + def.Name}
			w, err := crds.Watch(ctx, only)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			made, err := crds.Create(ctx, def, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if v := made.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties; len(v) != 1 {
				t.Errorf("the schema came back as %v", v)
			}
			until(t, w, func(e watch.Event) bool {
				for _, c := range e.Object.(*apiextensionsv1.CustomResourceDefinition).Status.Conditions {
					if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
						return true
					}
				}
				return false
			})
			patched, err := crds.Patch(ctx, def.Name, types.MergePatchType, []byte(`{"spec":{"names":{"shortNames":["ln"]}}}`), metav1.PatchOptions{})
			if err != nil || patched.Generation != 2 {
				t.Errorf("patch: got %v, %v", patched, err)
			}
			until(t, w, func(e watch.Event) bool {
				return len(e.Object.(*apiextensionsv1.CustomResourceDefinition).Status.AcceptedNames.ShortNames) == 1
			})
			list, err := crds.List(ctx, only)
			if err != nil || len(list.Items) != 1 || list.Items[0].UID != made.UID {
				t.Errorf("list: got %v, %v", list, err)
			}
			bad := lanterns("Bad_" + name)
			if _, err := crds.Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
				t.Errorf("a bad group: got %v, want Invalid", err)
			}
			if err := crds.Delete(ctx, def.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			until(t, w, func(e watch.Event) bool { return e.Type == watch.Deleted })
		})
	}
}

// until reads events up to the first for which is returns true.
func until(t *testing.T, w watch.Interface, is func(watch.Event) bool) {
	t.Helper()
	for limit := time.After(20 * time.Second); ; {
		select {
		case e, ok := <-w.ResultChan():
			if !ok || e.Type == watch.Error {
				t.Fatalf("the watch ended: %v", e.Object)
			}
			if is(e) {
				return
			}
		case <-limit:
			t.Fatal("the event did not come")
		}
	}
}

// install creates a definition, and waits until discovery shows all of its versions.
func install(t *testing.T, s *server, def *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	crds := definitionClient(t, s.config(t), "application/json").ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Create(t.Context(), def, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	discovery := s.client(t).Discovery()
	eventually(t, 20*time.Second, func() error {
		for _, v := range def.Spec.Versions {
			if _, err := discovery.ServerResourcesForGroupVersion(def.Spec.Group + "/" + v.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestDeleteFullDefinition has kubectl delete a definition with many instances.
func TestDeleteFullDefinition(t *testing.T) {
	t.Parallel()
	const count, writers, group = 5000, 32, "full.example.com"
	ctx, s := t.Context(), newServer(t)
	install(t, s, lanterns(group))
	c, err := dynamic.NewForConfig(s.config(t))
	if err != nil {
		t.Fatal(err)
	}
	objects := c.Resource(schema.GroupVersionResource{Group: group, Version: "v2", Resource: "lanterns"}).Namespace("default")
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			for i := w; i < count && errs[w] == nil; i += writers {
				_, errs[w] = objects.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": group + "/v2", "kind": "Lantern", "metadata": map[string]any{"name": fmt.Sprintf("l%d", i)},
				}}, metav1.CreateOptions{})
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, programs.kubectl, "--kubeconfig", s.kubeconfig(), "--cache-dir", filepath.Join(t.TempDir(), "cache"),
		"delete", "crd", "lanterns."+group, "--timeout=60s")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("delete: %v\n%s", err, out)
	}
	if _, err := objects.List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list: got %v, want NotFound", err)
	}
	// A new definition of the same name has no instances.
	install(t, s, lanterns(group))
	if list, err := objects.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("list: got %d objects, %v, want none", len(list.Items), err)
	}
}
