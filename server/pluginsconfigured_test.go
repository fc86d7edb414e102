package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// TestConfiguredPlugins runs the plugins that a configuration enables and configures in a server:
// they read annotations of a namespace that was just created, and call a webhook.
func TestConfiguredPlugins(t *testing.T) {
	reviews := 0
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reviews++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"ImageReview","apiVersion":"imagepolicy.k8s.io/v1alpha1","status":{"allowed":true}}`)
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := write("kubeconfig", "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: "+hook.URL+"}}]\n")
	write("images.yaml", "imagePolicy: {kubeConfigFile: "+kubeconfig+"}\n")
	file := write("admission.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- {name: ImagePolicyWebhook, path: images.yaml}
- {name: PodNodeSelector, configuration: {podNodeSelectorPluginConfig: {team: "disk=ssd"}}}
- name: EventRateLimit
  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: Namespace, qps: 1, burst: 1}]}
`)
	p := newInProcess(t, func(c *server.Config) {
		c.Admission.ConfigFile = file
		c.Admission.Enable = []string{"ImagePolicyWebhook", "PodNodeSelector", "PodTolerationRestriction", "EventRateLimit"}
	})
	p.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"team","annotations":{"scheduler.alpha.kubernetes.io/node-selector":"disk=ssd",`+
		`"scheduler.alpha.kubernetes.io/defaultTolerations":"[{\"key\":\"team\",\"operator\":\"Exists\"}]"}}}`)
	const pods, events = "/api/v1/namespaces/team/pods", "/api/v1/namespaces/team/events"
	code, body := p.do("POST", pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"a"}]}}`)
	if code != http.StatusCreated || !strings.Contains(body, `"nodeSelector":{"disk":"ssd"}`) || !strings.Contains(body, `{"key":"team","operator":"Exists"}`) || reviews != 1 {
		t.Errorf("pod: got %d %s after %d reviews", code, body, reviews)
	}
	if code, body := p.do("POST", pods, `{"metadata":{"name":"b"},"spec":{"nodeSelector":{"disk":"hdd"},"containers":[{"name":"a","image":"a"}]}}`); code != http.StatusForbidden {
		t.Errorf("pod for another node: got %d %s", code, body)
	}
	changed := `{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/defaultTolerations":"[{\"key\":\"new\",\"operator\":\"Exists\"}]"}}}`
	if code, body := p.do("PATCH", "/api/v1/namespaces/team", changed, "Content-Type", "application/merge-patch+json"); code != http.StatusOK {
		t.Fatalf("annotation: got %d %s", code, body)
	}
	if code, body := p.do("POST", pods, `{"metadata":{"name":"c"},"spec":{"containers":[{"name":"a","image":"a"}]}}`); code != http.StatusCreated ||
		!strings.Contains(body, `{"key":"new","operator":"Exists"}`) || reviews != 1 {
		t.Errorf("pod after a change of the annotation: got %d %s after %d reviews", code, body, reviews)
	}
	for i := range 100 { // each event costs much less than the second after which there is another token
		event := fmt.Sprintf(`{"metadata":{"name":"e%d"},"involvedObject":{"namespace":"team"}}`, i)
		code, body := p.do("POST", events, event)
		if code == http.StatusTooManyRequests && i > 0 {
			return
		}
		if code != http.StatusCreated {
			t.Fatalf("event %d: got %d %s", i, code, body)
		}
	}
	t.Error("100 events were accepted")
}
