//go:build cluster

package interop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const holdFinalizer = "example.com/hold"

// shouter keeps a Secret beside each ConfigMap, with the data in capitals. A finalizer makes sure
// that the Secret is deleted first.
type shouter struct{ client.Client }

func (r *shouter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cm corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &cm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
	if cm.DeletionTimestamp != nil {
		if err := r.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(&cm, holdFinalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, &cm))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&cm, holdFinalizer) {
		return ctrl.Result{}, r.Update(ctx, &cm)
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, secret, func() error {
		secret.Data = map[string][]byte{}
		for k, v := range cm.Data {
			secret.Data[k] = []byte(strings.ToUpper(v))
		}
		return controllerutil.SetControllerReference(&cm, secret, r.Scheme())
	})
	return ctrl.Result{}, err
}

// TestManager runs a controller-runtime manager with leader election, caches and an index.
func TestManager(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	c := shared.client(t)
	ns := namespace(t, c)
	ctx := t.Context()
	mgr, err := ctrl.NewManager(shared.config(t), ctrl.Options{
		Metrics:        metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "shouter", LeaderElectionNamespace: ns, LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	byValue := func(o client.Object) []string { return []string{o.(*corev1.ConfigMap).Data["word"]} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, "data.word", byValue); err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(&shouter{mgr.GetClient()}); err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) {
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
	<-mgr.Elected()
	maps, secrets := c.CoreV1().ConfigMaps(ns), c.CoreV1().Secrets(ns)
	shouted := func(name, want string) error {
		s, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err == nil && string(s.Data["word"]) != want {
			err = fmt.Errorf("secret %s holds %q, want %q", name, s.Data["word"], want)
		}
		return err
	}
	for i := range 20 {
		if _, err := maps.Create(ctx, configMap(fmt.Sprintf("c%d", i), "word", fmt.Sprintf("hello%d", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		eventually(t, 20*time.Second, func() error { return shouted(fmt.Sprintf("c%d", i), fmt.Sprintf("HELLO%d", i)) })
	}
	var found corev1.ConfigMapList
	if err := mgr.GetClient().List(ctx, &found, client.InNamespace(ns), client.MatchingFields{"data.word": "hello7"}); err != nil || len(found.Items) != 1 {
		t.Errorf("by index: got %d, %v; want 1", len(found.Items), err)
	}
	// The manager repairs what others break.
	if err := secrets.Delete(ctx, "c3", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error { return shouted("c3", "HELLO3") })
	if err := maps.Delete(ctx, "c4", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error {
		if _, err := maps.Get(ctx, "c4", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the ConfigMap: %v", err)
		}
		if _, err := secrets.Get(ctx, "c4", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Secret: %v", err)
		}
		return nil
	})
	checkManagerPatches(t, mgr, client.ObjectKey{Namespace: ns, Name: "c5"})
}

// checkManagerPatches patches with the manager's client and sees the patch through its cache.
func checkManagerPatches(t *testing.T, mgr ctrl.Manager, key client.ObjectKey) {
	t.Helper()
	ctx := t.Context()
	var cm corev1.ConfigMap
	if err := mgr.GetAPIReader().Get(ctx, key, &cm); err != nil {
		t.Fatal(err)
	}
	patch := client.MergeFromWithOptions(cm.DeepCopy(), client.MergeFromWithOptimisticLock{})
	cm.Data["word"] = "bye"
	if err := mgr.GetClient().Patch(ctx, &cm, patch); err != nil {
		t.Fatal(err)
	}
	if err := mgr.GetClient().Patch(ctx, &cm, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"resourceVersion":"1"},"data":{"x":"y"}}`))); !apierrors.IsConflict(err) {
		t.Errorf("stale patch: got %v, want Conflict", err)
	}
	eventually(t, 10*time.Second, func() error {
		var cached corev1.ConfigMap
		if err := mgr.GetClient().Get(ctx, key, &cached); err != nil || cached.Data["word"] != "bye" {
			return fmt.Errorf("the cache has %q, %v", cached.Data["word"], err)
		}
		return nil
	})
}

// TestControllersYield holds the Lease of a kube-controller-manager. As long as it does, the
// server's loops must rest; afterwards they must work.
func TestControllersYield(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), newServer(t, "--controllers=*").client(t)
	leads := make(chan struct{})
	config := leaderConfig(c, metav1.NamespaceSystem, "manager", true, leaderelection.LeaderCallbacks{
		OnStartedLeading: func(context.Context) { close(leads) },
		OnStoppedLeading: func() {},
	})
	config.Lock.(*resourcelock.LeaseLock).LeaseMeta.Name = "kube-controller-manager"
	letGo := background(t, func(ctx context.Context) { leaderelection.RunOrDie(ctx, config) })
	<-leads
	// leadsFor lasts until the Lease has been renewed for d more, and returns its revision.
	leadsFor := func(d time.Duration) string {
		var first time.Time
		for ; ; time.Sleep(20 * time.Millisecond) {
			lease, err := c.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "kube-controller-manager", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if first.IsZero() {
				first = lease.Spec.RenewTime.Time
			}
			if lease.Spec.RenewTime.Sub(first) >= d {
				return lease.ResourceVersion
			}
		}
	}
	leadsFor(500 * time.Millisecond) // time for the server to see the Lease and to end its loops
	ns := namespace(t, c)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := c.CoreV1().Services(ns).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := leadsFor(time.Second)
	letGo()
	for what, get := range map[string]func() (metav1.Object, error){
		"service account": func() (metav1.Object, error) {
			return c.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		},
		"certificates": func() (metav1.Object, error) {
			return c.CoreV1().ConfigMaps(ns).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		},
		"endpoints": func() (metav1.Object, error) { return c.CoreV1().Endpoints(ns).Get(ctx, "web", metav1.GetOptions{}) },
		"slice": func() (metav1.Object, error) {
			list, err := c.DiscoveryV1().EndpointSlices(ns).List(ctx, metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				return nil, fmt.Errorf("%d slices, %v", len(list.Items), err)
			}
			return &list.Items[0], nil
		},
	} {
		eventually(t, 30*time.Second, func() error {
			o, err := get()
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if n, _ := resourceversion.CompareResourceVersion(o.GetResourceVersion(), before); n <= 0 {
				t.Errorf("%s: made at %s, and another led at %s", what, o.GetResourceVersion(), before)
			}
			return nil
		})
	}
}
