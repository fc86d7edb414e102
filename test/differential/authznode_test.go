package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	fieldselect "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	nodeauthz "k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestNodeAuthorizer tells both Node authorizers of the same random pods, volumes, attachments and
// slices as these come, change and go, and asks both the same questions.
func TestNodeAuthorizer(t *testing.T) {
	rnd := random("node authorizer")
	w := newNodeWorld(t, rnd)
	allowed, asked := 0, times(60_000)
	for i := range asked {
		if i%20 == 0 {
			w.change()
		}
		a := w.question()
		got, reason, err := w.ours.Authorize(t.Context(), &a)
		want, wantReason, wantErr := w.theirs.Authorize(t.Context(), theirAttributes(t, &a))
		if theirDecision(want) != got || reason != wantReason || (err != nil) != (wantErr != nil) {
			t.Errorf("%s of %+v:\n got %v %q %v\nwant %v %q %v", a.Verb, a, got, reason, err, want, wantReason, wantErr)
		}
		if got == request.Allow {
			allowed++
		}
	}
	t.Logf("%d of %d questions allowed", allowed, asked)
	if allowed < asked/20 {
		t.Errorf("%d of %d questions were allowed: they are too random", allowed, asked)
	}
}

// theirDecision is a decision of Kubernetes in our words.
func theirDecision(d authorizer.Decision) request.Decision {
	switch d {
	case authorizer.DecisionAllow:
		return request.Allow
	case authorizer.DecisionDeny:
		return request.Deny
	}
	return request.NoOpinion
}

// theirAttributes are the attributes of a request as Kubernetes' filter makes them.
func theirAttributes(t *testing.T, a *request.Attributes) authorizer.AttributesRecord {
	t.Helper()
	r := authorizer.AttributesRecord{
		Verb: a.Verb, ResourceRequest: a.IsResource, APIGroup: a.Group, APIVersion: a.Version, Namespace: a.Namespace,
		Resource: a.Resource, Subresource: a.Subresource, Name: a.Name, Path: a.Path,
	}
	if a.User != nil {
		r.User = &user.DefaultInfo{Name: a.User.Name, UID: a.User.UID, Groups: a.User.Groups, Extra: a.User.Extra}
	}
	if a.FieldSelector != "" {
		selector, err := fieldselect.ParseSelector(a.FieldSelector)
		if r.FieldSelectorParsingErr = err; err == nil {
			r.FieldSelectorRequirements = selector.Requirements()
		}
	}
	if a.LabelSelector != "" {
		selector, err := labels.Parse(a.LabelSelector)
		if r.LabelSelectorParsingErr = err; err == nil {
			r.LabelSelectorRequirements, _ = selector.Requirements()
		}
	}
	return r
}

type nodeWorld struct {
	t      *testing.T
	rnd    *rand.Rand
	graph  *authz.NodeGraph
	ours   *authz.Node
	known  *nodeauthz.Graph
	theirs *nodeauthz.NodeAuthorizer
}

func newNodeWorld(t *testing.T, rnd *rand.Rand) *nodeWorld {
	w := &nodeWorld{t: t, rnd: rnd, graph: authz.NewNodeGraph(), known: nodeauthz.NewGraph()}
	w.ours = authz.NewNode(w.graph)
	w.theirs = nodeauthz.NewAuthorizer(w.known, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules())
	return w
}

// The names are few, so that objects refer to each other.
func (w *nodeWorld) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }
func (w *nodeWorld) namespace() string          { return w.pick("a", "b") }
func (w *nodeWorld) node() string               { return w.pick("n1", "n2", "n3", "n4") }
func (w *nodeWorld) name() string               { return w.pick("x", "y", "z", "u", "v", "w", "") }
func (w *nodeWorld) chance(n int) bool          { return w.rnd.IntN(n) == 0 }

// change makes, changes or deletes one object.
func (w *nodeWorld) change() {
	switch name := w.pick("p1", "p2", "p3", "p4", "p5"); w.rnd.IntN(8) {
	case 0, 1, 2:
		pod := w.pod(name)
		w.known.DeletePod(pod.Name, pod.Namespace)
		if pod.Spec.NodeName != "" {
			w.known.AddPod(pod)
		}
		w.graph.SetPod(toOurs[ourcore.Pod](w.t, pod))
	case 3:
		namespace := w.namespace()
		w.known.DeletePod(name, namespace)
		w.graph.DeletePod(namespace, name)
	case 4, 5:
		pv := w.volume(name)
		w.known.AddPV(pv)
		w.graph.SetVolume(toOurs[ourcore.PersistentVolume](w.t, pv))
	case 6:
		w.known.DeletePV(name)
		w.graph.DeleteVolume(name)
	case 7:
		node := w.pick("n1", "n2", "n3", "")
		if w.chance(2) {
			w.known.AddVolumeAttachment(name, node)
			w.graph.SetAttachment(name, node)
		} else {
			w.known.AddResourceSlice(name, node)
			w.graph.SetSlice(name, node)
		}
	}
}

// toOurs makes an object of ours of one of theirs.
func toOurs[T any, P interface {
	*T
	meta.Object
}](t *testing.T, obj any) P {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	ours := P(new(T))
	if err := json.Unmarshal(text, ours); err != nil {
		t.Fatal(err)
	}
	return ours
}

func (w *nodeWorld) pod(name string) *corev1.Pod {
	pod := new(corev1.Pod)
	pod.Namespace, pod.Name = w.namespace(), name
	pod.Spec.NodeName = w.pick("n1", "n2", "n3", "")
	if w.chance(8) {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "m"}
	}
	pod.Spec.ServiceAccountName = w.name()
	local := func() *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: w.name()} }
	if w.chance(2) {
		pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{*local()}
	}
	container := corev1.Container{Name: "c"}
	switch w.rnd.IntN(5) {
	case 0:
		container.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *local()}}}
	case 1:
		container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: *local()}}}
	case 2:
		container.Env = []corev1.EnvVar{{Name: "e", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: *local(), Key: "k"}}}}
	case 3:
		container.Env = []corev1.EnvVar{{Name: "e", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: *local(), Key: "k"}}}, {Name: "f", Value: "g"}}
	}
	switch w.rnd.IntN(3) {
	case 0:
		pod.Spec.Containers = []corev1.Container{container}
	case 1:
		pod.Spec.InitContainers = []corev1.Container{container}
	case 2:
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container)}}
	}
	for i := range w.rnd.IntN(4) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: w.source()})
	}
	for i := range w.rnd.IntN(3) {
		entry := corev1.PodResourceClaim{Name: fmt.Sprint("r", i)}
		name := w.name()
		switch w.rnd.IntN(3) {
		case 0:
			entry.ResourceClaimName = &name
		case 1:
			entry.ResourceClaimTemplateName = &name
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
		made := corev1.PodResourceClaimStatus{Name: fmt.Sprint("r", w.rnd.IntN(3))}
		if claim := w.name(); !w.chance(4) {
			made.ResourceClaimName = &claim
		}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, made)
	}
	if w.chance(4) {
		pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: w.name()}
	}
	return pod
}

func (w *nodeWorld) source() corev1.VolumeSource {
	local := &corev1.LocalObjectReference{Name: w.name()}
	if w.chance(4) {
		local = nil
	}
	switch w.rnd.IntN(16) {
	case 0:
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: w.name()}}
	case 1:
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: w.name()}}}
	case 2:
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: w.name()}}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: w.name()}}},
		}}}
	case 3:
		return corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", NodePublishSecretRef: local}}
	case 4:
		return corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: w.name()}}
	case 5:
		return corev1.VolumeSource{CephFS: &corev1.CephFSVolumeSource{SecretRef: local}}
	case 6:
		return corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{SecretRef: local}}
	case 7:
		return corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{SecretRef: local}}
	case 8:
		return corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{SecretRef: local}}
	case 9:
		return corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{SecretRef: local}}
	case 10:
		return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{SecretRef: local}}
	case 11:
		return corev1.VolumeSource{StorageOS: &corev1.StorageOSVolumeSource{SecretRef: local}}
	case 12:
		return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	}
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: w.name()}}
}

func (w *nodeWorld) volume(name string) *corev1.PersistentVolume {
	pv := new(corev1.PersistentVolume)
	pv.Name = name
	if !w.chance(5) {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: w.namespace(), Name: w.name()}
	}
	ref := func() *corev1.SecretReference {
		if w.chance(4) {
			return nil
		}
		return &corev1.SecretReference{Namespace: w.pick("a", "b", ""), Name: w.name()}
	}
	s := &pv.Spec.PersistentVolumeSource
	switch w.rnd.IntN(11) {
	case 0:
		namespace := w.pick("a", "b", "")
		s.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: w.name(), SecretNamespace: &namespace}
	case 1:
		s.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: w.name()}
	case 2:
		s.CephFS = &corev1.CephFSPersistentVolumeSource{SecretRef: ref()}
	case 3:
		s.Cinder = &corev1.CinderPersistentVolumeSource{SecretRef: ref()}
	case 4:
		s.FlexVolume = &corev1.FlexPersistentVolumeSource{SecretRef: ref()}
	case 5:
		s.RBD = &corev1.RBDPersistentVolumeSource{SecretRef: ref()}
	case 6:
		s.ScaleIO = &corev1.ScaleIOPersistentVolumeSource{SecretRef: ref()}
	case 7:
		s.ISCSI = &corev1.ISCSIPersistentVolumeSource{SecretRef: ref()}
	case 8:
		s.StorageOS = &corev1.StorageOSPersistentVolumeSource{SecretRef: &corev1.ObjectReference{Namespace: w.pick("a", "b", ""), Name: w.name()}}
	default:
		s.CSI = &corev1.CSIPersistentVolumeSource{ControllerPublishSecretRef: ref(), ControllerExpandSecretRef: ref(),
			NodePublishSecretRef: ref(), NodeStageSecretRef: ref(), NodeExpandSecretRef: ref()}
	}
	return pv
}

// question makes up a question, mostly of a node about the objects that kubelets read and write.
func (w *nodeWorld) question() request.Attributes {
	self := w.node()
	u := &request.User{Name: "system:node:" + self, Groups: []string{"system:nodes", "system:authenticated"}}
	switch w.rnd.IntN(40) {
	case 0:
		u.Name = w.pick("system:node:", "alice", "system:nodes:n1")
	case 1:
		u.Groups = u.Groups[1:]
	}
	if w.chance(40) {
		return request.Attributes{User: u, Verb: "get", Path: w.pick("/healthz", "/api", "/")}
	}
	resources := []struct{ group, resource, name string }{
		{"", "secrets", ""}, {"", "secrets", ""}, {"", "configmaps", ""}, {"", "persistentvolumeclaims", ""},
		{"", "persistentvolumes", "p"}, {"", "persistentvolumes", "p"}, {"", "serviceaccounts", ""}, {"", "nodes", "n"}, {"", "pods", "p"},
		{"storage.k8s.io", "volumeattachments", "p"}, {"storage.k8s.io", "csinodes", "n"}, {"storage.k8s.io", "csidrivers", ""},
		{"resource.k8s.io", "resourceclaims", ""}, {"resource.k8s.io", "resourceslices", "p"}, {"coordination.k8s.io", "leases", "n"},
		{"certificates.k8s.io", "certificatesigningrequests", ""}, {"certificates.k8s.io", "podcertificaterequests", ""},
		{"certificates.k8s.io", "clustertrustbundles", ""}, {"", "services", ""}, {"", "endpoints", ""}, {"", "events", ""},
		{"events.k8s.io", "events", ""}, {"authentication.k8s.io", "tokenreviews", ""}, {"authorization.k8s.io", "subjectaccessreviews", ""},
		{"authorization.k8s.io", "localsubjectaccessreviews", ""}, {"authorization.k8s.io", "selfsubjectaccessreviews", ""},
		{"node.k8s.io", "runtimeclasses", ""}, {"apps", "deployments", ""}, {"apps", "secrets", ""},
	}
	r := resources[w.rnd.IntN(len(resources))]
	a := request.Attributes{User: u, IsResource: true, Group: r.group, Version: "v1", Resource: r.resource, Namespace: w.namespace()}
	a.Verb = "get"
	if w.chance(3) {
		a.Verb = w.pick("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind")
	}
	switch r.name {
	case "p":
		a.Name = w.pick("p1", "p2", "p3", "p4", "p5", "")
		if r.resource != "pods" && !w.chance(10) {
			a.Namespace = ""
		}
	case "n":
		a.Name = w.pick(self, self, w.node(), "")
		switch {
		case r.resource == "leases":
			a.Namespace = w.pick("kube-node-lease", "kube-node-lease", "a")
		case !w.chance(10):
			a.Namespace = ""
		}
	default:
		a.Name = w.name()
		if r.resource == "persistentvolumeclaims" && w.chance(4) {
			a.Name = w.pick("p1-v0", "p2-v1", "p3-v0")
		}
	}
	switch {
	case w.chance(8):
		a.Subresource = w.pick("status", "token", "eviction", "log", "exec")
	case w.chance(20):
		a.Namespace = ""
	}
	if a.Verb == "list" || a.Verb == "watch" || a.Verb == "deletecollection" {
		a.FieldSelector = w.pick("", "spec.nodeName="+self, "spec.nodeName=="+self, "spec.nodeName!="+self, "a=b,spec.nodeName="+self,
			"spec.nodeName="+w.node(), "nodeName="+self, "spec.nodeName", `spec.nodeName=\`+self)
	}
	return a
}
