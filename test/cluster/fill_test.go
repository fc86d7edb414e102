package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// examples holds an object of each kind, with many fields set.
const examples = "../../server/testdata/kinds/*.yaml"

// notFilled are the examples that a kube-apiserver refuses, or that would stop its controllers.
var notFilled = map[string]string{
	"apiservices.apiregistration.k8s.io.yaml": "no server serves that version, so no namespace could be deleted",
}

// fill creates an object of every kind that the server has, and the objects on which the
// controllers work.
func fill(t *testing.T, s *server) {
	t.Helper()
	files, err := filepath.Glob(examples)
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	todo := []object{{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "ns"}}}
	for _, file := range append([]string{"testdata/work.yaml"}, files...) {
		if notFilled[filepath.Base(file)] == "" {
			todo = append(todo, documents(t, file)...)
		}
	}
	// Some objects need others, such as a namespace, or a service account that a controller makes.
	var errs []error
	for end := time.Now().Add(20 * time.Second); len(todo) > 0 && time.Now().Before(end); time.Sleep(time.Second) {
		kinds := s.kinds(t)
		var later []object
		errs = nil
		for _, o := range todo {
			if err := s.install(kinds, o); err != nil {
				later, errs = append(later, o), append(errs, err)
			}
		}
		todo = later
	}
	for _, err := range errs {
		if errors.Is(err, errNotServed) { // an older server does not know the kind
			t.Logf("not filled: %v", err)
		} else {
			t.Errorf("not filled: %v", err)
		}
	}
}

// errNotServed is the error for a kind that the server does not serve.
var errNotServed = errors.New("is not served")

// documents reads the objects in a file. It changes webhooks so that no write depends on them,
// because they do not exist.
func documents(t *testing.T, file string) []object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.ReplaceAll(data, []byte("images.example.com:8443"), []byte("127.0.0.1:1"))
	all := parse(t, data)
	for _, o := range all {
		hooks, _ := o["webhooks"].([]any)
		for _, h := range hooks {
			h.(object)["failurePolicy"] = "Ignore"
		}
		switch o["kind"] {
		case "LimitRange": // the example of a pod is not within these limits
			o["metadata"].(object)["namespace"] = "default"
		case "CustomResourceDefinition": // the server itself says whether a definition is established
			delete(o, "status")
			o["spec"].(object)["conversion"] = object{"strategy": "None"} // the conversion webhook of the example does not exist
		}
	}
	return all
}

// parse returns the objects of a text of YAML documents.
func parse(t *testing.T, data []byte) []object {
	t.Helper()
	var all []object
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var o object
		if err := yaml.Unmarshal(document, &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// kinds maps "apiVersion kind" to the resources of a server. The second map has the status
// subresources.
func (s *server) kinds(t *testing.T) (all struct{ resources, status map[string]resource }) {
	t.Helper()
	all.resources, all.status = map[string]resource{}, map[string]resource{}
	roots, err := s.versions()
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		list, err := s.get(root)
		if refusedWith(err, 404) { // the version of a definition that is not established yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list["resources"].([]any) {
			name, door, _ := strings.Cut(text(r, "name"), "/")
			key := text(list, "groupVersion") + " " + text(r, "kind")
			switch found := (resource{root, name, at(r, "namespaced") == true}); door {
			case "":
				all.resources[key] = found
			case "status":
				all.status[key] = found
			}
		}
	}
	return all
}

// install creates an object, and writes its status.
func (s *server) install(kinds struct{ resources, status map[string]resource }, o object) error {
	key := text(o, "apiVersion") + " " + text(o, "kind")
	r, ok := kinds.resources[key]
	if !ok {
		return fmt.Errorf("%s %w", key, errNotServed)
	}
	namespace := text(o, "metadata", "namespace")
	if namespace == "" {
		namespace = "ns"
	}
	path := r.collection(namespace)
	made, err := s.create(path, o)
	if refusedWith(err, 409) { // a controller or the server itself has made it
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s in %s: %w", text(o, "metadata", "name"), path, err)
	}
	if _, ok := kinds.status[key]; ok && o["status"] != nil {
		made["status"] = o["status"]
		path += "/" + text(made, "metadata", "name") + "/status"
		if _, err := s.put(path, made); err != nil && !refusedWith(err, 409) {
			return fmt.Errorf("PUT %s: %w", path, err)
		}
	}
	return nil
}

// settled returns an error if the controllers still have work in the namespaces that fill has made.
func (s *server) settled() error {
	for path, want := range map[string]string{
		"deployments/web": "3", "deployments/old": "2", "statefulsets/db": "1",
	} {
		o, err := s.get("/apis/apps/v1/namespaces/team/" + path)
		if err != nil {
			return err
		}
		if ready := fmt.Sprint(at(o, "status", "readyReplicas")); ready != want {
			return fmt.Errorf("%s: %s of %s are ready", path, ready, want)
		}
	}
	for path, want := range map[string]string{"persistentvolumeclaims/disk": "Bound", "persistentvolumeclaims/waiting": "Pending"} {
		o, err := s.get("/api/v1/namespaces/team/" + path)
		if err != nil {
			return err
		}
		if phase := text(o, "status", "phase"); phase != want {
			return fmt.Errorf("%s is %s", path, phase)
		}
	}
	job, err := s.get("/apis/batch/v1/namespaces/team/jobs/once")
	if err == nil && at(job, "status", "succeeded") == nil {
		err = fmt.Errorf("the job runs: %v", job["status"])
	}
	if err != nil {
		return err
	}
	secret, err := s.get("/api/v1/namespaces/team/secrets/legacy-token")
	if err == nil && text(secret, "data", "token") == "" {
		err = fmt.Errorf("the service account's secret has no token")
	}
	return err
}
