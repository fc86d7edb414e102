package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestEndpointControllers makes the same random changes on two servers, one with Coracle's endpoint
// controllers and one with Kubernetes'. Both servers must arrive at the same endpoints.
func TestEndpointControllers(t *testing.T) {
	ours := connect(t, server.Config{Controllers: []string{"endpoint", "endpointslice", "endpointslicemirroring"}})
	theirs := connect(t, server.Config{Controllers: []string{}})
	runTheirControllers(t, theirs)
	g := &endpointsPlay{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), sides: []*kubernetes.Clientset{ours, theirs}}
	for _, name := range []string{"n0", "n1"} {
		g.node(name)
	}
	rounds := max(int(15*count), 1)
	for round := range rounds {
		for range 12 {
			g.step()
		}
		g.settle(round)
	}
	for i := range 4 { // without a selector, the last endpoints remain; so settle waited until no other change is under way
		g.patch("services", fmt.Sprintf("s%d", i), "", `{"spec":{"selector":null}}`)
	}
	g.settle(rounds)
}

// connect starts a server and returns a client of it, with a namespace "n".
func connect(t *testing.T, cfg server.Config) *kubernetes.Clientset {
	t.Helper()
	s := servertest.Start(t, cfg)
	c, err := kubernetes.NewForConfig(&rest.Config{
		Host: s.URL, BearerToken: s.Token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: s.CAPEM},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// runTheirControllers runs Kubernetes' controllers until the end of the test.
func runTheirControllers(t *testing.T, c *kubernetes.Clientset) {
	ctx, cancel := context.WithCancel(context.Background())
	f := informers.NewSharedInformerFactory(c, 0)
	core := f.Core().V1()
	sliceInformer := f.Discovery().V1().EndpointSlices()
	a := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), c, 0)
	b := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), sliceInformer, 100, c, 0)
	m := endpointslicemirroring.NewController(ctx, core.Endpoints(), sliceInformer, core.Services(), 1000, c, 0)
	f.Start(ctx.Done())
	var wg sync.WaitGroup
	wg.Go(func() { a.Run(ctx, 1) })
	wg.Go(func() { b.Run(ctx, 1) })
	wg.Go(func() { m.Run(ctx, 1) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		f.Shutdown()
	})
}

// endpointsPlay makes the same changes on both sides.
type endpointsPlay struct {
	t     *testing.T
	rnd   *rand.Rand
	sides []*kubernetes.Clientset // ours, theirs
}

// both does something on both sides, which must succeed or be refused alike.
func (g *endpointsPlay) both(what string, do func(ctx context.Context, c *kubernetes.Clientset) error) {
	g.t.Helper()
	ours, theirs := do(g.t.Context(), g.sides[0]), do(g.t.Context(), g.sides[1])
	if apierrors.ReasonForError(ours) != apierrors.ReasonForError(theirs) {
		g.t.Fatalf("%s: one side says %v, the other %v", what, ours, theirs)
	}
}

func (g *endpointsPlay) pick(list ...string) string { return list[g.rnd.IntN(len(list))] }

// step makes one random change.
func (g *endpointsPlay) step() {
	pod, service := fmt.Sprintf("p%d", g.rnd.IntN(8)), fmt.Sprintf("s%d", g.rnd.IntN(4))
	switch n := g.rnd.IntN(20); {
	case n < 5:
		g.createPod(pod)
	case n < 11:
		g.podStatus(pod)
	case n < 13:
		g.patch("pods", pod, "", fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, g.pick("a", "b")))
	case n < 14:
		grace := int64(g.rnd.IntN(2) * 1000)
		g.both("delete pod", func(ctx context.Context, c *kubernetes.Clientset) error {
			return c.CoreV1().Pods("n").Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: &grace})
		})
	case n < 16:
		spec := g.serviceSpec()
		g.both("create service", func(ctx context.Context, c *kubernetes.Clientset) error {
			_, err := c.CoreV1().Services("n").Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: service}, Spec: spec}, metav1.CreateOptions{})
			return err
		})
	case n < 18:
		g.patch("services", service, "", g.pick(
			`{"spec":{"publishNotReadyAddresses":true}}`, `{"spec":{"publishNotReadyAddresses":false}}`,
			`{"spec":{"selector":{"app":"a"}}}`, `{"spec":{"trafficDistribution":"PreferSameZone"}}`, `{"spec":{"trafficDistribution":"PreferSameNode"}}`,
			`{"spec":{"trafficDistribution":null}}`, `{"spec":{"trafficDistribution":"PreferClose"}}`,
			`{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":"Auto"}}}`,
			`{"metadata":{"annotations":{"service.kubernetes.io/topology-mode":null,"service.kubernetes.io/topology-aware-hints":"auto"}}}`,
			`{"metadata":{"annotations":{"service.kubernetes.io/topology-aware-hints":"Disabled"}}}`,
			`{"metadata":{"annotations":null}}`,
			`{"spec":{"ports":[{"port":81,"protocol":"UDP","targetPort":"named"}]}}`,
			`{"spec":{"ipFamilyPolicy":"RequireDualStack"}}`,
		))
	case n < 19:
		g.both("delete service", func(ctx context.Context, c *kubernetes.Clientset) error {
			return c.CoreV1().Services("n").Delete(ctx, service, metav1.DeleteOptions{})
		})
	default:
		g.byHand(service)
	}
}

func (g *endpointsPlay) node(name string) {
	g.both("create node", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "zone-" + name}},
		}, metav1.CreateOptions{})
		return err
	})
}

func (g *endpointsPlay) createPod(name string) {
	always := corev1.ContainerRestartPolicyAlways
	ports := []corev1.ContainerPort{
		{Name: "named", ContainerPort: int32(8080 + g.rnd.IntN(2)), Protocol: corev1.Protocol(g.pick("TCP", "UDP"))},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": g.pick("a", "b")}},
		Spec: corev1.PodSpec{
			NodeName:   g.pick("n0", "n1"),
			Containers: []corev1.Container{{Name: "c", Image: "i"}}, Hostname: g.pick("", "h"), Subdomain: g.pick("s0", "s1"),
		},
	}
	switch g.rnd.IntN(3) {
	case 0:
		pod.Spec.Containers[0].Ports = ports
	case 1:
		pod.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "i", RestartPolicy: &always, Ports: ports}}
	default:
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "i", Ports: ports}}
	}
	g.both("create pod", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Pods("n").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// podStatus gives a pod addresses, which another pod may have as well.
func (g *endpointsPlay) podStatus(name string) {
	ip := fmt.Sprintf("10.0.0.%d", 1+g.rnd.IntN(20))
	ips := fmt.Sprintf(`[{"ip":%q}]`, ip)
	if g.rnd.IntN(2) == 0 {
		ips = fmt.Sprintf(`[{"ip":%q},{"ip":"fd00::%d"}]`, ip, 1+g.rnd.IntN(20))
	}
	g.patch("pods", name, "status", fmt.Sprintf(
		`{"status":{"phase":%q,"podIP":%q,"podIPs":%s,"conditions":[{"type":"Ready","status":%q}]}}`,
		g.pick("Running", "Running", "Running", "Failed"), ip, ips, g.pick("True", "True", "False")))
}

func (g *endpointsPlay) serviceSpec() corev1.ServiceSpec {
	spec := corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{"app": g.pick("a", "b")}, PublishNotReadyAddresses: g.rnd.IntN(4) == 0}
	app := "example.com/x"
	ports := []corev1.ServicePort{
		{Name: "web", Port: 80, TargetPort: intstr.FromInt32(8080), AppProtocol: &app},
		{Name: "other", Port: 81, TargetPort: intstr.FromString("named")},
		{Name: "udp", Port: 81, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromString("named")},
	}
	g.rnd.Shuffle(len(ports), func(i, j int) { ports[i], ports[j] = ports[j], ports[i] })
	spec.Ports = ports[:g.rnd.IntN(4)]
	if dual := corev1.IPFamilyPolicyRequireDualStack; g.rnd.IntN(2) == 0 {
		spec.IPFamilyPolicy, spec.IPFamilies = &dual, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	}
	switch g.rnd.IntN(8) {
	case 0:
		spec.Selector = nil
	case 1:
		spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Selector: spec.Selector}
	}
	return spec
}

// byHand writes Endpoints as a user does for a service without a selector.
func (g *endpointsPlay) byHand(name string) {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": g.pick("x", "y")}}}
	if g.rnd.IntN(5) == 0 {
		e.Labels = map[string]string{discoveryv1.LabelSkipMirror: "true"}
	}
	for range g.rnd.IntN(3) {
		s := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: g.pick("x", "y"), Port: int32(80 + g.rnd.IntN(2))}}}
		for range 1 + g.rnd.IntN(3) {
			a := corev1.EndpointAddress{IP: fmt.Sprintf(g.pick("10.0.0.%d", "fd00::%d"), 1+g.rnd.IntN(5)), Hostname: g.pick("", "h")}
			if g.rnd.IntN(3) == 0 {
				s.NotReadyAddresses = append(s.NotReadyAddresses, a)
			} else {
				s.Addresses = append(s.Addresses, a)
			}
		}
		e.Subsets = append(e.Subsets, s)
	}
	g.both("write endpoints", func(ctx context.Context, c *kubernetes.Clientset) error {
		s, err := c.CoreV1().Services("n").Get(ctx, name, metav1.GetOptions{})
		if err != nil || s.Spec.Selector != nil {
			return err
		}
		if _, err = c.CoreV1().Endpoints("n").Update(ctx, e.DeepCopy(), metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
			_, err = c.CoreV1().Endpoints("n").Create(ctx, e.DeepCopy(), metav1.CreateOptions{})
		}
		return err
	})
}

func (g *endpointsPlay) patch(resource, name, sub, patch string) {
	g.both(patch, func(ctx context.Context, c *kubernetes.Clientset) error {
		r := c.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace("n").Resource(resource).Name(name).Body([]byte(patch))
		if sub != "" {
			r = r.SubResource(sub)
		}
		return r.Do(ctx).Error()
	})
}

// settle touches all services, because some changes do not make Kubernetes' controllers look at a
// service at once, and waits until both sides have the same endpoints.
func (g *endpointsPlay) settle(round int) {
	g.t.Helper()
	var ours, theirs string
	for try := range 10 { // Kubernetes' controllers skip a service while their informers lag behind their own writes
		for i := range 4 {
			label := fmt.Sprintf(`{"metadata":{"labels":{"round":"%d.%d"}}}`, round, try)
			name := fmt.Sprintf("s%d", i)
			g.patch("services", name, "", label)
			for _, c := range g.sides { // makes a controller that backs off look at once
				err := c.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace("n").Resource("endpoints").Name(name).
					Body([]byte(label)).Do(g.t.Context()).Error()
				if err != nil && !apierrors.IsNotFound(err) {
					g.t.Fatal(err)
				}
			}
		}
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if ours, theirs = g.state(g.sides[0]), g.state(g.sides[1]); ours == theirs {
				return
			}
		}
	}
	only := func(list, other string) string {
		have := strings.Split(other, "\n")
		lines := slices.DeleteFunc(strings.Split(list, "\n"), func(line string) bool { return slices.Contains(have, line) })
		return strings.Join(lines, "\n")
	}
	g.t.Fatalf("round %d:\nours alone\n%s\ntheirs alone\n%s", round, only(ours, theirs), only(theirs, ours))
}

// state is the text of all Endpoints and slices on one side.
func (g *endpointsPlay) state(c *kubernetes.Clientset) string {
	g.t.Helper()
	ctx := g.t.Context()
	services, err := c.CoreV1().Services("n").List(ctx, metav1.ListOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	owners := map[types.UID]bool{}
	for _, s := range services.Items {
		owners[s.UID] = true
	}
	endpoints, err := c.CoreV1().Endpoints("n").List(ctx, metav1.ListOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	list, err := c.DiscoveryV1().EndpointSlices("n").List(ctx, metav1.ListOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	var lines []string
	say := func(about string, m *metav1.ObjectMeta, what any) {
		delete(m.Annotations, corev1.EndpointsLastChangeTriggerTime)
		if len(m.Annotations) == 0 {
			m.Annotations = nil
		}
		data, err := json.Marshal([]any{m.Labels, m.Annotations, what})
		if err != nil {
			g.t.Fatal(err)
		}
		lines = append(lines, about+" "+string(data))
	}
	for _, e := range endpoints.Items {
		owners[e.UID] = true
		for i := range e.Subsets {
			sortAddresses(e.Subsets[i].Addresses)
			sortAddresses(e.Subsets[i].NotReadyAddresses)
			sortByJSON(e.Subsets[i].Ports)
		}
		sortByJSON(e.Subsets)
		say("endpoints "+e.Name, &e.ObjectMeta, e.Subsets)
	}
	for _, s := range list.Items {
		owner := s.OwnerReferences[0]
		if !owners[owner.UID] {
			continue // the garbage collector deletes it with its owner
		}
		for i := range s.Endpoints {
			if ref := s.Endpoints[i].TargetRef; ref != nil {
				ref.UID = ""
			}
		}
		sortByJSON(s.Endpoints)
		sortByJSON(s.Ports)
		if len(s.Endpoints) == 0 && slices.ContainsFunc(list.Items, func(o discoveryv1.EndpointSlice) bool {
			return len(o.Endpoints) > 0 && o.AddressType == s.AddressType && o.OwnerReferences[0].UID == owner.UID
		}) {
			continue // an empty slice beside others: its history decides whether Kubernetes keeps it
		}
		say(fmt.Sprintf("slice of %s %s %s", owner.Kind, owner.Name, s.AddressType), &s.ObjectMeta, []any{s.Ports, s.Endpoints})
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func sortAddresses(list []corev1.EndpointAddress) {
	for i := range list {
		if list[i].TargetRef != nil {
			list[i].TargetRef.UID = ""
		}
	}
	sortByJSON(list)
}

func sortByJSON[T any](list []T) {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(text(a), text(b)) })
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
