package interop

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// configMap returns an object to create.
func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{}}
	for i := 0; i+1 < len(data); i += 2 {
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

// next returns the next event of a watch.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch ended")
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event within 10 s")
	}
	return watch.Event{}
}

// TestTypedClient calls every method of a typed client, in both encodings.
func TestTypedClient(t *testing.T) {
	for _, tt := range []struct{ name, contentType string }{
		{"json", "application/json"},
		{"protobuf", "application/vnd.kubernetes.protobuf"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := shared.config(t)
			config.ContentType, config.AcceptContentTypes = tt.contentType, tt.contentType
			seen := watchRequests(config)
			c := clientset(t, config)
			typedClient(t, c.CoreV1().ConfigMaps(namespace(t, c)))
			for _, x := range seen.take() {
				if !strings.HasPrefix(x.contentType, tt.contentType) {
					t.Errorf("%s %s?%s: got %s, want %s", x.method, x.path, x.query, x.contentType, tt.contentType)
				}
			}
		})
	}
}

// TestStorages does the same as TestTypedClient on the storage engines that other tests do not use.
func TestStorages(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"memory", []string{"--storage=memory"}},
		{"file", []string{"--storage=file"}},
		{"protobuf", []string{"--storage-media-type=application/vnd.kubernetes.protobuf"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newServer(t, tt.args...).client(t)
			typedClient(t, c.CoreV1().ConfigMaps(namespace(t, c)))
		})
	}
}

type configMapClient interface {
	Create(ctx context.Context, cm *corev1.ConfigMap, opts metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, cm *corev1.ConfigMap, opts metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, listOpts metav1.ListOptions) error
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.ConfigMap, error)
	List(ctx context.Context, opts metav1.ListOptions) (*corev1.ConfigMapList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.ConfigMap, error)
}

func typedClient(t *testing.T, c configMapClient) {
	ctx := t.Context()
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 || list.ResourceVersion == "" {
		t.Fatalf("empty List: %v, %v", list, err)
	}
	w, err := c.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	a, err := c.Create(ctx, configMap("a", "k", "1"), metav1.CreateOptions{FieldManager: "tester"})
	if err != nil || a.UID == "" || a.CreationTimestamp.IsZero() {
		t.Fatalf("Create: %v, %v", a, err)
	}
	if _, err := c.Create(ctx, configMap("a"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("second Create: got %v, want AlreadyExists", err)
	}
	if _, err := c.Create(ctx, configMap("b", "no/slash", "1"), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("invalid Create: got %v, want Invalid", err)
	}
	if _, err := c.Create(ctx, configMap("dry"), metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Errorf("dry Create: %v", err)
	}
	stale := a.DeepCopy()
	a.Data["k"] = "2"
	if a, err = c.Update(ctx, a, metav1.UpdateOptions{}); err != nil || a.Data["k"] != "2" {
		t.Fatalf("Update: %v, %v", a, err)
	}
	stale.Data["k"] = "3"
	if _, err := c.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("stale Update: got %v, want Conflict", err)
	}
	for i, p := range []struct {
		kind types.PatchType
		data string
	}{
		{types.MergePatchType, `{"data":{"m":"1"}}`},
		{types.StrategicMergePatchType, `{"data":{"s":"1"}}`},
		{types.JSONPatchType, `[{"op":"add","path":"/data/j","value":"1"}]`},
	} {
		if a, err = c.Patch(ctx, "a", p.kind, []byte(p.data), metav1.PatchOptions{}); err != nil || len(a.Data) != i+2 {
			t.Errorf("Patch(%s): %v, %v", p.kind, a, err)
		}
	}
	old, err := c.Get(ctx, "a", metav1.GetOptions{ResourceVersion: "0"})
	if err != nil || old.UID != a.UID {
		t.Errorf("Get at any revision: %v, %v", old, err)
	}
	wrong := types.UID("wrong")
	if err := c.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(err) {
		t.Errorf("Delete of another: got %v, want Conflict", err)
	}
	if err := c.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if _, err := c.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get: got %v, want NotFound", err)
	}
	var got []string
	for range 6 {
		e := next(t, w)
		got = append(got, string(e.Type))
	}
	if want := []string{"ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"}; !slices.Equal(got, want) {
		t.Errorf("watch: got %v, want %v", got, want)
	}
	typedCollection(t, c)
}

func typedCollection(t *testing.T, c configMapClient) {
	ctx := t.Context()
	for i := range 10 {
		cm := configMap(fmt.Sprintf("c%d", i))
		cm.Labels = map[string]string{"odd": strconv.FormatBool(i%2 == 1)}
		if _, err := c.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	odd := metav1.ListOptions{LabelSelector: "odd=true"}
	if list, err := c.List(ctx, odd); err != nil || len(list.Items) != 5 {
		t.Errorf("List(odd): got %d, %v; want 5", len(list.Items), err)
	}
	if err := c.DeleteCollection(ctx, metav1.DeleteOptions{}, odd); err != nil {
		t.Errorf("DeleteCollection: %v", err)
	}
	if list, err := c.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 5 {
		t.Errorf("List: got %d, %v; want 5", len(list.Items), err)
	}
}

// TestPager reads a list in pages of several sizes. All pages show one revision, whatever is
// written meanwhile.
func TestPager(t *testing.T) {
	t.Parallel()
	c := shared.client(t)
	maps := c.CoreV1().ConfigMaps(namespace(t, c))
	const n = 57
	for i := range n {
		if _, err := maps.Create(t.Context(), configMap(fmt.Sprintf("c%02d", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int64{1, 10, 19, 56, 57, 58} {
		pages, first := 0, ""
		p := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := maps.List(ctx, opts)
			if err != nil {
				return nil, err
			}
			if first == "" {
				first = list.ResourceVersion
			}
			if pages++; list.ResourceVersion != first {
				t.Errorf("page %d of %d: got revision %s, want %s", pages, size, list.ResourceVersion, first)
			}
			if remaining := list.RemainingItemCount; remaining != nil && *remaining != n-int64(pages)*size {
				t.Errorf("page %d of %d: got %d remaining", pages, size, *remaining)
			}
			if pages == 1 {
				name := fmt.Sprintf("between-%d", size)
				if _, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
					return nil, err
				}
				if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
					return nil, err
				}
			}
			return list, nil
		})
		p.PageSize = size
		var names []string
		err := p.EachListItem(t.Context(), metav1.ListOptions{}, func(o runtime.Object) error {
			names = append(names, o.(*corev1.ConfigMap).Name)
			return nil
		})
		if err != nil || len(names) != n || !slices.IsSorted(names) || pages != (n+int(size)-1)/int(size) {
			t.Errorf("pages of %d: got %d items on %d pages, %v", size, len(names), pages, err)
		}
	}
}

// TestRetryOnConflict has many clients increment a counter in one object. No increment is lost.
func TestRetryOnConflict(t *testing.T) {
	t.Parallel()
	c := shared.client(t)
	maps := c.CoreV1().ConfigMaps(namespace(t, c))
	if _, err := maps.Create(t.Context(), configMap("counter", "n", "0"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const workers, each = 8, 25
	backoff := retry.DefaultBackoff
	backoff.Steps, backoff.Duration, backoff.Factor, backoff.Jitter = 200, time.Millisecond, 1, 1
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				err := retry.RetryOnConflict(backoff, func() error {
					cm, err := maps.Get(t.Context(), "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(cm.Data["n"])
					if err != nil {
						return err
					}
					cm.Data["n"] = strconv.Itoa(n + 1)
					_, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	cm, err := maps.Get(t.Context(), "counter", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cm.Data["n"], strconv.Itoa(workers*each); got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
}

func TestDynamicClient(t *testing.T) {
	t.Parallel()
	d, err := dynamic.NewForConfig(shared.config(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c := d.Resource(configMaps).Namespace(namespace(t, shared.client(t)))
	w, err := c.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"generateName": "dyn-"},
		"data":     map[string]any{"a": "b"},
	}}
	if u, err = c.Create(ctx, u, metav1.CreateOptions{}); err != nil || !strings.HasPrefix(u.GetName(), "dyn-") {
		t.Fatalf("Create: %v, %v", u, err)
	}
	if err := unstructured.SetNestedField(u.Object, "c", "data", "a"); err != nil {
		t.Fatal(err)
	}
	if u, err = c.Update(ctx, u, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("Update: %v", err)
	}
	if u, err = c.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"data":{"d":"e"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatalf("Patch: %v", err)
	}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil || data["a"] != "c" || data["d"] != "e" {
		t.Errorf("data: got %v, %v", data, err)
	}
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetKind() != "ConfigMap" || list.GetKind() != "ConfigMapList" {
		t.Errorf("List: %v, %v", list, err)
	}
	if err := c.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Errorf("Delete: %v", err)
	}
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted} {
		if e := next(t, w); e.Type != want || e.Object.(*unstructured.Unstructured).GetName() != u.GetName() {
			t.Errorf("watch: got %s of %v, want %s", e.Type, e.Object, want)
		}
	}
}

func TestMetadataClient(t *testing.T) {
	t.Parallel()
	config := shared.config(t)
	seen := watchRequests(config)
	m, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	typed := shared.client(t)
	ns := namespace(t, typed)
	ctx := t.Context()
	if _, err := typed.CoreV1().ConfigMaps(ns).Create(ctx, configMap("a", "big", strings.Repeat("x", 10_000)), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := m.Resource(configMaps).Namespace(ns)
	one, err := c.Get(ctx, "a", metav1.GetOptions{})
	if err != nil || one.Name != "a" || one.UID == "" {
		t.Errorf("Get: %v, %v", one, err)
	}
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].UID != one.UID {
		t.Fatalf("List: %v, %v", list, err)
	}
	w, err := c.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	patched, err := c.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil || patched.Labels["a"] != "b" {
		t.Errorf("Patch: %v, %v", patched, err)
	}
	if e := next(t, w); e.Type != watch.Modified || e.Object.(*metav1.PartialObjectMetadata).Labels["a"] != "b" {
		t.Errorf("watch: got %v", e)
	}
	if err := c.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Errorf("Delete: %v", err)
	}
	for _, x := range seen.take() {
		if x.status >= 300 {
			t.Errorf("%v", x)
		}
	}
}

// TestDiscovery asks as the discovery client does: two requests, aggregated.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	config := shared.config(t)
	seen := watchRequests(config)
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, resources, err := c.ServerGroupsAndResources()
	if err != nil || len(groups) < 2 {
		t.Fatalf("groups: %v, %v", groups, err)
	}
	exchanges := seen.take()
	if len(exchanges) != 2 {
		t.Errorf("got %d requests, want 2: %v", len(exchanges), exchanges)
	}
	for _, x := range exchanges {
		if !strings.Contains(x.contentType, "as=APIGroupDiscoveryList") {
			t.Errorf("%s is not aggregated: %s", x.path, x.contentType)
		}
	}
	for _, version := range resources {
		if strings.Contains(version.GroupVersion, ".example.com/") {
			continue // another test may have deleted this definition
		}
		plain, err := c.WithLegacy().ServerResourcesForGroupVersion(version.GroupVersion)
		if err != nil {
			t.Errorf("%s: %v", version.GroupVersion, err)
			continue
		}
		names := func(l *metav1.APIResourceList) []string {
			var all []string
			for _, r := range l.APIResources {
				slices.Sort(r.Verbs)
				slices.Sort(r.ShortNames)
				all = append(all, fmt.Sprintf("%s %s %v %v %v %v", r.Name, r.Kind, r.Namespaced, r.Verbs, r.ShortNames, r.Categories))
			}
			slices.Sort(all)
			return all
		}
		if got, want := names(version), names(plain); !slices.Equal(got, want) {
			t.Errorf("%s: aggregated and plain discovery differ:\n%v\n%v", version.GroupVersion, got, want)
		}
	}
	apiGroups, err := restmapper.GetAPIGroupResources(c)
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := restmapper.NewDiscoveryRESTMapper(apiGroups).RESTMapping(schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"})
	if err != nil || mapping.Resource.Resource != "leases" {
		t.Errorf("RESTMapping: %v, %v", mapping, err)
	}
	if v, err := c.ServerVersion(); err != nil || v.Major != "1" {
		t.Errorf("ServerVersion: %v, %v", v, err)
	}
	if doc, err := c.OpenAPISchema(); err != nil || doc.GetDefinitions() == nil {
		t.Errorf("OpenAPI v2: %v", err)
	}
	paths, err := c.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	for path, gv := range paths {
		if _, err := gv.Schema("application/json"); err != nil {
			t.Errorf("OpenAPI v3 of %s: %v", path, err)
		}
	}
}

// TestEventRecorder records an event repeatedly. The server must have one object with a count.
func TestEventRecorder(t *testing.T) {
	t.Parallel()
	c := shared.client(t)
	ns := namespace(t, c)
	b := record.NewBroadcaster()
	defer b.Shutdown()
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.CoreV1().Events(ns)})
	r := b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "tester"})
	cm, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.Event(cm, corev1.EventTypeWarning, "Broken", "it is broken")
	}
	eventually(t, 10*time.Second, func() error {
		list, err := c.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=a,type=Warning"})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Count != 3 {
			return fmt.Errorf("got %d events", len(list.Items))
		}
		return nil
	})
}
