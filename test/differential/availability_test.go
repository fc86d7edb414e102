package differential

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	availabilitymetrics "k8s.io/kube-aggregator/pkg/controllers/status/metrics"
	remoteavailability "k8s.io/kube-aggregator/pkg/controllers/status/remote"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// TestAPIServiceAvailability has both controllers find out whether the servers behind APIServices
// can be reached: services of all sorts, with endpoints or without, and servers that answer or fail
// in some way. Each APIService has a namespace of its own.
func TestAPIServiceAvailability(t *testing.T) {
	for _, byEndpoints := range []bool{false, true} {
		t.Run(fmt.Sprintf("by endpoints=%t", byEndpoints), func(t *testing.T) { testAvailability(t, byEndpoints) })
	}
}

func testAvailability(t *testing.T, byEndpoints bool) {
	m := &mutator{rand: random(fmt.Sprint("availability", byEndpoints))}
	b := newBackends(t)
	var scenes []backing
	for i := range times(150) {
		scenes = append(scenes, newAggregated(m, b, fmt.Sprintf("n%d", i)))
	}
	theirs, ours := theirAvailability(t, scenes, byEndpoints), ourAvailability(t, scenes, byEndpoints)
	reasons := map[string]int{}
	for i, s := range scenes {
		if theirs[i].steady() != ours[i] {
			t.Errorf("%s in front of %s:\ntheirs %s\nours   %s\n%s", s.namespace, s.behind, theirs[i], ours[i], indent(tree(append(s.objects, s.service))))
		}
		reasons[theirs[i].Reason]++
	}
	t.Logf("reasons: %v", reasons)
	for _, reason := range []string{"ServiceNotFound", "ServicePortError", "EndpointsNotFound", "MissingEndpoints", "FailedDiscoveryCheck", "Passed"} {
		if reasons[reason] == 0 && count >= 1 {
			t.Errorf("none has the reason %s: the test tries too little", reason)
		}
	}
}

// found is the condition that a controller reports.
type found struct{ Status, Reason, Message string }

func (f found) String() string { return fmt.Sprintf("%s (%s): %s", f.Status, f.Reason, f.Message) }

// passing are the parts of network errors that differ from try to try. Coracle leaves them out, so
// that an equal error does not change the condition.
var passing = [...]struct {
	text *regexp.Regexp
	ours string
}{
	{regexp.MustCompile(`(read|write) tcp [^ ]+->`), "$1 tcp "},
	{regexp.MustCompile(`stream error: stream ID \d+; (\w+); received from peer`), "stream error: $1"},
	{regexp.MustCompile(`current time \S+ is`), "current time is"},
}

func (f found) steady() found {
	for _, p := range passing {
		f.Message = p.text.ReplaceAllString(f.Message, p.ours)
	}
	return f
}

// backing is an APIService, and the objects in the namespace of its service.
type backing struct {
	namespace, behind string
	service           *apiregistrationv1.APIService
	objects           []runtime.Object
}

func newAggregated(m *mutator, b *backends, namespace string) backing {
	behind := one(m, b.names...)
	if m.rand.IntN(3) == 0 {
		behind = "ok"
	}
	port := b.ports[behind]
	s := backing{namespace: namespace, behind: behind}
	group := namespace + ".example.com"
	s.service = &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1." + group, UID: "u", CreationTimestamp: metav1.NewTime(past)},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 15,
			Service: &apiregistrationv1.ServiceReference{Namespace: namespace, Name: "back", Port: &port},
		},
	}
	if m.rand.IntN(10) == 0 {
		s.service.Status.Conditions = []apiregistrationv1.APIServiceCondition{{
			Type: "Other", Status: apiregistrationv1.ConditionTrue, LastTransitionTime: metav1.NewTime(past),
		}}
	}
	switch m.rand.IntN(8) {
	case 0:
		s.service.Spec.CABundle = b.other
	case 1:
	case 2, 3:
		s.service.Spec.InsecureSkipTLSVerify = true
	default:
		s.service.Spec.CABundle = b.ca
	}
	if m.rand.IntN(12) > 0 {
		s.objects = append(s.objects, serviceBefore(m, namespace, port))
	}
	for i := range m.rand.IntN(5) {
		s.objects = append(s.objects, sliceBefore(m, namespace, fmt.Sprint("slice-", i), port))
	}
	return s
}

// serviceBefore is the service in front of a server that listens at some port of this machine.
func serviceBefore(m *mutator, namespace string, port int32) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "back", UID: "u", CreationTimestamp: metav1.NewTime(past)},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "127.0.0.1", ClusterIPs: []string{"127.0.0.1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
		},
	}
	for _, p := range []corev1.ServicePort{{Name: "metrics", Port: 9}, {Name: "https", Port: port}} {
		if m.rand.IntN(10) > 0 {
			svc.Spec.Ports = append(svc.Spec.Ports, p)
		}
	}
	if len(svc.Spec.Ports) == 1 && m.rand.IntN(4) == 0 {
		svc.Spec.Ports[0].Name = ""
	}
	switch m.rand.IntN(10) {
	case 0:
		svc.Spec.ClusterIP, svc.Spec.ClusterIPs = "None", []string{"None"}
	case 1:
		svc.Spec.Type = one(m, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
	case 2:
		svc.Spec.Type, svc.Spec.ExternalName, svc.Spec.ClusterIP, svc.Spec.ClusterIPs = corev1.ServiceTypeExternalName, "localhost", "", nil
	}
	return svc
}

func sliceBefore(m *mutator, namespace, name string, port int32) *discoveryv1.EndpointSlice {
	yes, no, tcp := true, false, corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: "u", CreationTimestamp: metav1.NewTime(past),
			Labels: map[string]string{discoveryv1.LabelServiceName: one(m, "back", "back", "back", "front", "")},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for range m.rand.IntN(3) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{"127.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: one(m, nil, &yes, &yes, &no)},
		})
	}
	for _, named := range [][]string{{"https"}, {"https", "metrics"}, {""}, {"metrics"}, nil}[m.rand.IntN(5)] {
		p := discoveryv1.EndpointPort{Name: &named, Port: &port, Protocol: &tcp}
		if m.rand.IntN(8) == 0 {
			p.Port = nil
		}
		slice.Ports = append(slice.Ports, p)
	}
	return slice
}

// backends are servers on this machine, each of which answers or fails in another way.
type backends struct {
	names     []string
	ports     map[string]int32
	ca, other []byte // certificates of the authority that signed theirs, and of another authority
}

func newBackends(t *testing.T) *backends {
	b := &backends{ports: map[string]int32{}}
	var names []string
	for i := range times(150) {
		names = append(names, fmt.Sprintf("back.n%d.svc", i))
	}
	var good, expired, misnamed tls.Certificate
	var sign func(until time.Time, names ...string) tls.Certificate
	b.other, _ = authority(t)
	b.ca, sign = authority(t)
	good = sign(time.Now().Add(time.Hour), names...)
	expired = sign(past.Add(time.Hour), names...)
	misnamed = sign(time.Now().Add(time.Hour), "example.com")
	quiet := log.New(io.Discard, "", 0)
	begin := func(name string, cert *tls.Certificate, h http.HandlerFunc) {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = quiet
		if cert != nil {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
			s.EnableHTTP2 = !strings.HasSuffix(name, " by HTTP/1.1")
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		b.add(name, s.Listener.Addr())
	}
	asked := func(w http.ResponseWriter, r *http.Request) bool {
		h := r.Header
		if r.Method == http.MethodGet && h.Get("X-Remote-User") == "system:kube-aggregator" && slices.Equal(h["X-Remote-Group"], []string{"system:masters"}) {
			return true
		}
		http.Error(w, "who asks for what?", http.StatusTeapot)
		return false
	}
	answer := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if asked(w, r) {
				w.Header().Set("Location", "https://localhost:1/")
				w.WriteHeader(code)
			}
		}
	}
	begin("ok", &good, answer(200))
	begin("ok again", &good, answer(200))
	begin("ok by HTTP/1.1", &good, answer(200))
	for _, code := range []int{204, 299, 300, 302, 307, 401, 403, 404, 500, 503} {
		begin(fmt.Sprint(code), &good, answer(code))
	}
	for _, name := range []string{"hangs up", "hangs up by HTTP/1.1"} {
		begin(name, &good, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}
	begin("expired", &expired, answer(200))
	begin("misnamed", &misnamed, answer(200))
	begin("no TLS", nil, answer(200))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.add("nobody", l.Addr())
	l.Close()
	return b
}

func (b *backends) add(name string, addr net.Addr) {
	b.names = append(b.names, name)
	b.ports[name] = int32(addr.(*net.TCPAddr).Port)
}

// authority makes a certificate authority. It returns the authority's certificate as PEM, and a
// function that signs with its key.
func authority(t *testing.T) ([]byte, func(until time.Time, names ...string) tls.Certificate) {
	t.Helper()
	serial := int64(1)
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sign := func(c, by *x509.Certificate, k, with *ecdsa.PrivateKey) []byte {
		serial++
		c.SerialNumber, c.NotBefore = big.NewInt(serial), past
		der, err := x509.CreateCertificate(rand.Reader, c, by, &k.PublicKey, with)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	caKey := key()
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der := sign(ca, ca, caKey, caKey)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), func(until time.Time, names ...string) tls.Certificate {
		k := key()
		c := &x509.Certificate{NotAfter: until, DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		return tls.Certificate{Certificate: [][]byte{sign(c, ca, k, caKey)}, PrivateKey: k}
	}
}

// theirAvailability returns the conditions that Kubernetes' controller reports.
func theirAvailability(t *testing.T, scenes []backing, byEndpoints bool) []found {
	var objects, apiServices []runtime.Object
	for _, s := range scenes {
		apiServices = append(apiServices, s.service.DeepCopy())
		for _, obj := range s.objects {
			objects = append(objects, obj.DeepCopyObject())
		}
	}
	f := informers.NewSharedInformerFactory(fake.NewSimpleClientset(objects...), 0)
	c := aggregatorfake.NewSimpleClientset(apiServices...)
	af := aggregatorinformers.NewSharedInformerFactory(c, 0)
	services, endpointSlices := f.Core().V1().Services(), f.Discovery().V1().EndpointSlices()
	resolver := apiserver.NewClusterIPServiceResolver(services.Lister())
	if byEndpoints {
		getter, err := proxy.NewEndpointSliceIndexerGetter(endpointSlices)
		if err != nil {
			t.Fatal(err)
		}
		resolver = apiserver.NewEndpointServiceResolver(services.Lister(), getter)
	}
	dial := &transport.DialHolder{Dial: (&net.Dialer{}).DialContext}
	controller, err := remoteavailability.New(af.Apiregistration().V1().APIServices(), services, endpointSlices, c.ApiregistrationV1(),
		dial, nil, resolver, availabilitymetrics.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.Start(ctx.Done())
	af.Start(ctx.Done())
	ended := make(chan struct{})
	go func() { defer close(ended); controller.Run(5, ctx.Done()) }()
	defer func() { cancel(); <-ended; f.Shutdown(); af.Shutdown() }()
	return whatIsFound(t, scenes, func(name string) *apiregistrationv1.APIService {
		s, err := c.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// ourAvailability returns the conditions that Coracle reports.
func ourAvailability(t *testing.T, scenes []backing, byEndpoints bool) []found {
	store := memory.New(memory.Config{})
	put := func(key string, obj runtime.Object) {
		kinds, _, err := clientscheme.Scheme.ObjectKinds(obj)
		if err != nil {
			if kinds, _, err = aggregatorscheme.Scheme.ObjectKinds(obj); err != nil {
				t.Fatal(err)
			}
		}
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), key, data, storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range scenes {
		put(place("namespaces", "", s.namespace), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
		for _, obj := range s.objects {
			resource := "services"
			if _, ok := obj.(*discoveryv1.EndpointSlice); ok {
				resource = "endpointslices"
			}
			put(place(resource, s.namespace, obj.(metav1.Object).GetName()), obj)
		}
		put(place("apiservices", "", s.service.Name), s.service)
	}
	srv := servertest.Start(t, server.Config{
		Storage: server.StorageConfig{Store: store}, Controllers: []string{},
		API: server.APIConfig{Aggregation: aggregator.Config{ByEndpoints: byEndpoints}},
	})
	o := &ours{handler: srv.Server.Handler(), store: store, scheme: srv.Server.Scheme}
	return whatIsFound(t, scenes, func(name string) *apiregistrationv1.APIService {
		a := ask(o, http.MethodGet, "/apis/apiregistration.k8s.io/v1/apiservices/"+name, nil)
		if a.Code != http.StatusOK {
			t.Fatal(indent(a.Body))
		}
		var s apiregistrationv1.APIService
		if err := decode(encode(a.Body), &s); err != nil {
			t.Fatal(err)
		}
		return &s
	})
}

// whatIsFound waits until every APIService says whether it is available, and returns that.
func whatIsFound(t *testing.T, scenes []backing, get func(name string) *apiregistrationv1.APIService) []found {
	t.Helper()
	var list []found
	deadline := time.Now().Add(time.Minute)
	for _, s := range scenes {
		for {
			conditions := get(s.service.Name).Status.Conditions
			at := slices.IndexFunc(conditions, func(c apiregistrationv1.APIServiceCondition) bool { return c.Type == apiregistrationv1.Available })
			if at >= 0 {
				c := &conditions[at]
				list = append(list, found{string(c.Status), c.Reason, c.Message})
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s has no condition", s.service.Name)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return list
}
