//go:build cluster

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Lanterns are a kind in two versions of a group: v2, which is stored, has lumens; v1 has candles.
// Each test has a group of its own.
type lanternSpec struct {
	Candles int64 `json:"candles,omitempty"` // of v1
	Lumens  int64 `json:"lumens,omitempty"`  // of v2
}

type lanternStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type lanternV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              lanternSpec   `json:"spec,omitempty"`
	Status            lanternStatus `json:"status,omitempty"`
}

type lanternV2 lanternV1

func (l *lanternV1) DeepCopyObject() runtime.Object { return deepCopy(l, &lanternV1{}) }
func (l *lanternV2) DeepCopyObject() runtime.Object { return deepCopy(l, &lanternV2{}) }

type lanternV2List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []lanternV2 `json:"items"`
}

func (l *lanternV2List) DeepCopyObject() runtime.Object { return deepCopy(l, &lanternV2List{}) }

func deepCopy(from, to runtime.Object) runtime.Object {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(err)
	}
	return to
}

// Hub makes v2 controller-runtime's hub for conversions.
func (*lanternV2) Hub() {}

const lumensOfCandle = 12

func (l *lanternV1) ConvertTo(hub conversion.Hub) error {
	v2 := hub.(*lanternV2)
	v2.ObjectMeta, v2.Spec.Lumens, v2.Status = l.ObjectMeta, l.Spec.Candles*lumensOfCandle, l.Status
	return nil
}

func (l *lanternV1) ConvertFrom(hub conversion.Hub) error {
	v2 := hub.(*lanternV2)
	if v2.Spec.Lumens%lumensOfCandle != 0 {
		return fmt.Errorf("no number of candles has %d lumens", v2.Spec.Lumens)
	}
	l.ObjectMeta, l.Spec.Candles, l.Status = v2.ObjectMeta, v2.Spec.Lumens/lumensOfCandle, v2.Status
	return nil
}

// lanternScheme returns client-go's scheme with lanterns of a group added.
func lanternScheme(t *testing.T, group string) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for version, types := range map[string]map[string]runtime.Object{
		"v1": {"Lantern": &lanternV1{}}, "v2": {"Lantern": &lanternV2{}, "LanternList": &lanternV2List{}},
	} {
		gv := schema.GroupVersion{Group: group, Version: version}
		for kind, typ := range types {
			s.AddKnownTypeWithName(gv.WithKind(kind), typ)
		}
		metav1.AddToGroupVersion(s, gv)
	}
	return s
}

// lighter reconciles lanterns: each gets a config map of its own, and then a condition.
type lighter struct{ client.Client }

func (r *lighter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var l lanternV2
	if err := r.Get(ctx, req.NamespacedName, &l); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	light := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name}}
	if l.DeletionTimestamp != nil {
		if err := r.Delete(ctx, light); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(&l, holdFinalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, &l))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&l, holdFinalizer) {
		return ctrl.Result{}, r.Update(ctx, &l)
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, light, func() error {
		light.Data = map[string]string{"lumens": fmt.Sprint(l.Spec.Lumens)}
		return controllerutil.SetControllerReference(&l, light, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	lit := metav1.Condition{Type: "Lit", Status: metav1.ConditionTrue, Reason: "Made", ObservedGeneration: l.Generation}
	if meta.SetStatusCondition(&l.Status.Conditions, lit) {
		return ctrl.Result{}, r.Status().Update(ctx, &l)
	}
	return ctrl.Result{}, nil
}

// TestCustomManager installs a definition as envtest does, and runs a manager that reconciles and
// converts its instances.
func TestCustomManager(t *testing.T) {
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	const group = "manager.example.com"
	config, types := shared.config(t), lanternScheme(t, group)
	ns := namespace(t, shared.client(t))
	hooks := envtest.WebhookInstallOptions{}
	if err := hooks.PrepWithoutInstalling(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hooks.Cleanup() })
	options := envtest.CRDInstallOptions{
		Scheme: types, CRDs: []*apiextensionsv1.CustomResourceDefinition{lanterns(group)}, WebhookOptions: hooks, PollInterval: 10 * time.Millisecond,
	}
	if _, err := envtest.InstallCRDs(config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(config, options); err != nil {
			t.Error(err)
		}
	})
	manageLanterns(t, config, types, ns, webhook.Options{
		Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
	})
}

// manageLanterns runs a manager that reconciles lanterns in a namespace, and converts them by a
// webhook.
func manageLanterns(t *testing.T, config *rest.Config, types *runtime.Scheme, ns string, serving webhook.Options) {
	t.Helper()
	ctx, c := t.Context(), clientset(t, config)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: types, Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(serving), Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	hooks := ctrl.NewWebhookManagedBy(mgr, &lanternV2{}).WithDefaulter(lanternHooks{}).WithValidator(lanternHooks{})
	if err := hooks.Complete(); err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&lanternV2{}).Owns(&corev1.ConfigMap{}).Complete(&lighter{mgr.GetClient()}); err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) {
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the manager: %v", err)
		}
	})
	<-mgr.Elected()
	eventually(t, 10*time.Second, func() error { return mgr.GetWebhookServer().StartedChecker()(nil) })

	direct, err := client.New(config, client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	const count = 10
	for i := range count { // in the version that is not stored
		l := &lanternV1{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("l%d", i)}, Spec: lanternSpec{Candles: int64(i + 1)}}
		if err := direct.Create(ctx, l); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		key := client.ObjectKey{Namespace: ns, Name: fmt.Sprintf("l%d", i)}
		eventually(t, 20*time.Second, func() error {
			var l lanternV1
			if err := direct.Get(ctx, key, &l); err != nil {
				return err
			}
			if l.Spec.Candles != int64(i+1) || !meta.IsStatusConditionTrue(l.Status.Conditions, "Lit") {
				return fmt.Errorf("%s: %d candles, the conditions %v", key, l.Spec.Candles, l.Status.Conditions)
			}
			return nil
		})
		light, err := c.CoreV1().ConfigMaps(ns).Get(ctx, key.Name, metav1.GetOptions{})
		if want := fmt.Sprint((i + 1) * lumensOfCandle); err != nil || light.Data["lumens"] != want || len(light.OwnerReferences) != 1 {
			t.Errorf("%s: got %v of %v, %v, want %s lumens", key, light.Data, light.OwnerReferences, err, want)
		}
	}
	checkLanternVersions(t, direct, ns)
	// The manager repairs what others break, and a finalizer keeps the lantern until its config map
	// is deleted.
	if err := c.CoreV1().ConfigMaps(ns).Delete(ctx, "l2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error {
		_, err := c.CoreV1().ConfigMaps(ns).Get(ctx, "l2", metav1.GetOptions{})
		return err
	})
	if err := direct.DeleteAllOf(ctx, &lanternV2{}, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func() error {
		var left lanternV2List
		if err := direct.List(ctx, &left, client.InNamespace(ns)); err != nil || len(left.Items) > 0 {
			return fmt.Errorf("%d lanterns are left, %v", len(left.Items), err)
		}
		_, err := c.CoreV1().ConfigMaps(ns).Get(ctx, "l0", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the config map of a deleted lantern: %v", err)
		}
		return nil
	})
}

// checkLanternVersions wants an object that cannot be converted to fail only the reads that need
// its conversion.
func checkLanternVersions(t *testing.T, c client.Client, ns string) {
	t.Helper()
	odd := &lanternV2{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "odd"}, Spec: lanternSpec{Lumens: 5}}
	if err := c.Create(t.Context(), odd); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(odd), &lanternV2{}); err != nil {
		t.Errorf("as it is stored: %v", err)
	}
	err := c.Get(t.Context(), client.ObjectKeyFromObject(odd), &lanternV1{})
	if err == nil || !apierrors.IsInternalError(err) && apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("in another version: got %v, want that it cannot be converted", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "l1"}, &lanternV1{}); err != nil {
		t.Errorf("another lantern: %v", err)
	}
}
