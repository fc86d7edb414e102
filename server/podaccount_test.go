package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/plugins"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestPodAccounts creates pods over the network as soon as a server is ready, and as soon as a
// namespace exists. They get the account "default", its token and the CA certificate. A pod with an
// account that does not exist is refused.
func TestPodAccounts(t *testing.T) {
	s := servertest.Start(t)
	pod := func(namespace, spec string, code int) (pod corev1.Pod, body string) {
		t.Helper()
		body = post(t, s, "/api/v1/namespaces/"+namespace+"/pods",
			`{"metadata":{"name":"p"},"spec":{`+spec+`"containers":[{"name":"c","image":"i"}]}}`, code)
		if code == http.StatusCreated {
			if err := json.Unmarshal([]byte(body), &pod); err != nil {
				t.Fatal(err)
			}
		}
		return pod, body
	}
	for _, namespace := range []string{"default", "new"} {
		if namespace == "new" {
			post(t, s, "/api/v1/namespaces", `{"metadata":{"name":"new"}}`, http.StatusCreated)
		}
		made, _ := pod(namespace, "", http.StatusCreated)
		spec := &made.Spec
		if spec.ServiceAccountName != "default" || spec.DeprecatedServiceAccount != "default" || len(spec.Volumes) != 1 || len(spec.Containers[0].VolumeMounts) != 1 {
			t.Fatalf("%s: got %+v", namespace, spec)
		}
		volume, mount := &spec.Volumes[0], &spec.Containers[0].VolumeMounts[0]
		if !strings.HasPrefix(volume.Name, "kube-api-access-") || mount.Name != volume.Name || !mount.ReadOnly {
			t.Errorf("%s: got volume %s, mount %+v", namespace, volume.Name, mount)
		}
	}
	const want = `pods \"p\" is forbidden: error looking up service account kube-system/nobody: serviceaccount \"nobody\" not found`
	if _, body := pod("kube-system", `"serviceAccountName":"nobody",`, http.StatusForbidden); !strings.Contains(body, want) {
		t.Errorf("got %s, want %s", body, want)
	}
}

// TestPodWithoutAccounts disables the plugin, as envtest does: a pod gets no account.
func TestPodWithoutAccounts(t *testing.T) {
	s := servertest.Start(t, server.Config{Controllers: []string{}, Admission: plugins.Config{Disable: []string{"ServiceAccount"}}})
	body := post(t, s, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, http.StatusCreated)
	if strings.Contains(body, "serviceAccount") || strings.Contains(body, "kube-api-access") {
		t.Errorf("got %s", body)
	}
}

// post creates an object, and returns the body of the response.
func post(t *testing.T, s *servertest.Server, path, object string, code int) string {
	t.Helper()
	resp, err := s.Client.Post(s.URL+path, "application/json", strings.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != code {
		t.Fatalf("POST %s: got %d %s, %v, want %d", path, resp.StatusCode, body, err, code)
	}
	return string(body)
}
