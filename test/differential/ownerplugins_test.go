package differential

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/restmapper"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/plugin/pkg/admission/gc"
	"k8s.io/kubernetes/plugin/pkg/admission/namespace/autoprovision"
	"k8s.io/kubernetes/plugin/pkg/admission/namespace/exists"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestOwnerPlugin has both plugins judge writes with random owners by users with some of the
// rights. It compares which rights both ask for, and their answers.
func TestOwnerPlugin(t *testing.T) {
	rnd := random("owner plugin")
	rights := [2]*claimRights{}
	may := authorizer.AuthorizerFunc(func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		return rights[1].theirs(ctx, a)
	})
	theirs := registeredPlugin(t, gc.Register, "OwnerReferencesPermissionEnforcement",
		initializer.New(nil, nil, nil, may, utilfeature.DefaultFeatureGate, nil, nil, ownerMapper()))
	ours := admission.NewOwnerReferencesPermissionEnforcement(authorizerFunc(
		func(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
			return rights[0].Authorize(ctx, a)
		}), ownerDiscovery().ResourceOf)
	p := &pluginPair{theirs: theirs, ours: ours}
	for i := range times(250) {
		rights = [2]*claimRights{{seed: uint64(i)}, {seed: uint64(i)}}
		w := ownedWrite(rnd)
		p.compare(t, w)
		if !slices.Equal(rights[0].asked, rights[1].asked) {
			t.Fatalf("%s\n got asked %s\nwant asked %s", p.what(w), rights[0].asked, rights[1].asked)
		}
	}
	p.report(t)
}

type authorizerFunc func(context.Context, *request.Attributes) (request.Decision, string, error)

func (f authorizerFunc) Authorize(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
	return f(ctx, a)
}

// ownerKinds are the kinds that may own something. Each is in its group in the version v1.
var ownerKinds = []metav1.APIResource{
	{Group: "", Name: "pods", Kind: "Pod", Namespaced: true}, {Group: "", Name: "nodes", Kind: "Node"},
	{Group: "apps", Name: "deployments", Kind: "Deployment", Namespaced: true}, {Group: "a.io", Name: "oxen", Kind: "Ox"},
}

// ownerMapper maps ownerKinds as kube-apiserver does, by its discovery.
func ownerMapper() apimeta.RESTMapper {
	groups := map[string]*restmapper.APIGroupResources{}
	var list []*restmapper.APIGroupResources
	for _, r := range ownerKinds {
		g := groups[r.Group]
		if g == nil {
			version := metav1.GroupVersionForDiscovery{GroupVersion: schema.GroupVersion{Group: r.Group, Version: "v1"}.String(), Version: "v1"}
			g = &restmapper.APIGroupResources{
				Group:              metav1.APIGroup{Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
				VersionedResources: map[string][]metav1.APIResource{},
			}
			groups[r.Group], list = g, append(list, g)
		}
		g.VersionedResources["v1"] = append(g.VersionedResources["v1"], r)
	}
	return restmapper.NewDiscoveryRESTMapper(list)
}

// ownerDiscovery is our discovery of ownerKinds.
func ownerDiscovery() *router.Discovery {
	d := router.NewDiscovery(codec.NewFactory(nil))
	for _, r := range ownerKinds {
		gv := meta.GroupVersion{Group: r.Group, Version: "v1"}
		d.Change(nil, []router.GroupVersion{{GroupVersion: gv, Resources: []router.Resource{{
			Description: meta.Description{Name: r.Name, Kind: gv.WithKind(r.Kind), Namespaced: r.Namespaced},
		}}}})
	}
	return d
}

func ownedWrite(rnd *rand.Rand) *pluginWrite {
	w := corev1Write(rnd, "configmaps", "ConfigMap", ourDecoder[ourcore.ConfigMap])
	w.namespace, w.user = "ns", oneOf(rnd, "alice", "bob")
	owners := randomOwners(rnd)
	m := pluginObjectMeta(rnd, w)
	m.OwnerReferences = owners
	w.obj = &corev1.ConfigMap{ObjectMeta: m}
	pod := chance(rnd, 3)
	if pod {
		w.resource, w.kind, w.decode = corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithKind("Pod"), ourDecoder[ourcore.Pod]
		w.sub = oneOf(rnd, "", "status", "ephemeralcontainers")
		w.obj = &corev1.Pod{ObjectMeta: m, Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{}}}
	}
	if w.op != theiradmission.Update {
		return w
	}
	old := metav1.ObjectMeta{Namespace: "ns", Name: w.name, OwnerReferences: changedOwners(rnd, owners)}
	if w.old = (&corev1.ConfigMap{ObjectMeta: old}); pod {
		w.old = &corev1.Pod{ObjectMeta: old}
	}
	return w
}

func randomOwners(rnd *rand.Rand) (list []metav1.OwnerReference) {
	for range rnd.IntN(4) {
		list = append(list, metav1.OwnerReference{
			APIVersion: oneOf(rnd, "v1", "v1", "apps/v1", "apps/v1", "a.io/v1", "a.io/v2", "b.io/v1", "a/b/c"),
			Kind:       oneOf(rnd, "Pod", "Node", "Deployment", "Deployment", "Ox", "ox", "pod", "OX"),
			Name:       oneOf(rnd, "x", "y"), UID: types.UID(oneOf(rnd, "1", "2", "3", "4")),
			Controller: oneOf(rnd, nil, new(bool)), BlockOwnerDeletion: randomFlag(rnd),
		})
	}
	return list
}

func randomFlag(rnd *rand.Rand) *bool {
	yes := true
	return oneOf(rnd, nil, new(bool), &yes, &yes)
}

// changedOwners returns the owners with random changes, as they may have been before an update.
func changedOwners(rnd *rand.Rand, owners []metav1.OwnerReference) []metav1.OwnerReference {
	list := slices.Clone(owners)
	for i := range list {
		if chance(rnd, 3) {
			list[i].BlockOwnerDeletion = randomFlag(rnd)
		}
		if chance(rnd, 8) {
			list[i].Name = "z"
		}
	}
	if len(list) > 0 && chance(rnd, 4) {
		list = list[:len(list)-1]
	}
	if chance(rnd, 6) {
		list = append(list, randomOwners(rnd)...)
	}
	return list
}

// TestNamespacePlugins compares the plugins that look for the namespace of a write. A namespace is
// in the cache, in the store only, in neither, or cannot be read. Creating one may fail.
func TestNamespacePlugins(t *testing.T) {
	w := newNamespaceWorld(t)
	provision, exist := autoprovision.NewProvision(), exists.NewExists()
	for _, p := range []interface {
		SetExternalKubeClientSet(kubernetes.Interface)
		SetExternalKubeInformerFactory(informers.SharedInformerFactory)
		SetReadyFunc(theiradmission.ReadyFunc)
	}{provision, exist} {
		p.SetExternalKubeClientSet(w.client())
		p.SetExternalKubeInformerFactory(w.known)
		p.SetReadyFunc(func() bool { return true }) // the informer does not run
	}
	namespaces := admission.NewNamespaces(w.read)
	for _, p := range []*pluginPair{
		{theirs: provision, ours: admission.NewNamespaceAutoProvision(namespaces, w.create)},
		{theirs: exist, ours: admission.NewNamespaceExists(namespaces)},
	} {
		created := 0
		for range times(250) {
			w.made = [2][]string{}
			wr := w.write()
			p.compare(t, wr)
			if !slices.Equal(w.made[0], w.made[1]) {
				t.Fatalf("%s: got created %q, want %q", p.what(wr), w.made[0], w.made[1])
			}
			created += len(w.made[0])
		}
		t.Logf("%s: %d writes, %d refused, %d namespaces created", p.ours.Name(), p.writes, p.refused, created)
		if p.refused == 0 || p.ours.Name() == "NamespaceAutoProvision" && created == 0 {
			t.Errorf("%s: nothing was refused or created", p.ours.Name())
		}
	}
}

// namespaceWorld are namespaces by name: "cached", "stored", "absent", "taken" (somebody else
// creates it at the same time), "broken" and "forbidden".
type namespaceWorld struct {
	rnd   *rand.Rand
	known informers.SharedInformerFactory
	made  [2][]string // by us, by them
}

func newNamespaceWorld(t *testing.T) *namespaceWorld {
	w := &namespaceWorld{rnd: random("namespace plugins"), known: informers.NewSharedInformerFactory(nil, 0)}
	if err := w.known.Core().V1().Namespaces().Informer().GetIndexer().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cached"}}); err != nil {
		t.Fatal(err)
	}
	return w
}

var namespaceResource = corev1.Resource("namespaces")

// client is the client of Kubernetes' plugins.
func (w *namespaceWorld) client() kubernetes.Interface {
	c := fake.NewSimpleClientset()
	c.PrependReactor("get", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch name := a.(clienttesting.GetAction).GetName(); name {
		case "stored":
			return true, &corev1.Namespace{}, nil
		case "broken":
			return true, nil, apierrors.NewServiceUnavailable("broken")
		default:
			return true, nil, apierrors.NewNotFound(namespaceResource, name)
		}
	})
	c.PrependReactor("create", "namespaces", func(a clienttesting.Action) (bool, runtime.Object, error) {
		ns := a.(clienttesting.CreateAction).GetObject().(*corev1.Namespace)
		w.made[1] = append(w.made[1], ns.Name)
		switch ns.Name {
		case "taken", "stored":
			return true, nil, apierrors.NewAlreadyExists(namespaceResource, ns.Name)
		case "broken":
			return true, nil, apierrors.NewServiceUnavailable("broken")
		case "forbidden":
			return true, nil, apierrors.NewForbidden(namespaceResource, ns.Name, errors.New("no"))
		}
		return true, ns, nil
	})
	return c
}

// read implements admission.LookUp.
func (w *namespaceWorld) read(_ context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	switch {
	case name == "cached" || name == "stored" && fresh == request.Consistent:
		return admission.Namespace{Labels: meta.Set(nil)}, nil
	case name == "broken" && fresh == request.Consistent:
		return admission.Namespace{}, meta.NewServiceUnavailable("broken")
	}
	return admission.Namespace{}, meta.NewNotFound(meta.GroupResource{Resource: "namespaces"}, name)
}

// create implements admission.CreateNamespace.
func (w *namespaceWorld) create(_ context.Context, name string) error {
	gr := meta.GroupResource{Resource: "namespaces"}
	w.made[0] = append(w.made[0], name)
	switch name {
	case "taken", "stored":
		return meta.NewAlreadyExists(gr, name)
	case "broken":
		return meta.NewServiceUnavailable("broken")
	case "forbidden":
		return meta.NewForbidden(gr, name, errors.New("no"))
	}
	return nil
}

func (w *namespaceWorld) write() *pluginWrite {
	wr := corev1Write(w.rnd, "configmaps", "ConfigMap", ourDecoder[ourcore.ConfigMap])
	if wr.namespace = oneOf(w.rnd, "cached", "cached", "stored", "absent", "taken", "broken", "forbidden", ""); chance(w.rnd, 6) {
		wr.resource, wr.kind, wr.decode = corev1.SchemeGroupVersion.WithResource("namespaces"), corev1.SchemeGroupVersion.WithKind("Namespace"), ourDecoder[ourcore.Namespace]
		wr.sub = oneOf(w.rnd, "", "finalize", "status")
		wr.obj = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: wr.name}}
		wr.old = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: wr.name}}
	} else {
		wr.obj = &corev1.ConfigMap{ObjectMeta: pluginObjectMeta(w.rnd, wr)}
		wr.old = &corev1.ConfigMap{ObjectMeta: pluginObjectMeta(w.rnd, wr)}
	}
	if wr.op = oneOf(w.rnd, theiradmission.Create, theiradmission.Create, theiradmission.Update, theiradmission.Delete); wr.op == theiradmission.Create {
		wr.old = nil
	}
	if wr.op == theiradmission.Delete {
		wr.obj = nil
	}
	return wr
}
