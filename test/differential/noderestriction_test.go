package differential

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"

	"github.com/coracle-project/coracle/registry/admission"
	ournodes "github.com/coracle-project/coracle/registry/admission/noderestriction"
	"github.com/coracle-project/coracle/router/request"
	ourauthentication "github.com/coracle-project/coracle/scheme/api/authenticationv1"
	ourcertificates "github.com/coracle-project/coracle/scheme/api/certificatesv1"
	ourcoordination "github.com/coracle-project/coracle/scheme/api/coordinationv1"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	ourpolicy "github.com/coracle-project/coracle/scheme/api/policyv1"
	ourresource "github.com/coracle-project/coracle/scheme/api/resourcev1"
	ourstorage "github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestNodeRestriction has both NodeRestriction plugins judge the same random writes of kubelets.
func TestNodeRestriction(t *testing.T) {
	w := newRestrictionWorld(t)
	refused, n := 0, times(30_000)
	for i := range n {
		if i%50 == 0 {
			w.populate()
		}
		a, attrs := w.write()
		got, want := w.ours.Mutate(t.Context(), a), w.theirs.Admit(t.Context(), attrs, nil)
		if saidBy(got) != saidBy(want) {
			t.Errorf("%s %s/%s %s as %s:\n got %s\nwant %s", a.Operation, a.Resource.Resource, a.Subresource, a.Name, a.User.Name, saidBy(got), saidBy(want))
		}
		if want != nil {
			refused++
		}
	}
	t.Logf("%d of %d writes refused", refused, n)
	if refused < n/10 || refused > n*19/20 {
		t.Errorf("%d of %d writes were refused: they are too random", refused, n)
	}
}

func saidBy(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type restrictionWorld struct {
	*nodeWorld
	informers informers.SharedInformerFactory
	objects   map[string]any // ours, by type and name
	ours      *ournodes.Plugin
	theirs    *noderestriction.Plugin
	requests  [][]byte // for certificates
}

func newRestrictionWorld(t *testing.T) *restrictionWorld {
	w := &restrictionWorld{
		nodeWorld: newNodeWorld(t, random("node restriction")), informers: informers.NewSharedInformerFactory(nil, 0),
		objects: map[string]any{}, theirs: noderestriction.NewPlugin(nodeidentifier.NewDefaultNodeIdentifier()),
	}
	w.ours = ournodes.New(w, w)
	w.theirs.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	w.theirs.SetExternalKubeInformerFactory(w.informers)
	w.theirs.SetAuthorizer(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if mayHaveToken(a.GetResource(), a.GetName()) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}))
	if err := w.theirs.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"system:node:n1", "system:node:n2", "alice"} {
		der, err := x509.CreateCertificateRequest(cryptorand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
		if err != nil {
			t.Fatal(err)
		}
		w.requests = append(w.requests, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	}
	w.requests = append(w.requests, []byte("nonsense"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")}))
	return w
}

func mayHaveToken(audience, account string) bool { return audience == "allowed" && account == "x" }

// Authorize implements request.Authorizer.
func (w *restrictionWorld) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	if mayHaveToken(a.Resource, a.Name) {
		return request.Allow, "", nil
	}
	return request.NoOpinion, "", nil
}

// put stores an object for both sides.
func put[T any, P interface {
	*T
	meta.Object
}](w *restrictionWorld, indexer cache.Indexer, key string, obj any) {
	w.objects[fmt.Sprintf("%T %s", P(nil), key)] = toOurs[T, P](w.t, obj)
	if err := indexer.Add(obj); err != nil {
		w.t.Fatal(err)
	}
}

func known[T any](w *restrictionWorld, resource, key, name string) (T, error) {
	if obj, ok := w.objects[fmt.Sprintf("%T %s", *new(T), key)]; ok {
		return obj.(T), nil
	}
	group := ""
	if resource == "csidrivers" {
		group, resource = "storage.k8s.io", "csidriver"
	}
	singular := map[string]string{"pods": "pod", "nodes": "node", "persistentvolumeclaims": "persistentvolumeclaim", "persistentvolumes": "persistentvolume"}
	if s, ok := singular[resource]; ok {
		resource = s // as the errors of listers name it
	}
	return *new(T), meta.NewNotFound(meta.GroupResource{Group: group, Resource: resource}, name)
}

func (w *restrictionWorld) Pod(_ context.Context, namespace, name string) (*ourcore.Pod, error) {
	return known[*ourcore.Pod](w, "pods", namespace+"/"+name, name)
}

func (w *restrictionWorld) Node(_ context.Context, name string) (*ourcore.Node, error) {
	return known[*ourcore.Node](w, "nodes", name, name)
}

func (w *restrictionWorld) Claim(_ context.Context, namespace, name string) (*ourcore.PersistentVolumeClaim, error) {
	return known[*ourcore.PersistentVolumeClaim](w, "persistentvolumeclaims", namespace+"/"+name, name)
}

func (w *restrictionWorld) Volume(_ context.Context, name string) (*ourcore.PersistentVolume, error) {
	return known[*ourcore.PersistentVolume](w, "persistentvolumes", name, name)
}

func (w *restrictionWorld) Driver(_ context.Context, name string) (*ourstorage.CSIDriver, error) {
	return known[*ourstorage.CSIDriver](w, "csidrivers", name, name)
}

// populate changes the stored objects.
func (w *restrictionWorld) populate() {
	core, storage := w.informers.Core().V1(), w.informers.Storage().V1()
	for _, name := range []string{"p1", "p2", "p3", "p4"} {
		pod := w.pod(name)
		pod.UID = types.UID(w.pick("u1", "u2"))
		if w.chance(2) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, w.tokenVolume())
		}
		if w.chance(3) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "disk", VolumeSource: w.disk()})
		}
		put[ourcore.Pod](w, core.Pods().Informer().GetIndexer(), pod.Namespace+"/"+name, pod)
	}
	for _, name := range []string{"n1", "n2"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(w.pick("u1", "u2"))}}
		put[ourcore.Node](w, core.Nodes().Informer().GetIndexer(), name, node)
	}
	for _, name := range []string{"x", "y", "p1-v0"} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace(), Name: name}}
		claim.Spec.VolumeName = w.pick("p1", "p2", "none")
		put[ourcore.PersistentVolumeClaim](w, core.PersistentVolumeClaims().Informer().GetIndexer(), claim.Namespace+"/"+name, claim)
	}
	for _, name := range []string{"p1", "p2"} {
		pv := w.volume(name)
		if w.chance(3) {
			disk := w.disk()
			pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{GCEPersistentDisk: disk.GCEPersistentDisk,
				AWSElasticBlockStore: disk.AWSElasticBlockStore, AzureDisk: disk.AzureDisk}
			zones := w.pick("", "a-b-c", "a-b-c__a-b-d", "a-b-c__a-d-e", "a-b-c__e", "__")
			pv.Labels = map[string]string{w.pick(corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone): zones}
		}
		if pv.Spec.CSI != nil {
			pv.Spec.CSI.Driver = w.pick("d", "e", "none")
		}
		put[ourcore.PersistentVolume](w, core.PersistentVolumes().Informer().GetIndexer(), name, pv)
	}
	for _, name := range []string{"d", "e", "cinder.csi.openstack.org", "file.csi.azure.com", "disk.csi.azure.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io"} {
		driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
		driver.Spec.TokenRequests = []storagev1.TokenRequest{{Audience: w.pick("csi", "", "other")}}
		put[ourstorage.CSIDriver](w, storage.CSIDrivers().Informer().GetIndexer(), name, driver)
	}
}

// disk is a volume that is migrated to a CSI driver; some have an oddity.
func (w *restrictionWorld) disk() corev1.VolumeSource {
	switch w.rnd.IntN(3) {
	case 0:
		return corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}}
	case 1:
		return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{
			VolumeID: w.pick("vol-1", "d", "aws://zone/vol-1", "aws:///vol-1/", "aws:///vol-1/2", "aws://zone/d", "aws://%zone/vol-1", "aws://vol-1", "aws:vol")}}
	}
	kind := corev1.AzureDataDiskKind(w.pick("Managed", "managed", "Shared", "Dedicated", ""))
	return corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{Kind: &kind}}
}

func (w *restrictionWorld) tokenVolume() corev1.Volume {
	return corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t", Audience: w.pick("", "aud")}}}}}}
}

// side is an object on both sides.
type side struct {
	ours   meta.Object
	theirs runtime.Object
}

func both[T any, P interface {
	*T
	meta.Object
}](w *restrictionWorld, obj runtime.Object) side {
	obj = obj.DeepCopyObject()
	legacyscheme.Scheme.Default(obj)
	hub, err := legacyscheme.Scheme.UnsafeConvertToVersion(obj, runtime.InternalGroupVersioner)
	if err != nil {
		w.t.Fatal(err)
	}
	return side{toOurs[T, P](w.t, obj), hub}
}

// write makes up a write and returns it for both sides.
func (w *restrictionWorld) write() (*admission.Attributes, theiradmission.Attributes) {
	self := w.pick("n1", "n1", "n2")
	u := &user.DefaultInfo{Name: "system:node:" + self, Groups: []string{"system:nodes"}}
	switch w.rnd.IntN(60) {
	case 0:
		u.Name = w.pick("system:node:", "alice")
	case 1:
		u.Groups = nil
	}
	op := w.pick("CREATE", "UPDATE", "UPDATE", "DELETE")
	name, namespace, subresource := w.pick("p1", "p2", "p3"), w.namespace(), ""
	var object, old side
	var gvr schema.GroupVersionResource
	kind := func(group, version, resource string) {
		gvr = schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	switch w.rnd.IntN(10) {
	case 0, 1:
		kind("", "v1", "pods")
		switch subresource = w.pick("", "", "status", "eviction", "log"); subresource {
		case "eviction":
			op = w.pick("CREATE", "CREATE", "UPDATE")
			object = both[ourpolicy.Eviction](w, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: w.pick("p1", "p2", "")}})
		default:
			object, old, name, namespace = w.podWrite(op, subresource, self)
		}
	case 2:
		kind("", "v1", "nodes")
		name, namespace, subresource = w.pick("n1", "n1", "n2"), "", w.pick("", "status")
		before := w.nodeObject(name)
		after := before.DeepCopy()
		w.mutateNode(after)
		object, old = both[ourcore.Node](w, after), both[ourcore.Node](w, before)
	case 3:
		kind("", "v1", "persistentvolumeclaims")
		subresource, name = w.pick("status", "status", "status", ""), "x"
		before := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "1"}}
		after := before.DeepCopy()
		after.ResourceVersion = w.pick("", "1")
		switch w.rnd.IntN(6) {
		case 0:
			after.Labels = map[string]string{"a": "b"}
		case 1:
			after.Status.Phase = corev1.ClaimBound
		case 2:
			after.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing}}
		case 3:
			after.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{"storage": "NodeResizePending"}
		case 4:
			after.Labels = map[string]string{}
		}
		object, old = both[ourcore.PersistentVolumeClaim](w, after), both[ourcore.PersistentVolumeClaim](w, before)
	case 4, 5:
		kind("", "v1", "serviceaccounts")
		subresource, name = w.pick("token", "token", "token", "token", ""), w.pick("x", "y")
		op = w.pick("CREATE", "CREATE", "CREATE", "UPDATE")
		object = w.tokenWrite()
	case 6:
		kind("coordination.k8s.io", "v1", "leases")
		name, namespace = w.pick("n1", "n1", "n2"), w.pick("kube-node-lease", "kube-node-lease", "a")
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: w.pick(name, "n2")}}
		object = both[ourcoordination.Lease](w, lease)
		old = object
	case 7:
		kind("storage.k8s.io", "v1", "csinodes")
		name, namespace = w.pick("n1", "n1", "n2"), ""
		object = both[ourstorage.CSINode](w, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: w.pick(name, "n2")}})
		old = object
	case 8:
		kind("resource.k8s.io", "v1", "resourceslices")
		namespace = ""
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if node := w.pick("n1", "n2", ""); node != "" {
			slice.Spec.NodeName = &node
		}
		object = both[ourresource.ResourceSlice](w, slice)
		old = object
	case 9:
		kind("certificates.k8s.io", "v1", "certificatesigningrequests")
		namespace = ""
		csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
		csr.Spec.SignerName = w.pick("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet", "a.b/c")
		csr.Spec.Request = w.requests[w.rnd.IntN(len(w.requests))]
		object = both[ourcertificates.CertificateSigningRequest](w, csr)
		old = object
	}
	switch op {
	case "CREATE":
		old = side{}
	case "DELETE":
		object = side{}
	}
	a := &admission.Attributes{
		Operation: admission.Operation(op), Subresource: subresource, Namespace: namespace, Name: name, Object: object.ours, Old: old.ours,
		Resource: meta.GroupVersionResource{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource},
		User:     &request.User{Name: u.Name, Groups: u.Groups},
	}
	return a, theiradmission.NewAttributesRecord(object.theirs, old.theirs, schema.GroupVersionKind{}, namespace, name, gvr, subresource,
		theiradmission.Operation(op), nil, false, u)
}

func (w *restrictionWorld) podWrite(op, subresource, self string) (object, old side, name, namespace string) {
	if op == "DELETE" { // deletes a stored pod
		for _, obj := range w.informers.Core().V1().Pods().Informer().GetIndexer().List() {
			pod := obj.(*corev1.Pod)
			if name = pod.Name; w.chance(4) {
				return side{}, both[ourcore.Pod](w, pod), name, pod.Namespace
			}
			old, namespace = both[ourcore.Pod](w, pod), pod.Namespace
		}
		return side{}, old, name, namespace
	}
	before := w.pod("p1")
	after := before.DeepCopy()
	if subresource == "" && op == "CREATE" {
		w.mirror(after, self)
	}
	switch w.rnd.IntN(6) {
	case 0:
		after.Labels = map[string]string{"a": "b"}
	case 1:
		after.Labels = map[string]string{}
	case 2:
		made := w.name()
		after.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "r0", ResourceClaimName: &made}}
	case 3:
		after.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: w.name()}
	}
	return both[ourcore.Pod](w, after), both[ourcore.Pod](w, before), "p1", before.Namespace
}

// mirror turns a pod into a mirror pod, mostly a valid one.
func (w *restrictionWorld) mirror(pod *corev1.Pod, self string) {
	if !w.chance(8) {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
		pod.Spec.NodeName = self
	}
	yes, no := true, false
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: self, UID: types.UID(w.pick("u1", "u2")), Controller: &yes}
	switch w.rnd.IntN(10) {
	case 0:
		owner.Name = w.pick("n1", "n2", "n3")
	case 1:
		owner.Controller = []*bool{nil, &no}[w.rnd.IntN(2)]
	case 2:
		owner.BlockOwnerDeletion = []*bool{&yes, &no}[w.rnd.IntN(2)]
	case 3:
		owner.Kind, owner.APIVersion = w.pick("Pod", "Node"), w.pick("v1", "v2")
	}
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	switch w.rnd.IntN(10) {
	case 0:
		pod.OwnerReferences = nil
	case 1:
		pod.OwnerReferences = append(pod.OwnerReferences, owner)
	}
	if w.chance(2) {
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
		if w.chance(2) {
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: w.source()}, w.tokenVolume()}[w.rnd.IntN(2):]
		}
		if w.chance(4) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{DownwardAPI: &corev1.DownwardAPIProjection{}}, {}}[:1+w.rnd.IntN(2)]}}})
		}
	}
}

func (w *restrictionWorld) nodeObject(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name, "a": "b"}}}
	if w.chance(2) {
		node.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
	}
	if w.chance(4) {
		node.Labels = nil
	}
	return node
}

func (w *restrictionWorld) mutateNode(node *corev1.Node) {
	switch w.rnd.IntN(8) {
	case 0:
		node.Spec.ConfigSource = &corev1.NodeConfigSource{}
	case 1:
		node.Spec.Taints = []corev1.Taint{}
	case 2:
		node.OwnerReferences = []metav1.OwnerReference{{Kind: "Node"}}
	case 3:
		node.Status.Phase = corev1.NodeRunning
	default:
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		for range w.rnd.IntN(3) {
			key := w.pick("", "x", "kubelet.", "node.", "a.kubelet.", "a.node.", "xnode.", "node-restriction.", "topology.", "node-role.") +
				w.pick("kubernetes.io", "k8s.io", "example.com") + w.pick("/os", "/arch", "/zone", "/hostname", "/role", "/instance-type", "")
			node.Labels[key] = w.pick("a", "b")
		}
		delete(node.Labels, w.pick("kubernetes.io/hostname", "a", "b"))
	}
}

func (w *restrictionWorld) tokenWrite() side {
	theirs, ours := new(authenticationv1.TokenRequest), new(ourauthentication.TokenRequest)
	for range w.rnd.IntN(8) / 3 {
		theirs.Spec.Audiences = append(theirs.Spec.Audiences, w.pick("aud", "csi", "other", "allowed", ""))
	}
	ours.Spec.Audiences = theirs.Spec.Audiences
	if !w.chance(8) {
		theirs.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			Kind: w.pick("Pod", "Pod", "Pod", "Pod", "Node"), APIVersion: w.pick("v1", "v1", "v1", "v1", ""),
			Name: w.pick("p1", "p2", "p3", "none"), UID: types.UID(w.pick("u1", "u2", "u1", "u2", "")),
		}
		ref := theirs.Spec.BoundObjectRef
		ours.Spec.BoundObjectRef = &ourauthentication.BoundObjectReference{Kind: ref.Kind, APIVersion: ref.APIVersion, Name: ref.Name, UID: meta.UID(ref.UID)}
	}
	hub, err := legacyscheme.Scheme.UnsafeConvertToVersion(theirs, runtime.InternalGroupVersioner)
	if err != nil {
		w.t.Fatal(err)
	}
	return side{ours, hub}
}
