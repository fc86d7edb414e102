//go:build cluster

package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var flunders = schema.GroupVersionResource{Group: wardleGroup, Version: "v1beta1", Resource: "flunders"}

// TestAggregation runs Kubernetes' sample extension server behind a server. It uses the sample's
// resources like others: while the sample runs, while it is down, and after it has started again.
func TestAggregation(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	x := newExtension(t, s)
	x.register(t, s, corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"})
	for _, version := range wardleVersions {
		awaitAvailable(t, s, version, apiregistrationv1.ConditionTrue, "Passed")
	}
	play(t, newShell(t, s), "testdata/extension/up.txt")
	t.Run("Discovery", func(t *testing.T) { remoteDiscovery(t, s, x) })
	t.Run("OpenAPI", func(t *testing.T) { remoteOpenAPI(t, s) })
	t.Run("OpenAPIv2Only", func(t *testing.T) { remoteV2Only(t, s, x) })
	t.Run("Watch", func(t *testing.T) { remoteWatch(t, s) })
	t.Run("Users", func(t *testing.T) { remoteUsers(t, s) })
	t.Run("Delegation", func(t *testing.T) { delegation(t, s, x) })
	t.Run("Outage", func(t *testing.T) { remoteOutage(t, s, x) })
}

// flunder is an object to create.
func flunder(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": flunders.GroupVersion().String(), "kind": "Flunder", "metadata": map[string]any{"name": name},
	}}
}

func dynamicClient(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// direct is a client's configuration for the extension server itself.
func (x *extension) direct(t *testing.T, token string) *rest.Config {
	t.Helper()
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", x.port), BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{CAData: x.bundle(t), ServerName: wardleService + "." + wardleSpace + ".svc"},
	}
}

// remoteDiscovery wants discovery, aggregated and version by version, to show the resources of the
// extension server as that server itself shows them.
func remoteDiscovery(t *testing.T, s *server, x *extension) {
	bot := accountToken(t, s, "discoverer")
	of := func(c discovery.DiscoveryInterface) map[string]string {
		t.Helper()
		_, lists, err := c.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, list := range lists {
			for _, r := range list.APIResources {
				if strings.HasPrefix(list.GroupVersion, wardleGroup) {
					slices.Sort(r.Verbs)
					r.Group, r.Version, r.StorageVersionHash = "", "", "" // only one of the two forms of discovery has these
					text, err := json.Marshal(r)
					if err != nil {
						t.Fatal(err)
					}
					found[list.GroupVersion+"/"+r.Name] = string(text)
				}
			}
		}
		return found
	}
	front, behind := discovery.NewDiscoveryClientForConfigOrDie(s.config(t)), discovery.NewDiscoveryClientForConfigOrDie(x.direct(t, bot))
	want := of(behind)
	if names := slices.Sorted(maps.Keys(want)); len(names) != 3 {
		t.Errorf("the extension server has %q", names)
	}
	for name, c := range map[string]discovery.DiscoveryInterface{"aggregated": front, "one by one": front.WithLegacy()} {
		eventually(t, 10*time.Second, func() error {
			if got := of(c); !reflect.DeepEqual(got, want) {
				return fmt.Errorf("%s: got %v, want %v", name, got, want)
			}
			return nil
		})
	}
}

// remoteOpenAPI wants the documents of OpenAPI to have the extension server's models and paths.
func remoteOpenAPI(t *testing.T, s *server) {
	c := discovery.NewDiscoveryClientForConfigOrDie(s.config(t))
	eventually(t, 10*time.Second, func() error {
		paths, err := c.OpenAPIV3().Paths()
		if err != nil {
			return err
		}
		gv := paths["apis/"+flunders.GroupVersion().String()]
		if gv == nil {
			return errors.New("no document of OpenAPI v3")
		}
		text, err := gv.Schema("application/json")
		if err == nil && !strings.Contains(string(text), `"/apis/wardle.example.com/v1beta1/namespaces/{namespace}/flunders/{name}"`) {
			err = fmt.Errorf("OpenAPI v3 has no path of flunders: %.200s", text)
		}
		return err
	})
	eventually(t, 20*time.Second, func() error {
		doc, err := c.OpenAPISchema()
		if err != nil {
			return err
		}
		models, paths := 0, 0
		for _, d := range doc.GetDefinitions().GetAdditionalProperties() {
			if strings.HasSuffix(d.Name, "wardle.v1beta1.Flunder") {
				models++
			}
		}
		for _, p := range doc.GetPaths().GetPath() {
			if strings.HasPrefix(p.Name, "/apis/wardle.example.com/v1beta1/") {
				paths++
			}
		}
		if models != 1 || paths == 0 {
			return fmt.Errorf("OpenAPI v2 has %d models of flunders and %d paths", models, paths)
		}
		return nil
	})
}

// remoteV2Only registers a proxy to the extension server as another group, without OpenAPI v3.
// kubectl must explain its resources from v2.
func remoteV2Only(t *testing.T, s *server, x *extension) {
	const group, version = "fishing.example.com", "v1beta1"
	behind := x.direct(t, accountToken(t, s, "mirror"))
	transport, err := rest.TransportFor(behind)
	if err != nil {
		t.Fatal(err)
	}
	mirror := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/openapi/v3") {
			http.NotFound(w, r)
			return
		}
		ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, behind.Host+strings.ReplaceAll(r.URL.Path, group, wardleGroup), nil)
		if err != nil {
			t.Error(err)
			return
		}
		ask.Header.Set("Accept", r.Header.Get("Accept"))
		said, err := transport.RoundTrip(ask)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer said.Body.Close()
		body, err := io.ReadAll(said.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", said.Header.Get("Content-Type"))
		w.WriteHeader(said.StatusCode)
		_, _ = w.Write(bytes.ReplaceAll(body, []byte(wardleGroup), []byte(group)))
	}))
	defer mirror.Close()
	_, err = s.client(t).CoreV1().Services(wardleSpace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "mirror"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	services := s.registry(t).ApiregistrationV1().APIServices()
	_, err = services.Create(t.Context(), &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version + "." + group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: version, GroupPriorityMinimum: 500, VersionPriority: 15, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{
				Namespace: wardleSpace, Name: "mirror", Port: new(int32(mirror.Listener.Addr().(*net.TCPAddr).Port)),
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := services.Delete(t.Context(), version+"."+group, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	c := discovery.NewDiscoveryClientForConfigOrDie(s.config(t))
	gv := schema.GroupVersion{Group: group, Version: version}
	eventually(t, 20*time.Second, func() error {
		spec, err := openapi3.NewRoot(c.OpenAPIV3()).GVSpec(gv)
		if err == nil && spec.Paths.Paths["/apis/"+gv.String()+"/flunders"] == nil {
			err = errors.New("the document of OpenAPI v3 has no path of flunders")
		}
		return err
	})
	explain := func(group string) string {
		return newShell(t, s).run(t, "kubectl explain --recursive --api-version="+group+"/"+version+" flunders")
	}
	want := strings.ReplaceAll(explain(wardleGroup), wardleGroup, group)
	if got := explain(group); got != want || !strings.Contains(got, "fischerReference") {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// remoteWatch watches objects of the extension server. Each change must arrive when it is made.
func remoteWatch(t *testing.T, s *server) {
	c := dynamicClient(t, s.config(t)).Resource(flunders).Namespace(namespace(t, s.client(t)))
	list, err := c.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for _, step := range []struct {
		want string
		do   func() error
	}{
		{"ADDED", func() error { _, err := c.Create(t.Context(), flunder("f"), metav1.CreateOptions{}); return err }},
		{"MODIFIED", func() error {
			_, err := c.Patch(t.Context(), "f", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		}},
		{"DELETED", func() error { return c.Delete(t.Context(), "f", metav1.DeleteOptions{}) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if e := next(t, w); string(e.Type) != step.want || e.Object.(*unstructured.Unstructured).GetName() != "f" {
			t.Errorf("got %s of %v, want %s", e.Type, e.Object, step.want)
		}
	}
}

// remoteUsers checks which user the extension server sees: an admission policy there refuses every
// create with a message that names the user.
func remoteUsers(t *testing.T, s *server) {
	ns := namespace(t, s.client(t))
	policies := s.client(t).AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "who"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{wardleGroup}, APIVersions: []string{"*"}, Resources: []string{"flunders"}},
				},
			}}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}}},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "false",
				MessageExpression: `"<" + request.userInfo.username + "> <" + request.userInfo.uid + "> <" + request.userInfo.groups.join("|") + "> <" +
					request.userInfo.extra["example.com/team%"].join("|") + ">"`,
			}},
		},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "who"},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: "who", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	config := s.config(t)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "jane <doe>, of x", UID: "u/7", Groups: []string{"system:masters", "a b"},
		Extra: map[string][]string{"example.com/team%": {"red", "50%"}},
	}
	who := dynamicClient(t, config).Resource(flunders).Namespace(ns)
	const want = "<jane <doe>, of x> <u/7> <system:masters|a b|system:authenticated> <red|50%>"
	eventually(t, 15*time.Second, func() error { // the extension server has to read the policy first
		_, err := who.Create(t.Context(), flunder("f"), metav1.CreateOptions{DryRun: []string{"All"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %w, want %s", err, want)
		}
		return nil
	})
}

// accountToken makes a service account and returns a token for it.
func accountToken(t *testing.T, s *server, name string) string {
	t.Helper()
	c := s.client(t)
	if _, err := c.CoreV1().ServiceAccounts(wardleSpace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return tokenOf(t, c, wardleSpace, name)
}

// delegation sends requests directly to the extension server, which asks s who the users are and
// what they may do.
func delegation(t *testing.T, s *server, x *extension) {
	bot, guest := accountToken(t, s, "bot"), accountToken(t, s, "guest")
	c := s.client(t).RbacV1()
	_, err := c.Roles(wardleSpace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "fishers"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{wardleGroup}, Resources: []string{"flunders"}},
	}}, metav1.CreateOptions{})
	if err == nil {
		_, err = c.RoleBindings(wardleSpace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "fishers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "fishers"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "bot", Namespace: wardleSpace}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, token, want string }{
		{"with a role", bot, ""},
		{"without", guest, `cannot list resource "flunders" in API group "wardle.example.com" in the namespace "wardle"`},
		{"with a garbled token", guest + "x", "Unauthorized"},
		{"nobody", "", `User "system:anonymous" cannot list`},
	} {
		_, err := dynamicClient(t, x.direct(t, tt.token)).Resource(flunders).Namespace(wardleSpace).List(t.Context(), metav1.ListOptions{})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// remoteOutage stops the extension server and starts it again, with a certificate of another
// authority.
func remoteOutage(t *testing.T, s *server, x *extension) {
	c := dynamicClient(t, s.config(t)).Resource(flunders).Namespace("lake")
	if _, err := c.Create(t.Context(), flunder("trout"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	x.kill()
	recheck(t, s)
	for _, version := range wardleVersions {
		awaitAvailable(t, s, version, apiregistrationv1.ConditionFalse, "FailedDiscoveryCheck")
	}
	if _, err := c.List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("got %v, want ServiceUnavailable", err)
	}
	eventually(t, 10*time.Second, func() error {
		groups, _, err := discovery.NewDiscoveryClientForConfigOrDie(s.config(t)).ServerGroupsAndResources()
		failed := new(discovery.ErrGroupDiscoveryFailed)
		if !errors.As(err, &failed) || len(failed.Groups) != len(wardleVersions) || len(groups) == 0 {
			return fmt.Errorf("got %w, want only the versions %v to have failed", err, wardleVersions)
		}
		for gv, err := range failed.Groups {
			if stale := (discovery.StaleGroupVersionError{}); !errors.As(err, &stale) {
				return fmt.Errorf("%s: got %w, want a stale version", gv, err)
			}
		}
		return nil
	})
	play(t, newShell(t, s), "testdata/extension/down.txt")

	// The deletion of a namespace waits for the extension server, which may have objects in it.
	spaces := s.client(t).CoreV1().Namespaces()
	if err := spaces.Delete(t.Context(), "lake", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	const unknown = "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: " +
		"wardle.example.com/v1alpha1: stale GroupVersion discovery: wardle.example.com/v1alpha1, " +
		"wardle.example.com/v1beta1: stale GroupVersion discovery: wardle.example.com/v1beta1"
	eventually(t, 10*time.Second, func() error {
		ns, err := spaces.Get(t.Context(), "lake", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue && c.Reason == "DiscoveryFailed" && c.Message == unknown {
				return nil
			}
		}
		return fmt.Errorf("got %+v", ns.Status.Conditions)
	})

	x.certify(t)
	x.start(t)
	recheck(t, s)
	eventually(t, 10*time.Second, func() error {
		found, err := s.registry(t).ApiregistrationV1().APIServices().Get(t.Context(), "v1beta1."+wardleGroup, metav1.GetOptions{})
		if err == nil && !strings.Contains(found.Status.Conditions[0].Message, "x509: certificate signed by unknown authority") {
			err = fmt.Errorf("got %v", found.Status.Conditions)
		}
		return err
	})
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": x.bundle(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range wardleVersions {
		if _, err := s.registry(t).ApiregistrationV1().APIServices().Patch(t.Context(), version+"."+wardleGroup, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range wardleVersions {
		awaitAvailable(t, s, version, apiregistrationv1.ConditionTrue, "Passed")
	}
	eventually(t, 10*time.Second, func() error {
		_, _, err := discovery.NewDiscoveryClientForConfigOrDie(s.config(t)).ServerGroupsAndResources()
		return err
	})
	eventually(t, 20*time.Second, func() error {
		if ns, err := spaces.Get(t.Context(), "lake", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the namespace is there: %v, %w", ns.Status.Conditions, err)
		}
		return nil
	})
	if list, err := c.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("what the namespace held: got %v, %v", list, err)
	}
}

// recheck makes a server check at once whether the extension server is available, by a change of
// the APIServices.
func recheck(t *testing.T, s *server) {
	t.Helper()
	for _, version := range wardleVersions {
		patch := fmt.Appendf(nil, `{"spec":{"groupPriorityMinimum":%d}}`, 1000+rand.IntN(1000))
		if _, err := s.registry(t).ApiregistrationV1().APIServices().Patch(t.Context(), version+"."+wardleGroup, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
