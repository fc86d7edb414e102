package cluster

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// watch reads events until the watch ends, or until see returns an error.
func (c *client) watch(path string, see func(event object) error) error {
	resp, err := c.open(http.MethodGet, path+"&watch=1", "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &refusal{resp.StatusCode, path}
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		event, err := decode(lines.Bytes())
		if err == nil {
			err = see(event)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// informers are client-go's informers of some resources. They outlive the servers that they watch.
type informers struct {
	stores map[schema.GroupVersionResource]cache.Store
	lists  atomic.Int64
}

// followed are the resources of the informers.
var followed = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "services"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "cluster.example", Version: "v1", Resource: "gadgets"},
}

// follow starts informers that live until the end of the test.
func follow(t *testing.T, p *plane, s *server) *informers {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig("admin", "admin", s.base))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	all := &informers{stores: map[schema.GroupVersionResource]cache.Store{}}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for _, gvr := range followed {
		resource := client.Resource(gvr)
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				all.lists.Add(1)
				return resource.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents != nil && *o.SendInitialEvents {
					all.lists.Add(1)
				}
				return resource.Watch(ctx, o)
			},
		}
		store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: lw, ObjectType: &unstructured.Unstructured{}, Handler: cache.ResourceEventHandlerFuncs{},
		})
		all.stores[gvr] = store
		go controller.RunWithContext(ctx) // ends with the test
		eventually(t, 20*time.Second, func() error {
			if !controller.HasSynced() {
				return fmt.Errorf("the informer of %s has not listed yet", gvr)
			}
			return nil
		})
	}
	return all
}

// check wants the informers to have the same objects as the server, without a second list.
func (i *informers) check(t *testing.T, s *server) {
	t.Helper()
	if n := i.lists.Load(); n != int64(len(followed)) {
		t.Errorf("%d informers listed %d times", len(followed), n)
	}
	for _, gvr := range followed {
		root := "/apis/" + gvr.Group + "/" + gvr.Version
		if gvr.Group == "" {
			root = "/api/v1"
		}
		eventually(t, 20*time.Second, func() error {
			list, err := s.get(root + "/" + gvr.Resource)
			if err != nil {
				return err
			}
			for _, o := range items(list) {
				key := text(o, "metadata", "name")
				if ns := text(o, "metadata", "namespace"); ns != "" {
					key = ns + "/" + key
				}
				has, ok, err := i.stores[gvr].GetByKey(key)
				if err != nil || !ok {
					return fmt.Errorf("the informer of %s lacks %s: %v", gvr.Resource, key, err)
				}
				if got := has.(*unstructured.Unstructured).GetResourceVersion(); got != text(o, "metadata", "resourceVersion") {
					return fmt.Errorf("the informer of %s has %s of %s, not of %s", gvr.Resource, key, got, text(o, "metadata", "resourceVersion"))
				}
			}
			if n := len(i.stores[gvr].ListKeys()); n != len(items(list)) {
				return fmt.Errorf("the informer of %s has %d objects, not %d", gvr.Resource, n, len(items(list)))
			}
			return nil
		})
	}
}
