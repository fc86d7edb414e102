package cluster

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	kueueSpace = "kueue-system"
	kueueRoot  = "/apis/kueue.x-k8s.io/"
	hookRoot   = "/apis/admissionregistration.k8s.io/v1/"
	crdRoot    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	jobs       = "/apis/batch/v1/namespaces/team/jobs"
)

// TestKueue runs kueue, a published controller whose webhooks and conversions stand in front of its
// own custom resources and of Jobs. Kueue acts with the rights that its own manifests give it. It
// makes the certificate of its webhooks and writes the authority into the configurations itself.
func TestKueue(t *testing.T) {
	p := newPlane(t, coracle, "kueue")
	s := p.serve(coracle, 0, "--controllers=*") // without them nobody deletes the dependents of a Job
	port := freePort(t)                         // of kueue's webhooks
	s.installKueue(t, port)
	k := p.kueue(s, port)
	s.hasAuthority(t)

	s.make(t, "/api/v1/namespaces", object{"metadata": object{"name": "team"}})
	s.make(t, kueueRoot+"v1beta2/resourceflavors", object{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": object{"name": "plain"},
	})
	s.defaultsAndConverts(t)
	s.refusesQueues(t)
	s.admitsJobs(t)
	if !k.running() {
		t.Errorf("kueue has ended by itself:\n%s", k.log)
	}
}

// clusterQueue is a ClusterQueue in a version, with a quota of CPUs. cohort is the field that names
// its cohort: the versions differ in it.
func clusterQueue(version, name, cohort, cpus string) object {
	return object{
		"apiVersion": "kueue.x-k8s.io/" + version, "kind": "ClusterQueue", "metadata": object{"name": name},
		"spec": object{
			cohort: "all", "namespaceSelector": object{},
			"resourceGroups": []any{object{"coveredResources": []any{"cpu"}, "flavors": []any{object{
				"name": "plain", "resources": []any{object{"name": "cpu", "nominalQuota": cpus}},
			}}}},
		},
	}
}

// defaultsAndConverts creates a ClusterQueue in v1beta1, which is not stored. Kueue's webhook asks
// for v1beta2, and gives the queue a finalizer. Kueue converts the queue in both directions.
func (s *server) defaultsAndConverts(t *testing.T) {
	const path = "/clusterqueues"
	made := s.make(t, kueueRoot+"v1beta1"+path, clusterQueue("v1beta1", "shared", "cohort", "1"))
	if got := fmt.Sprint(at(made, "metadata", "finalizers")); got != "[kueue.x-k8s.io/resource-in-use]" {
		t.Errorf("finalizers: got %s, want that of kueue's webhook", got)
	}
	for version, field := range map[string]string{"v1beta1": "cohort", "v1beta2": "cohortName"} {
		o, err := s.get(kueueRoot + version + path + "/shared")
		if err != nil || text(o, "spec", field) != "all" {
			t.Errorf("read in %s: got spec %v, %v, want all as %s", version, o["spec"], err, field)
		}
		list, err := s.get(kueueRoot + version + path)
		if all := items(list); err != nil || len(all) != 1 || text(all[0], "spec", field) != "all" {
			t.Errorf("list in %s: got %v, %v, want all as %s", version, list, err, field)
		}
	}
	s.await(t, kueueRoot+"v1beta1"+path, "an active queue, in the version that is not stored", func(o object) bool {
		return condition(o, "Active", "True") && text(o, "spec", "cohort") == "all"
	})
	s.make(t, kueueRoot+"v1beta2/namespaces/team/localqueues", object{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
		"metadata": object{"name": "work"}, "spec": object{"clusterQueue": "shared"},
	})
}

// refusesQueues wants kueue's webhook to refuse the creation and the update of a ClusterQueue.
func (s *server) refusesQueues(t *testing.T) {
	const want = `admission webhook \"vclusterqueue.kb.io\" denied the request: ` +
		`spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: ` +
		`Invalid value: \"-1\": must be greater than or equal to 0`
	wrong := clusterQueue("v1beta2", "wrong", "cohortName", "-1")
	_, created := s.create(kueueRoot+"v1beta2/clusterqueues", wrong)
	_, updated := s.patch(kueueRoot+"v1beta2/clusterqueues/shared", object{"spec": wrong["spec"]})
	for _, err := range []error{created, updated} {
		if !refusedWith(err, http.StatusForbidden) || !strings.Contains(err.Error(), want) {
			t.Errorf("a queue of a negative quota: got %v, want 403 %s", err, want)
		}
	}
}

// admitsJobs creates two Jobs of one CPU each. Kueue's webhook suspends both. The quota is enough
// for the first. The second waits until the first is deleted.
func (s *server) admitsJobs(t *testing.T) {
	const workloads = kueueRoot + "v1beta2/namespaces/team/workloads"
	s.makeJob(t, "first")
	s.await(t, workloads, "the admission of the first job", func(o object) bool {
		return ownedBy(o, "first") && condition(o, "QuotaReserved", "True") && condition(o, "Admitted", "True")
	})
	s.await(t, jobs, "the start of the first job", func(o object) bool {
		return text(o, "metadata", "name") == "first" && at(o, "spec", "suspend") == false
	})
	_, err := s.patch(jobs+"/first", object{"metadata": object{"labels": object{"kueue.x-k8s.io/queue-name": "other"}}})
	want := `admission webhook \"vjob.kb.io\" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]: ` +
		`Invalid value: \"other\": field is immutable`
	if !refusedWith(err, http.StatusForbidden) || !strings.Contains(err.Error(), want) {
		t.Errorf("another queue for a job that runs: got %v, want 403 %s", err, want)
	}

	s.makeJob(t, "second")
	waiting := s.await(t, workloads, "the second job's wait for quota", func(o object) bool {
		return ownedBy(o, "second") && condition(o, "QuotaReserved", "False")
	})
	conditions := fmt.Sprint(at(waiting, "status", "conditions"))
	if want := "insufficient unused quota for cpu in flavor plain, 1 more needed"; !strings.Contains(conditions, want) {
		t.Errorf("the second job waits: got conditions %s, want %s", conditions, want)
	}
	if second, err := s.get(jobs + "/second"); err != nil || at(second, "spec", "suspend") != true {
		t.Errorf("the second job beside the first: got %v, %v, want it suspended", second["spec"], err)
	}
	if err := s.remove(jobs + "/first"); err != nil {
		t.Error(err)
	}
	s.await(t, jobs, "the start of the second job", func(o object) bool {
		return text(o, "metadata", "name") == "second" && at(o, "spec", "suspend") == false
	})
	s.await(t, workloads, "the admission of the second job", func(o object) bool {
		return ownedBy(o, "second") && condition(o, "Admitted", "True")
	})
}

// makeJob creates a Job in the queue. The Job must be suspended in the answer.
func (s *server) makeJob(t *testing.T, name string) {
	t.Helper()
	made := s.make(t, jobs, object{
		"metadata": object{"name": name, "labels": object{"kueue.x-k8s.io/queue-name": "work"}},
		"spec": object{"template": object{"spec": object{"restartPolicy": "Never", "containers": []any{object{
			"name": "work", "image": "images.example/work", "resources": object{"requests": object{"cpu": "1"}},
		}}}}},
	})
	if at(made, "spec", "suspend") != true {
		t.Errorf("job %s: got suspend %v, want true from kueue's webhook", name, at(made, "spec", "suspend"))
	}
}

func ownedBy(o object, name string) bool {
	owners, _ := at(o, "metadata", "ownerReferences").([]any)
	return len(owners) == 1 && text(owners[0], "name") == name
}

// condition reports whether a condition in the status of an object has a value.
func condition(o object, kind, status string) bool {
	all, _ := at(o, "status", "conditions").([]any)
	for _, c := range all {
		if text(c, "type") == kind {
			return text(c, "status") == status
		}
	}
	return false
}

// make creates an object, and ends the test if the server refuses it.
func (s *server) make(t *testing.T, collection string, o object) object {
	t.Helper()
	made, err := s.create(collection, o)
	if err != nil {
		t.Fatalf("create in %s: %v", collection, err)
	}
	return made
}

// await returns the first object of a collection that is as wanted. It waits by a watch.
func (s *server) await(t *testing.T, collection, what string, wanted func(object) bool) object {
	t.Helper()
	list, err := s.get(collection)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, o := range items(list) {
		if wanted(o) {
			return o
		}
	}
	var found object
	errFound := errors.New("found")
	from := text(list, "metadata", "resourceVersion")
	err = s.watch(collection+"?timeoutSeconds=50&resourceVersion="+from, func(event object) error {
		o, _ := event["object"].(object)
		if event["type"] == "ADDED" || event["type"] == "MODIFIED" {
			list = o
			if wanted(o) {
				found = o
				return errFound
			}
		}
		return nil
	})
	if err != errFound {
		t.Fatalf("%s does not come: %v, at last %v", what, err, list)
	}
	return found
}

// hasAuthority wants an authority in all configurations that name kueue's service.
func (s *server) hasAuthority(t *testing.T) {
	for _, kind := range []string{"mutating", "validating"} {
		o, err := s.get(hookRoot + kind + "webhookconfigurations/kueue-" + kind + "-webhook-configuration")
		hooks, _ := o["webhooks"].([]any)
		if err != nil || len(hooks) == 0 {
			t.Errorf("%s webhooks: got %d, %v", kind, len(hooks), err)
		}
		for _, hook := range hooks {
			if text(hook, "clientConfig", "caBundle") == "" {
				t.Errorf("webhook %s has no authority", text(hook, "name"))
			}
		}
	}
	list, err := s.get(crdRoot)
	if err != nil {
		t.Fatal(err)
	}
	converted := 0
	for _, o := range items(list) {
		if hook := at(o, "spec", "conversion", "webhook"); hook != nil {
			converted++
			if text(hook, "clientConfig", "caBundle") == "" {
				t.Errorf("the conversion of %s has no authority", text(o, "metadata", "name"))
			}
		}
	}
	if converted == 0 {
		t.Error("no definition has a conversion webhook")
	}
}

// installKueue creates the objects of the manifests in kueue's module, except the Deployment and
// its Service. In its place stands a Service that leads to a port of this machine.
func (s *server) installKueue(t *testing.T, port int) {
	t.Helper()
	s.make(t, "/api/v1/namespaces", object{"metadata": object{"name": kueueSpace}})
	s.make(t, "/api/v1/namespaces/"+kueueSpace+"/services", object{
		"metadata": object{"name": "kueue-webhook-service"},
		"spec":     object{"type": "ExternalName", "externalName": "localhost"},
	})
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue")
	cmd.Dir = programs["kueue"].module
	module, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	kinds := s.kinds(t)
	for _, component := range []string{"crd", "rbac", "internalcert", "webhook"} {
		folder := filepath.Join(strings.TrimSpace(string(module)), "config/components", component)
		created, patches := manifests(t, folder, port)
		for _, o := range created {
			if o["kind"] == "Service" {
				continue
			}
			if err := s.install(kinds, o); err != nil {
				t.Fatal(err)
			}
		}
		for _, o := range patches {
			name := text(o, "metadata", "name")
			s.await(t, crdRoot, "the definition "+name, func(o object) bool {
				return text(o, "metadata", "name") == name && condition(o, "Established", "True")
			})
			if _, err := s.patch(crdRoot+"/"+name, o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// kueueNames are the changes that kueue's kustomization makes to the names in its manifests.
var kueueNames = strings.NewReplacer(
	"namespace: system", "namespace: "+kueueSpace, "name: webhook-server-cert", "name: kueue-webhook-server-cert",
	"name: mutating-webhook-configuration", "name: kueue-mutating-webhook-configuration",
	"name: validating-webhook-configuration", "name: kueue-validating-webhook-configuration",
)

// kueueService is the line of a manifest that names kueue's service. The test writes the port
// beside it, because a service of type ExternalName has no ports of its own.
var kueueService = regexp.MustCompile(`(?m)^( *)name: webhook-service$`)

// manifests reads the objects and the patches in files that a kustomization.yaml lists. The patches
// inside of kustomization.yaml are about pods and their owners, which kueue leaves alone here.
func manifests(t *testing.T, folder string, port int) (created, patches []object) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		withPort := fmt.Appendf(nil, "${1}name: kueue-webhook-service\n${1}port: %d", port)
		return kueueService.ReplaceAll([]byte(kueueNames.Replace(string(data))), withPort)
	}
	var list struct {
		Resources []string
		Patches   []struct{ Path string }
	}
	if err := yaml.Unmarshal(read("kustomization.yaml"), &list); err != nil {
		t.Fatal(err)
	}
	for _, name := range list.Resources {
		created = append(created, parse(t, read(name))...)
	}
	for _, patch := range list.Patches {
		if patch.Path != "" {
			patches = append(patches, parse(t, read(patch.Path))...)
		}
	}
	return created, patches
}

// kueue starts kueue for its service account and waits until its webhooks are served. It writes the
// certificate of the webhooks to files, as kubelet does in a pod.
func (p *plane) kueue(s *server, port int) *process {
	p.t.Helper()
	account := "/api/v1/namespaces/" + kueueSpace + "/serviceaccounts/controller-manager"
	request := s.make(p.t, account+"/token", object{"spec": object{"expirationSeconds": 3600}})
	token := text(request, "status", "token")
	if _, err := newClient(s.base, token).get("/api/v1/secrets"); !refusedWith(err, http.StatusForbidden) {
		p.t.Errorf("kueue's rights: got %v for all secrets, want Forbidden", err)
	}
	certificates, health := p.path("kueue"), fmt.Sprintf("127.0.0.1:%d", freePort(p.t))
	if err := os.Mkdir(certificates, 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.write("kueue.yaml", fmt.Sprintf(`
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
webhook: {port: %d, certDir: %s}
health: {healthProbeBindAddress: %q}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: true, resourceNamespace: %[1]s}
integrations: {frameworks: [batch/job]}
featureGates: {VisibilityOnDemand: false}
`, kueueSpace, port, certificates, health))
	k := p.run("kueue", "--kubeconfig="+p.kubeconfig("kueue", token, s.base), "--config="+p.path("kueue.yaml"))
	secret := s.await(p.t, "/api/v1/namespaces/"+kueueSpace+"/secrets", "the certificate", func(o object) bool {
		return text(o, "metadata", "name") == "kueue-webhook-server-cert" && text(o, "data", "tls.key") != ""
	})
	for name, value := range secret["data"].(object) {
		data, err := base64.StdEncoding.DecodeString(value.(string))
		if err != nil {
			p.t.Fatal(err)
		}
		p.write("kueue/"+name, string(data))
	}
	eventually(p.t, 90*time.Second, func() error {
		if !k.running() {
			return fmt.Errorf("kueue has ended:\n%s", k.log)
		}
		resp, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("kueue's /readyz answers %s", resp.Status)
		}
		return nil
	})
	return k
}
