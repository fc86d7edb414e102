package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// discoveryLag bounds the time after which discovery at another server shows a change.
const discoveryLag = 100 * time.Millisecond

// TestPairDiscovers creates, changes and deletes definitions at one server, and measures how long
// discovery at another server on the same etcd takes to show it. Time runs from when a definition
// is established, its new version is answered, or it is gone. The bound is for the median, because
// the machine is shared.
func TestPairDiscovers(t *testing.T) {
	t.Parallel()
	const rounds = 30
	pair := newPair(t)
	config := pair[0].config(t)
	here := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	there := pair[1].client(t).Discovery().RESTClient()
	var created, changed, deleted []time.Duration
	for i := range rounds {
		def := lanterns(fmt.Sprintf("pair%d.example.com", i))
		v1, name := def.Spec.Versions[0].Name, def.Name
		def.Spec.Versions = def.Spec.Versions[:1]
		def.Spec.Versions[0].Storage = true
		def, err := here.Create(t.Context(), def, metav1.CreateOptions{})
		for err == nil && !established(def) {
			def, err = here.Get(t.Context(), name, metav1.GetOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		created = append(created, discovered(t, there, def.Spec.Group, v1, true))

		next := *def.Spec.Versions[0].DeepCopy()
		next.Name, next.Storage = "v3", false
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": append(def.Spec.Versions, next)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := here.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		changed = append(changed, discovered(t, there, def.Spec.Group, "v3", true))

		for err = here.Delete(t.Context(), name, metav1.DeleteOptions{}); err == nil; {
			_, err = here.Get(t.Context(), name, metav1.GetOptions{})
		}
		if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		deleted = append(deleted, discovered(t, there, def.Spec.Group, v1, false))
	}
	for what, took := range map[string][]time.Duration{"created": created, "changed": changed, "deleted": deleted} {
		slices.Sort(took)
		at := func(q float64) time.Duration { return took[int(q*(rounds-1))].Round(100 * time.Microsecond) }
		t.Logf("%s: shortest %v, median %v, nine tenths %v, longest %v", what, at(0), at(.5), at(.9), at(1))
		if at(.5) > discoveryLag {
			t.Errorf("%s: discovery at the other server follows after %v, want at most %v", what, at(.5), discoveryLag)
		}
	}
}

func established(def *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(def.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// discovered returns how long it takes until a server shows lanterns of a group version, or no
// longer does: in the list of groups, in the list of resources, and in the aggregated document.
func discovered(t *testing.T, server rest.Interface, group, version string, want bool) time.Duration {
	t.Helper()
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	begun := time.Now()
	for _, doc := range []struct{ path, accept, text string }{
		{"/apis", "application/json", `"` + group + "/" + version + `"`},
		{"/apis/" + group + "/" + version, "application/json", `"lanterns"`},
		{"/apis", aggregated, `"name":"` + group + `"`},
		{"/apis", aggregated, `"responseKind":{"group":"` + group + `","version":"` + version + `","kind":"Lantern"}`},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		for shown := !want; shown != want; {
			data, err := server.Get().AbsPath(doc.path).SetHeader("Accept", doc.accept).DoRaw(ctx)
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			shown = strings.Contains(string(data), doc.text)
		}
		cancel()
	}
	return time.Since(begun)
}
