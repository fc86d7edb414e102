package interop

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestOperatorApplies applies objects as operators do with controller-runtime.
func TestOperatorApplies(t *testing.T) {
	t.Parallel()
	ctx, ns := t.Context(), namespace(t, shared.client(t))
	all, err := client.New(shared.config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.WithFieldOwner(all, "operator")
	key := client.ObjectKey{Namespace: ns, Name: "web"}
	labels := map[string]string{"app": "web"}
	desired := func(replicas int32, annotations map[string]string) *applyappsv1.DeploymentApplyConfiguration {
		return applyappsv1.Deployment(key.Name, ns).WithAnnotations(annotations).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(replicas).
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(applycorev1.PodTemplateSpec().WithLabels(labels).WithSpec(podSpec("a:1"))))
	}
	// The client writes the answer into the applied configuration.
	first := desired(1, map[string]string{"a": "1", "b": "2"})
	err = c.Apply(ctx, first)
	if err != nil || first.UID == nil || *first.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Fatalf("Apply: %v; got uid %v", err, first.UID)
	}

	// Another manager takes over the replicas. The rest can be applied without force.
	scaler := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": key.Name, "namespace": ns}, "spec": map[string]any{"replicas": int64(5)}}}
	conf := client.ApplyConfigurationFromUnstructured(scaler.DeepCopy())
	wantApplyConflict(t, all.Apply(ctx, conf, client.FieldOwner("scaler")), "operator", ".spec.replicas")
	if err := all.Apply(ctx, conf, client.FieldOwner("scaler"), client.ForceOwnership); err != nil {
		t.Fatalf("Apply by force: %v", err)
	}
	wantApplyConflict(t, c.Apply(ctx, desired(1, nil)), "scaler", ".spec.replicas")
	given := desired(1, map[string]string{"b": "2"}) // removes the annotation a
	given.Spec.Replicas = nil
	if err := c.Apply(ctx, given); err != nil {
		t.Fatalf("Apply of the other fields: %v", err)
	}
	var got appsv1.Deployment
	if err := c.Get(ctx, key, &got); err != nil || *got.Spec.Replicas != 5 || got.Annotations["a"] != "" || got.Annotations["b"] != "2" {
		t.Errorf("got %d replicas, annotations %v, %v", *got.Spec.Replicas, got.Annotations, err)
	}

	// The status is a door of its own: its owners are other ones.
	generation := got.Generation
	for _, status := range []*applyappsv1.DeploymentStatusApplyConfiguration{
		applyappsv1.DeploymentStatus().WithReplicas(5).WithObservedGeneration(generation),
		applyappsv1.DeploymentStatus().WithReplicas(4),
	} {
		want := *status.Replicas
		told := applyappsv1.Deployment(key.Name, ns).WithStatus(status)
		if err := c.Status().Apply(ctx, told, client.FieldOwner("observer")); err != nil || *told.Status.Replicas != want {
			t.Errorf("Apply of the status: %v; got %d replicas, want %d", err, *told.Status.Replicas, want)
		}
	}
	if err := c.Get(ctx, key, &got); err != nil || got.Status.Replicas != 4 || got.Status.ObservedGeneration != 0 || got.Generation != generation {
		t.Errorf("got status %+v of generation %d, %v", got.Status, got.Generation, err)
	}
	if got, want := owners(got.ManagedFields), []string{"observer Apply status", "operator Apply", "scaler Apply"}; !slices.Equal(got, want) {
		t.Errorf("got owners %q, want %q", got, want)
	}

	// The older way: a patch with an object.
	cm := configMap("old", "k", "1")
	cm.TypeMeta, cm.Namespace = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ns
	apply := client.Apply // deprecated, but most operators use it
	if err := c.Patch(ctx, cm.DeepCopy(), apply); err != nil {
		t.Fatalf("Patch: %v", err)
	}
	cm.Data["k"] = "2"
	wantApplyConflict(t, c.Patch(ctx, cm.DeepCopy(), apply, client.FieldOwner("other")), "operator", ".data.k")
	if err := c.Patch(ctx, cm, apply, client.FieldOwner("other"), client.ForceOwnership); err != nil || cm.Data["k"] != "2" {
		t.Errorf("Patch by force: %v, %v", cm.Data, err)
	}
	// The answer has managedFields, so it cannot be applied again unchanged.
	if err := c.Patch(ctx, cm, apply); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "metadata.managedFields must be nil") {
		t.Errorf("Patch with owners: got %v", err)
	}
}

// owners lists the managers in managedFields with their operation and subresource, sorted.
func owners(entries []metav1.ManagedFieldsEntry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSpace(e.Manager+" "+string(e.Operation)+" "+e.Subresource))
	}
	slices.Sort(list)
	return list
}

// TestUpgradeToApply has client-go move the fields that a client owns by updates to server-side
// apply, as tools do that once computed patches themselves.
func TestUpgradeToApply(t *testing.T) {
	t.Parallel()
	ctx, cs := t.Context(), shared.client(t)
	c := cs.CoreV1().ConfigMaps(namespace(t, cs))
	if _, err := c.Create(ctx, configMap("a", "k", "1", "gone", "1"), metav1.CreateOptions{FieldManager: "tool-old"}); err != nil {
		t.Fatal(err)
	}
	conf := func(v string) *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("a", "").WithData(map[string]string{"k": v})
	}
	if _, err := c.Apply(ctx, conf("1"), metav1.ApplyOptions{FieldManager: "tool"}); err != nil {
		t.Fatal(err)
	}
	cm, err := c.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"other":"1"}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	owning := func(op metav1.ManagedFieldsOperationType, key string) []string {
		return owners(csaupgrade.FindFieldsOwners(cm.ManagedFields, op, fieldpath.NewSet(fieldpath.MakePathOrDie("data", key))))
	}
	if got := owning(metav1.ManagedFieldsOperationUpdate, "gone"); !slices.Equal(got, []string{"tool-old Update"}) {
		t.Errorf("gone is owned by %q", got)
	}
	stale, err := csaupgrade.UpgradeManagedFieldsPatch(cm, sets.New("tool-old"), "tool")
	if err != nil || stale == nil {
		t.Fatalf("the patch: %s, %v", stale, err)
	}
	cm, err = c.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"other":"2"}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Patch(ctx, "a", types.JSONPatchType, stale, metav1.PatchOptions{FieldManager: "upgrader"}); !apierrors.IsConflict(err) {
		t.Errorf("a stale patch of the owners: got %v, want Conflict", err)
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(cm, sets.New("tool-old"), "tool")
	if err != nil {
		t.Fatal(err)
	}
	if cm, err = c.Patch(ctx, "a", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "upgrader"}); err != nil {
		t.Fatalf("the patch of the owners: %v", err)
	}
	if got, want := owners(cm.ManagedFields), []string{"somebody Update", "tool Apply"}; !slices.Equal(got, want) {
		t.Errorf("got owners %q, want %q", got, want)
	}
	if got := owning(metav1.ManagedFieldsOperationApply, "gone"); !slices.Equal(got, []string{"tool Apply"}) {
		t.Errorf("gone is owned by %q", got)
	}
	// So a field that the tool no longer lists is removed, and a field of another manager stays.
	if cm, err = c.Apply(ctx, conf("2"), metav1.ApplyOptions{FieldManager: "tool"}); err != nil {
		t.Fatal(err)
	}
	if len(cm.Data) != 2 || cm.Data["k"] != "2" || cm.Data["other"] != "2" {
		t.Errorf("got %v", cm.Data)
	}
	// The other way: the client updates the object with changed managedFields.
	if err := csaupgrade.UpgradeManagedFields(cm, sets.New("somebody"), "somebody-else"); err != nil {
		t.Fatal(err)
	}
	if cm, err = c.Update(ctx, cm, metav1.UpdateOptions{FieldManager: "upgrader"}); err != nil {
		t.Fatal(err)
	}
	if got, want := owners(cm.ManagedFields), []string{"somebody-else Apply", "tool Apply"}; !slices.Equal(got, want) {
		t.Errorf("got owners %q, want %q", got, want)
	}
	// A client can also remove all managedFields.
	cm, err = c.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), metav1.PatchOptions{})
	if err != nil || cm.ManagedFields != nil {
		t.Errorf("stripped: got %v, %v", cm.ManagedFields, err)
	}
}
