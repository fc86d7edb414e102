package differential

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	theirroles "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"sigs.k8s.io/yaml"

	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/storage"
)

// verdictShare is the number of writes of each kind, compared with TestWrites.
const verdictShare = 0.1

// guarded are the namespaces of testdata/verdicts, each with the plugin that refuses something
// there. The namespace unaccounted has no service account; the others have "default".
var guarded = map[string]string{
	"limited": "LimitRanger", "counted": "ResourceQuota", "restricted": "PodSecurity", "validated": "ValidatingAdmissionWebhook",
	"mutated": "MutatingAdmissionWebhook", "forbidden": "ValidatingAdmissionPolicy", "spoilt": "MutatingAdmissionPolicy",
	"unaccounted": "ServiceAccount",
}

// verdictUsers are the users who write, each with a role; "" is the administrator.
var verdictUsers = map[string]string{"": "", "editor": "system:aggregate-to-edit", "viewer": "system:aggregate-to-view", "signer": "all-requests"}

// allRequests lets a user write certificate requests, but not sign or approve them for any signer.
var allRequests = rbacv1.ClusterRole{
	ObjectMeta: metav1.ObjectMeta{Name: "all-requests"},
	Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"*"}, APIGroups: []string{"certificates.k8s.io"},
		Resources: []string{"certificatesigningrequests", "certificatesigningrequests/approval", "certificatesigningrequests/status"},
	}},
}

// TestVerdicts has both sides judge writes with all default admission plugins and by roles. It
// compares whether they refuse the writes, and with which code.
func TestVerdicts(t *testing.T) {
	c := newVerdicts(t)
	for _, body := range documents(t, "testdata/verdicts/special.yaml") {
		row := rowOf(t, body)
		for _, namespace := range append(c.placesOf(row), "nowhere") {
			c.compare(t, row, http.MethodPost, in(row.collection(), namespace), body, "", nil)
		}
	}
	for _, row := range rows {
		c.judge(t, row)
	}
	for _, name := range pluginNames(busy) {
		if c.acted[name] == 0 {
			t.Errorf("no request made %s act", name)
		}
	}
	t.Logf("%d requests, %d of them refused by Kubernetes", c.asked, c.refused)
}

// verdicts holds both servers, with the same objects and all default plugins.
type verdicts struct {
	*court
	places  []string       // namespaces
	acted   map[string]int // by plugin: the number of requests that it refused or changed
	asked   int
	refused int
}

func newVerdicts(t *testing.T) *verdicts {
	c := &court{ours: runUntended(t, plugins.Config{}), objects: newShelf(), donors: donors{}}
	v := &verdicts{court: c, places: append(slices.Sorted(maps.Keys(guarded)), where), acted: map[string]int{}}
	world := append(basicWorld(), v.world(t)...)
	may := v.roles(t)
	c.theirs = theirHandlers(t, rows, c.objects, theirAdmission(t, byDefault, world, may, witness), may)
	c.putSystemNamespaces(t)
	for _, row := range rows {
		for _, example := range row.examples(t) {
			c.donors.learn(goType(t, row.Kind), example)
		}
	}
	return v
}

// world creates the objects of testdata/verdicts and service accounts on Coracle, and returns them
// for Kubernetes.
func (v *verdicts) world(t *testing.T) (list []runtime.Object) {
	bodies := documents(t, "testdata/verdicts/world.yaml")
	for _, namespace := range v.places {
		if namespace != "unaccounted" {
			bodies = append(bodies, map[string]any{
				"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": namespace},
			})
		}
	}
	// Namespaces come first, and webhooks and policies last, because they would refuse the rest.
	slices.SortStableFunc(bodies, func(a, b map[string]any) int { return cmp.Compare(worldRank(a), worldRank(b)) })
	for _, body := range bodies {
		obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(encode(body), nil, nil)
		if err != nil {
			t.Fatalf("%s\n%v", indent(body), err)
		}
		legacyscheme.Scheme.Default(obj)
		if ns, is := obj.(*corev1.Namespace); is { // as a server does
			metav1.SetMetaDataLabel(&ns.ObjectMeta, corev1.LabelMetadataName, ns.Name)
		}
		list = append(list, obj)
		row := rowOf(t, body)
		namespace, _, _ := unstructured.NestedString(body, "metadata", "namespace")
		at := in(row.collection(), namespace)
		a := ask(v.ours, http.MethodPost, at, encode(body))
		if status := body["status"]; a.accepted() && status != nil {
			a.Body["status"] = status
			a = ask(v.ours, http.MethodPut, at+"/"+nameOf(body)+"/status", encode(a.Body))
		}
		if !a.accepted() {
			t.Fatalf("%s\n%s", indent(body), indent(a.Body))
		}
		v.objects.put(row.Resource, namespace, nameOf(body), internal(t, a.Body))
	}
	return list
}

// worldRank returns the place of an object in the order in which the world is made.
func worldRank(body map[string]any) int {
	switch {
	case body["kind"] == "Namespace":
		return 0
	case body["apiVersion"] == "admissionregistration.k8s.io/v1":
		return 2
	}
	return 1
}

// documents reads the objects in a YAML file.
func documents(t *testing.T, file string) (list []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(data), "\n---\n") {
		var body map[string]any
		if err := decode(must1(yaml.YAMLToJSON([]byte(doc))), &body); err != nil {
			t.Fatalf("%s\n%v", doc, err)
		}
		list = append(list, body)
	}
	return list
}

// rowOf is the row of an object's kind.
func rowOf(t *testing.T, body map[string]any) Row {
	t.Helper()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Kind == kindOf(body) })
	if i < 0 {
		t.Fatalf("there is no row of %s", kindOf(body))
	}
	return rows[i]
}

// in returns a path with another namespace in it.
func in(path, namespace string) string {
	return strings.Replace(path, "/namespaces/"+where+"/", "/namespaces/"+namespace+"/", 1)
}

// roles binds users to their roles on Coracle, and returns an authorizer with the same rights for
// Kubernetes.
func (v *verdicts) roles(t *testing.T) *theirroles.RBACAuthorizer {
	c := &cluster{}
	for _, role := range bootstrappolicy.ClusterRoles() {
		c.clusterRoles = append(c.clusterRoles, &role)
	}
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		c.clusterRoleBindings = append(c.clusterRoleBindings, &binding)
	}
	c.clusterRoles = append(c.clusterRoles, &allRequests)
	if a := ask(v.ours, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterroles", encode(allRequests)); !a.accepted() {
		t.Fatal(indent(a.Body))
	}
	for name, role := range verdictUsers {
		if name == "" {
			continue
		}
		binding := &rbacv1.ClusterRoleBinding{
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		binding.Name = name
		c.clusterRoleBindings = append(c.clusterRoleBindings, binding)
		if a := ask(v.ours, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", encode(binding)); !a.accepted() {
			t.Fatal(indent(a.Body))
		}
	}
	return theirroles.New(c, c, c, c)
}

// accounted returns an example with the service account "default" if it is a pod with another
// account, because only "default" exists.
func accounted(example map[string]any) map[string]any {
	spec, is := example["spec"].(map[string]any)
	if kindOf(example).Kind != "Pod" || !is || spec["serviceAccountName"] == nil {
		return example
	}
	example, spec = maps.Clone(example), maps.Clone(spec)
	spec["serviceAccountName"], spec["serviceAccount"] = "default", "default"
	example["spec"] = spec
	return example
}

// judge tries writes of one kind.
func (v *verdicts) judge(t *testing.T, row Row) {
	examples := row.examples(t)
	m := &mutator{rand: random("verdicts", row.Resource, row.Kind), donors: v.donors}
	users := slices.Sorted(maps.Keys(verdictUsers))
	pick := func() (namespace, user string) {
		if m.rand.IntN(6) == 0 {
			user = users[m.rand.IntN(len(users))]
		}
		return v.places[m.rand.IntN(len(v.places))], user
	}
	for _, example := range examples {
		for _, namespace := range v.placesOf(row) {
			v.compare(t, row, http.MethodPost, in(row.collection(), namespace), example, "", nil)
		}
	}
	n := max(1, int(verdictShare*float64(row.count())))
	for i := range n {
		namespace, user := pick()
		body := m.mutate(goType(t, row.Kind), examples[i%len(examples)])
		v.compare(t, row, http.MethodPost, in(row.collection(), namespace), body, user, m.notes)
	}
	more := row.stored(t)
	doors, err := row.REST(v.objects)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string][]map[string]any{}
	for i, example := range examples {
		obj := v.store(t, row, accounted(example), more[i])
		for _, namespace := range v.placesOf(row) {
			stored[namespace] = append(stored[namespace], v.move(t, row, obj, namespace))
		}
	}
	for _, door := range doorNames(doors) {
		for i, obj := range stored[where] {
			for _, user := range users {
				v.compare(t, row, http.MethodPut, row.url(nameOf(obj), door), withStatusOf(obj, stored[where][(i+1)%len(examples)]), user, nil)
			}
		}
		for i := range n {
			namespace, user := pick()
			if row.Cluster {
				namespace = where
			}
			obj := stored[namespace][i%len(examples)]
			url := in(row.url(nameOf(obj), door), namespace)
			if door != "" { // a subresource may have a kind of its own
				if a := ask(v.theirs, http.MethodGet, url, nil); a.accepted() {
					obj = a.Body
				}
			}
			v.compare(t, row, http.MethodPut, url, m.mutate(goType(t, kindOf(obj)), obj), user, m.notes)
		}
	}
	if row.Resource == claimsOfCore.Resource {
		for _, obj := range stored[where] { // mutations hardly ever change only the storage request of a bound claim
			more := tree(obj).(map[string]any)
			must(unstructured.SetNestedField(more, "12Gi", "spec", "resources", "requests", "storage"))
			v.compare(t, row, http.MethodPut, row.url(nameOf(obj), ""), more, "", nil)
		}
	}
	v.forget(t, row)
	for namespace, list := range stored { // otherwise a limit range would affect objects of the next kinds
		for _, obj := range list {
			if namespace == where {
				continue
			}
			if _, err := v.ours.store.Delete(t.Context(), place(row.Resource, namespace, nameOf(obj)), storage.Pre{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// withStatusOf returns obj with the status of other, if other has one.
func withStatusOf(obj, other map[string]any) map[string]any {
	obj = tree(obj).(map[string]any)
	if status := other["status"]; status != nil {
		obj["status"] = status
	}
	return obj
}

// placesOf are the namespaces for objects of a kind. Cluster-scoped kinds have one, which is not
// used.
func (v *verdicts) placesOf(row Row) []string {
	if row.Cluster {
		return []string{where}
	}
	return v.places
}

// move copies a stored object to another namespace, on both sides.
func (v *verdicts) move(t *testing.T, row Row, obj map[string]any, namespace string) map[string]any {
	if namespace == where {
		return obj
	}
	obj = tree(obj).(map[string]any)
	m := obj["metadata"].(map[string]any)
	m["namespace"] = namespace
	delete(m, "resourceVersion")
	key := place(row.Resource, namespace, nameOf(obj))
	if _, err := v.ours.store.Put(t.Context(), key, v.ours.atHome(t, row, encode(obj)), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	a := ask(v.ours, http.MethodGet, in(row.url(nameOf(obj), ""), namespace), nil)
	if !a.accepted() {
		t.Fatal(indent(a.Body))
	}
	v.objects.put(row.Resource, namespace, nameOf(obj), internal(t, a.Body))
	return a.Body
}

// compare sends a dry run to both sides, and fails the test if they decide differently.
func (v *verdicts) compare(t *testing.T, row Row, method, url string, body map[string]any, user string, notes []string) {
	if m, is := body["metadata"].(map[string]any); is && m["namespace"] == where && !row.Cluster {
		delete(m, "namespace")
	}
	theirs, did := verdict(v.theirs, method, url, body, user)
	ours, _ := verdict(v.ours, method, url, body, user)
	v.asked++
	for _, name := range append(did.changed, did.refused) {
		v.acted[name]++
	}
	if !theirs.accepted() {
		v.refused++
	}
	// The policy names the events of the core group. If a policy sees an object in another version
	// than the request's, Kubernetes refuses the change and Coracle makes it.
	const otherGroup = "/apis/events.k8s.io/v1/namespaces/spoilt/"
	if theirs.Code == ours.Code || theirs.Code == http.StatusForbidden && strings.HasPrefix(url, otherGroup) {
		return
	}
	tr := trial{method: method, url: url, body: body, notes: notes, theirs: theirs, ours: ours}
	tr.again = func() answer { return theirs }
	for _, d := range tr.differences() {
		if !decided(row.Kind.Kind, d, tr) {
			t.Errorf("%s as %q: %d, and Coracle says %d: %s\n%s\n%s\n%s", method+" "+url, user, theirs.Code, ours.Code, d,
				encode(theirs.Body), encode(ours.Body), encode(body))
		}
	}
}

// verdict sends a dry run. It returns the answer, and the deeds of Kubernetes' plugins.
func verdict(h http.Handler, method, url string, body map[string]any, user string) (answer, *deeds) {
	did := &deeds{}
	r := httptest.NewRequest(method, url+"?dryRun=All", bytes.NewReader(encode(body)))
	r = r.WithContext(context.WithValue(r.Context(), deedsKey{}, did))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if user != "" {
		r.Header.Set("Impersonate-User", user)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := answer{Code: w.Code}
	if err := decode(w.Body.Bytes(), &a.Body); err != nil {
		a.Body = map[string]any{"unreadable": w.Body.String()}
	}
	return a, did
}
