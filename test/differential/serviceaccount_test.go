package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestServiceAccount passes random pods through both ServiceAccount plugins, in namespaces with
// random accounts. Some accounts are not in the cache. It compares the pods afterwards and the
// refusals. It runs in fake time, because both plugins wait for the default account.
func TestServiceAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAccountWorld(t)
		n, refused, messages := times(10_000), 0, map[string]int{}
		for i := range n {
			if i%25 == 0 {
				w.populate()
			}
			if said := w.compare(); said != "" {
				refused++
				messages[accountMessage(said)]++
			}
		}
		t.Logf("%d of %d writes refused: %v", refused, n, messages)
		if refused < n/10 || refused > n*19/20 {
			t.Errorf("%d of %d writes were refused: they are too random", refused, n)
		}
	})
}

// accountMessage returns the kind of a refusal.
func accountMessage(said string) string {
	if _, why, ok := strings.Cut(said, " is forbidden: "); ok {
		said = why
	}
	words := strings.Fields(said)
	return strings.Join(words[:min(4, len(words))], " ")
}

type accountWorld struct {
	t            *testing.T
	rnd          *rand.Rand
	cached, live map[string]*corev1.ServiceAccount // by namespace/name
	informers    informers.SharedInformerFactory
	theirs       *serviceaccount.Plugin
	ours         *admission.ServiceAccount
}

func newAccountWorld(t *testing.T) *accountWorld {
	w := &accountWorld{t: t, rnd: random("service accounts"), informers: informers.NewSharedInformerFactory(nil, 0), theirs: serviceaccount.NewServiceAccount()}
	client := fake.NewSimpleClientset()
	client.PrependReactor("get", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.GetAction).GetName()
		account, ok := w.live[action.GetNamespace()+"/"+name]
		switch bad := rest.IsValidPathSegmentName(name); {
		case len(bad) > 0: // as a real client answers
			return true, nil, fmt.Errorf("invalid resource name %q: %v", name, bad)
		case name == "broken":
			return true, nil, errors.New("the store is broken")
		case !ok:
			return true, nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name)
		}
		return true, account, nil
	})
	w.theirs.SetExternalKubeClientSet(client)
	w.theirs.SetExternalKubeInformerFactory(w.informers)
	if err := w.theirs.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	w.ours = admission.NewServiceAccount(w.find, func(base string) string { return base + "bbbbb" })
	return w
}

// find implements admission.ServiceAccounts.
func (w *accountWorld) find(_ context.Context, namespace, name string, fresh request.Freshness) (*ourcore.ServiceAccount, error) {
	from := w.live
	if fresh == request.Cached {
		from = w.cached
	}
	account, ok := from[namespace+"/"+name]
	switch {
	case ok:
		return toOurs[ourcore.ServiceAccount](w.t, account), nil
	case name == "broken" && fresh != request.Cached:
		return nil, errors.New("the store is broken")
	}
	return nil, meta.NewNotFound(meta.GroupResource{Resource: "serviceaccounts"}, name)
}

var secretNames = []string{"s1", "s2", "s3", ""}

func (w *accountWorld) chance(one int) bool { return chance(w.rnd, one) }

// some returns each of the names at random.
func (w *accountWorld) some(from ...string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(string) bool { return w.chance(3) })
}

// populate replaces the accounts.
func (w *accountWorld) populate() {
	w.cached, w.live = map[string]*corev1.ServiceAccount{}, map[string]*corev1.ServiceAccount{}
	store := w.informers.Core().V1().ServiceAccounts().Informer().GetIndexer()
	for _, old := range store.List() {
		if err := store.Delete(old); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, namespace := range []string{"a", "b"} {
		for _, name := range []string{"default", "x", "y", "z"} {
			if w.chance(6) {
				continue
			}
			account := w.account(namespace, name)
			w.live[namespace+"/"+name] = account
			if !w.chance(4) {
				w.cached[namespace+"/"+name] = account
				if err := store.Add(account); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}
}

func (w *accountWorld) account(namespace, name string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, AutomountServiceAccountToken: w.maybe()}
	if !w.chance(3) {
		account.Annotations = map[string]string{serviceaccount.EnforceMountableSecretsAnnotation: oneOf(w.rnd, "true", "true", "1", "T", "false", "yes", "")}
	}
	for _, name := range w.some(secretNames...) {
		account.Secrets = append(account.Secrets, corev1.ObjectReference{Name: name})
	}
	for _, name := range w.some(secretNames...) {
		if w.chance(2) {
			account.ImagePullSecrets = append(account.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
		}
	}
	return account
}

// maybe returns nil, true or false.
func (w *accountWorld) maybe() *bool { return oneOf(w.rnd, nil, nil, new(true), new(false)) }

func (w *accountWorld) secret() string {
	return oneOf(w.rnd, append([]string{"s1", "s1", "s1", "s2"}, secretNames...)...)
}

func (w *accountWorld) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: oneOf(w.rnd, "p", "p", ""), GenerateName: oneOf(w.rnd, "", "g-")}}
	if w.chance(8) {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: oneOf(w.rnd, "", "hash")}
	}
	spec := &pod.Spec
	if !w.chance(3) && (pod.Annotations == nil || w.chance(4)) {
		spec.ServiceAccountName = oneOf(w.rnd, "default", "x", "x", "y", "y", "z", "z", "gone", "broken", "a/b", "..", "a%b/c", "No Name")
		if w.chance(30) {
			spec.DeprecatedServiceAccount = "other"
		}
	}
	spec.AutomountServiceAccountToken = w.maybe()
	for range w.rnd.IntN(3) {
		spec.Volumes = append(spec.Volumes, w.volume())
	}
	for i := range w.rnd.IntN(3) {
		spec.InitContainers = append(spec.InitContainers, w.container(fmt.Sprint("i", i)))
	}
	for i := range w.rnd.IntN(3) {
		spec.Containers = append(spec.Containers, w.container(fmt.Sprint("c", i)))
	}
	for i := range w.rnd.IntN(2) {
		c := w.container(fmt.Sprint("e", i))
		spec.EphemeralContainers = append(spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: c.Name, Env: c.Env, EnvFrom: c.EnvFrom, VolumeMounts: c.VolumeMounts,
		}})
	}
	if w.chance(3) {
		for range 1 + w.rnd.IntN(2) {
			spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: w.secret()})
		}
	}
	return pod
}

func (w *accountWorld) container(name string) corev1.Container {
	c := corev1.Container{Name: name}
	for i := range w.rnd.IntN(3) {
		env := corev1.EnvVar{Name: fmt.Sprint("V", i)}
		ref := corev1.LocalObjectReference{Name: w.secret()}
		switch w.rnd.IntN(6) {
		case 0:
			env.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref, Key: "k"}}
		case 1:
			env.ValueFrom = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref, Key: "k"}}
		}
		c.Env = append(c.Env, env)
	}
	for range w.rnd.IntN(2) {
		from, ref := corev1.EnvFromSource{}, corev1.LocalObjectReference{Name: w.secret()}
		switch w.rnd.IntN(4) {
		case 0:
			from.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: ref}
		case 1:
			from.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: ref}
		}
		c.EnvFrom = append(c.EnvFrom, from)
	}
	for range w.rnd.IntN(2) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: oneOf(w.rnd, "v", "kube-api-access-own"), MountPath: oneOf(w.rnd, "/data", serviceaccount.DefaultAPITokenMountPath, serviceaccount.DefaultAPITokenMountPath+"/"),
		})
	}
	return c
}

// volume makes up a volume. It refers to a secret in one of the possible ways, or not at all.
func (w *accountWorld) volume() corev1.Volume {
	v := corev1.Volume{Name: oneOf(w.rnd, "v", "v", "v", "kube-api-access", "kube-api-access-", "kube-api-access-own")}
	name := w.secret()
	ref := &corev1.LocalObjectReference{Name: name}
	if w.chance(3) {
		ref = nil
	}
	s := &v.VolumeSource
	switch w.rnd.IntN(18) {
	case 0, 1, 2:
		s.Secret = &corev1.SecretVolumeSource{SecretName: name}
	case 3:
		s.AzureFile = &corev1.AzureFileVolumeSource{SecretName: name}
	case 4:
		s.CephFS = &corev1.CephFSVolumeSource{SecretRef: ref}
	case 5:
		s.Cinder = &corev1.CinderVolumeSource{SecretRef: ref}
	case 6:
		s.FlexVolume = &corev1.FlexVolumeSource{SecretRef: ref}
	case 7:
		s.RBD = &corev1.RBDVolumeSource{SecretRef: ref}
	case 8:
		s.ScaleIO = &corev1.ScaleIOVolumeSource{SecretRef: ref}
	case 9:
		s.ISCSI = &corev1.ISCSIVolumeSource{SecretRef: ref}
	case 10:
		s.StorageOS = &corev1.StorageOSVolumeSource{SecretRef: ref}
	case 11:
		s.CSI = &corev1.CSIVolumeSource{NodePublishSecretRef: ref}
	case 12, 13:
		s.Projected = &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{w.projection(), w.projection()}}
	case 14:
		s.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	default:
		s.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	return v
}

func (w *accountWorld) projection() (p corev1.VolumeProjection) {
	ref := corev1.LocalObjectReference{Name: w.secret()}
	switch w.rnd.IntN(4) {
	case 0:
		p.Secret = &corev1.SecretProjection{LocalObjectReference: ref}
	case 1:
		p.ServiceAccountToken = &corev1.ServiceAccountTokenProjection{Path: "p"}
	default:
		p.ConfigMap = &corev1.ConfigMapProjection{LocalObjectReference: ref}
	}
	return p
}

// compare has both plugins mutate and validate a random write. It returns the text of their
// refusal, "" if there is none.
func (w *accountWorld) compare() string {
	w.t.Helper()
	pod, namespace := w.pod(), oneOf(w.rnd, "a", "b")
	pod.Namespace = namespace
	legacyscheme.Scheme.Default(pod)
	before := encode(pod)
	op, subresource, name := theiradmission.Create, "", ""
	if w.chance(5) {
		op, subresource, name = theiradmission.Update, oneOf(w.rnd, "ephemeralcontainers", "ephemeralcontainers", "ephemeralcontainers", "", "status", "resize"), "p"
	}
	theirs, ours := &core.Pod{}, toOurs[ourcore.Pod](w.t, pod)
	if err := legacyscheme.Scheme.Convert(pod, theirs, nil); err != nil {
		w.t.Fatal(err)
	}
	ours.Spec.DeprecatedServiceAccount = ours.Spec.ServiceAccountName // as decoding sets it
	var theirOld runtime.Object
	a := &admission.Attributes{
		Operation: admission.Operation(op), Resource: meta.GroupVersionResource{Version: "v1", Resource: "pods"},
		Kind: meta.GroupVersionKind{Version: "v1", Kind: "Pod"}, Subresource: subresource, Namespace: namespace, Name: name, Object: ours,
	}
	if op == theiradmission.Update {
		theirOld, a.Old = theirs.DeepCopy(), toOurs[ourcore.Pod](w.t, pod)
	}
	attrs := theiradmission.NewAttributesRecord(theirs, theirOld, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, namespace, name,
		schema.GroupVersionResource{Version: "v1", Resource: "pods"}, subresource, op, nil, false, nil)

	got, want := w.ours.Mutate(w.t.Context(), a), w.theirs.Admit(w.t.Context(), attrs, nil)
	if got == nil && want == nil {
		w.same(before, ours, theirs)
		if w.chance(4) { // as another plugin may change it
			ours.Spec.ServiceAccountName, theirs.Spec.ServiceAccountName = "", ""
		}
	}
	if got != nil == (want != nil) && (got == nil || w.chance(2)) {
		w.said(before, a, got, want)
		got, want = w.ours.Validate(w.t.Context(), a), w.theirs.Validate(w.t.Context(), attrs, nil)
	}
	w.said(before, a, got, want)
	return saidBy(want)
}

// said compares two refusals. Kubernetes answers 500 if the secrets of ephemeral containers are not
// allowed, Coracle 403.
func (w *accountWorld) said(pod []byte, a *admission.Attributes, got, want error) {
	w.t.Helper()
	forbidden := apierrors.IsForbidden(want) || strings.HasPrefix(saidBy(want), "ephemeral container ")
	if saidBy(got) != saidBy(want) || forbidden != meta.IsForbidden(got) {
		w.t.Fatalf("%s %s %s\n got %s\nwant %s", a.Operation, a.Subresource, pod, saidBy(got), saidBy(want))
	}
}

// same compares two pods.
func (w *accountWorld) same(before []byte, ours *ourcore.Pod, theirs *core.Pod) {
	w.t.Helper()
	out := &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(theirs, out, nil); err != nil {
		w.t.Fatal(err)
	}
	for _, v := range out.Spec.Volumes { // replace the generated name
		if suffix, ok := strings.CutPrefix(v.Name, "kube-api-access-"); ok && len(suffix) == 5 {
			text := strings.ReplaceAll(string(encode(out)), v.Name, "kube-api-access-bbbbb")
			if err := json.Unmarshal([]byte(text), out); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	got, want := podTree(w.t, encode(ours)), podTree(w.t, encode(out))
	if !reflect.DeepEqual(got, want) {
		w.t.Fatalf("%s\n got %s\nwant %s", before, encode(got), encode(want))
	}
}

// podTree decodes a pod, without the empty fields that the two encode differently.
func podTree(t *testing.T, data []byte) map[string]any {
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "status")
	delete(tree, "kind")
	delete(tree, "apiVersion")
	delete(tree["metadata"].(map[string]any), "creationTimestamp")
	return tree
}
