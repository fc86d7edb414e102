package authz

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func kubelet(node string) *request.User {
	return &request.User{Name: "system:node:" + node, Groups: []string{request.GroupNodes, request.GroupAuthenticated}}
}

// podOn returns a pod that needs a secret, a claim and an account, each called "used".
func podOn(node, name string) *corev1.Pod {
	p := new(corev1.Pod)
	p.Namespace, p.Name = "ns", name
	p.Spec.NodeName, p.Spec.ServiceAccountName = node, "used"
	p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "used"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "used"}}}}
	return p
}

func volumeOf(claim string) *corev1.PersistentVolume {
	pv := new(corev1.PersistentVolume)
	pv.Name = "pv"
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: claim}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d", NodeStageSecretRef: &corev1.SecretReference{Namespace: "csi", Name: "stage"}}
	return pv
}

// TestNodeGraph follows a pod and a volume through their lives. test/differential compares the
// rules with Kubernetes.
func TestNodeGraph(t *testing.T) {
	g := NewNodeGraph()
	n := NewNode(g)
	get := func(node, resource, namespace, name string) request.Decision {
		d, _, err := n.Authorize(t.Context(), &request.Attributes{
			User: kubelet(node), Verb: "get", IsResource: true, Resource: resource, Namespace: namespace, Name: name})
		if err != nil {
			t.Error(err)
		}
		return d
	}
	want := func(when string, secret, stage, volume request.Decision) {
		t.Helper()
		for _, q := range []struct {
			resource, namespace, name string
			want                      request.Decision
		}{
			{"secrets", "ns", "used", secret}, {"secrets", "csi", "stage", stage}, {"persistentvolumes", "", "pv", volume},
			{"secrets", "ns", "other", pass}, {"secrets", "csi", "used", pass}, {"configmaps", "ns", "used", pass},
		} {
			if got := get("a", q.resource, q.namespace, q.name); got != q.want {
				t.Errorf("%s: %s %s/%s: got %v, want %v", when, q.resource, q.namespace, q.name, got, q.want)
			}
			if got := get("b", q.resource, q.namespace, q.name); got != pass {
				t.Errorf("%s: %s %s/%s of another node: got %v", when, q.resource, q.namespace, q.name, got)
			}
		}
	}
	want("nothing known", pass, pass, pass)
	g.SetVolume(volumeOf("used"))
	want("no pod", pass, pass, pass)
	g.SetPod(podOn("", "p"))
	want("no node", pass, pass, pass)
	g.SetPod(podOn("a", "p"))
	want("bound", allow, allow, allow)
	g.SetPod(podOn("a", "q"))
	g.DeletePod("ns", "q")
	want("one of two", allow, allow, allow)
	g.SetVolume(volumeOf("other"))
	want("the volume went to another claim", allow, pass, pass)
	g.SetVolume(volumeOf("used"))
	g.DeleteVolume("pv")
	want("the volume is gone", allow, pass, pass)
	mirror := podOn("a", "p")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotation: ""}
	g.SetPod(mirror)
	want("a mirror", pass, pass, pass)
	g.DeletePod("ns", "p")
	if len(g.nodes)+len(g.owners)+len(g.volumes)+len(g.bound) > 0 {
		t.Errorf("left over: %v %v %v %v", g.nodes, g.owners, g.volumes, g.bound)
	}
}

func TestNodeRules(t *testing.T) {
	n := NewNode(NewNodeGraph())
	if rules, incomplete, err := n.RulesFor(t.Context(), kubelet("a"), "ns"); len(rules) > 0 || !incomplete || err == nil {
		t.Errorf("of a node: %v %v %v", rules, incomplete, err)
	}
	if rules, incomplete, err := n.RulesFor(t.Context(), &request.User{Name: "alice"}, "ns"); len(rules) > 0 || incomplete || err != nil {
		t.Errorf("of another: %v %v %v", rules, incomplete, err)
	}
}

// TestNodeGraphSize checks the figure in docs/limits.md: a pod with five references costs less than
// 800 bytes.
func TestNodeGraphSize(t *testing.T) {
	const pods = 20_000
	g := NewNodeGraph()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // unused unique handles are freed by the second run
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range pods {
		p := podOn(fmt.Sprintf("node-%d", i/100), fmt.Sprintf("application-7d4b9c%06d", i))
		p.Spec.Volumes = append(p.Spec.Volumes,
			corev1.Volume{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}}},
			corev1.Volume{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: fmt.Sprintf("own-%d", i)}}})
		g.SetPod(p)
	}
	per := (heap() - before) / pods
	t.Logf("%d bytes for each pod", per)
	if per > 800 {
		t.Errorf("a pod costs %d bytes", per)
	}
	runtime.KeepAlive(g)
}

// TestNodeGraphRaces: pods of one node come and go concurrently, with a volume that all of them
// claim. Each pod gives its node the objects that it needs from SetPod until DeletePod, and not
// longer. No other node gets anything, and nothing is left over.
func TestNodeGraphRaces(t *testing.T) {
	g := NewNodeGraph()
	n := NewNode(g)
	want := func(node, namespace, secret string, want request.Decision) {
		d, _, err := n.Authorize(t.Context(), &request.Attributes{
			User: kubelet(node), Verb: "get", IsResource: true, Resource: "secrets", Namespace: namespace, Name: secret})
		if d != want || err != nil {
			t.Errorf("node %s, secret %s/%s: got %v, %v, want %v", node, namespace, secret, d, err, want)
		}
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 200 {
				name := fmt.Sprint(i, j%5)
				p := podOn("a", name)
				p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: "of-" + name})
				g.SetPod(p)
				g.SetVolume(volumeOf("used"))
				want("a", "csi", "stage", allow)
				want("b", "csi", "stage", pass)
				want("a", "ns", "used", allow)
				want("a", "ns", "of-"+name, allow)
				g.DeletePod("ns", name)
				want("a", "ns", "of-"+name, pass)
			}
		})
	}
	wg.Wait()
	want("a", "csi", "stage", pass)
	g.DeleteVolume("pv")
	if len(g.nodes)+len(g.owners)+len(g.volumes)+len(g.bound) > 0 {
		t.Errorf("left over: %v %v %v %v", g.nodes, g.owners, g.volumes, g.bound)
	}
}

func BenchmarkNode(b *testing.B) {
	g := NewNodeGraph()
	for i := range 10_000 {
		g.SetPod(podOn(fmt.Sprint("n", i/100), fmt.Sprint("p", i)))
	}
	n := NewNode(g)
	a := &request.Attributes{User: kubelet("n7"), Verb: "get", IsResource: true, Resource: "secrets", Namespace: "ns", Name: "used"}
	b.ReportAllocs()
	for b.Loop() {
		if d, _, _ := n.Authorize(b.Context(), a); d != allow {
			b.Fatal(d)
		}
	}
}
