package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestClasses: the plugins that read classes find classes of the server as soon as they are
// created.
func TestClasses(t *testing.T) {
	p := newInProcess(t)
	const claims = "/api/v1/namespaces/ns/persistentvolumeclaims"
	claim := func(name string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`
	}
	create := func(method, path, body string, code int, want string) {
		t.Helper()
		if got, answer := p.do(method, path, body, "Content-Type", "application/json"); got != code || !strings.Contains(answer, want) {
			t.Errorf("%s %s %s: got %d %s, want %d and %s", method, path, body, got, answer, code, want)
		}
	}
	create("POST", "/apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"usual","annotations":
		{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p.example.com"}`, http.StatusCreated, "")
	create("POST", claims, claim("c"), http.StatusCreated, `"storageClassName":"usual"`)
	create("POST", "/apis/networking.k8s.io/v1/ingressclasses", `{"metadata":{"name":"usual","annotations":
		{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"c.example.com/c"}}`, http.StatusCreated, "")
	create("POST", "/apis/networking.k8s.io/v1/namespaces/ns/ingresses", `{"metadata":{"name":"i"},"spec":{"defaultBackend":
		{"service":{"name":"s","port":{"number":80}}}}}`, http.StatusCreated, `"ingressClassName":"usual"`)
	create("POST", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"heavy"},"handler":"h",
		"overhead":{"podFixed":{"cpu":"250m"}}}`, http.StatusCreated, "")
	for _, tt := range []struct {
		class, overhead string
		code            int
		want            string
	}{
		{"heavy", "", http.StatusCreated, `"overhead":{"cpu":"250m"}`},
		{"heavy", `"overhead":{"cpu":"1"},`, http.StatusForbidden, "Pod's Overhead doesn't match"},
		{"gone", "", http.StatusForbidden, `RuntimeClass \"gone\" not found`},
	} {
		create("POST", "/api/v1/namespaces/ns/pods", `{"metadata":{"generateName":"p-"},"spec":{"runtimeClassName":"`+tt.class+`",`+
			tt.overhead+`"containers":[{"name":"a","image":"a"}]}}`, tt.code, tt.want)
	}

	create("PUT", claims+"/c/status", claimStatus(t, p, claims+"/c"), http.StatusOK, `"phase":"Bound"`)
	larger := `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`
	patch := func(path, body string, code int, want string) {
		t.Helper()
		if got, answer := p.do("PATCH", path, body, "Content-Type", "application/merge-patch+json"); got != code || !strings.Contains(answer, want) {
			t.Errorf("PATCH %s %s: got %d %s, want %d and %s", path, body, got, answer, code, want)
		}
	}
	patch(claims+"/c", larger, http.StatusForbidden, "the storageclass that provisions the pvc must support resize")
	patch("/apis/storage.k8s.io/v1/storageclasses/usual", `{"allowVolumeExpansion":true}`, http.StatusOK, "")
	patch(claims+"/c", larger, http.StatusOK, `"storage":"2Gi"`)
}

// claimStatus returns the claim at a path with the status of a bound one.
func claimStatus(t *testing.T, p *inProcess, path string) string {
	t.Helper()
	code, claim := p.do("GET", path, "")
	if code != http.StatusOK {
		t.Fatalf("GET %s: got %d", path, code)
	}
	return strings.Replace(claim, `"phase":"Pending"`, `"phase":"Bound"`, 1)
}
