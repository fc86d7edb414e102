package servertest_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server/servertest"
)

// serve serves webhooks at the host and port of w until the end of the test.
func serve(t *testing.T, w *servertest.Webhooks, h http.Handler) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(w.Host, strconv.Itoa(w.Port)))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan error, 1)
	go func() {
		done <- srv.ServeTLS(l, filepath.Join(w.CertDir, "tls.crt"), filepath.Join(w.CertDir, "tls.key"))
	}()
	t.Cleanup(func() { srv.Close(); <-done })
}

// TestConversionWebhook converts objects by a webhook that the test serves.
func TestConversionWebhook(t *testing.T) {
	s := started(t, servertest.Environment{Paths: []string{"testdata/definitions"}, Webhooks: &servertest.Webhooks{}})
	serve(t, s.Webhooks, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion, Kind string
			Request          struct {
				UID, DesiredAPIVersion string
				Objects                []map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != "/oars" {
			t.Errorf("%s: %v", r.URL, err)
		}
		var converted []any
		for _, o := range review.Request.Objects {
			o["apiVersion"] = review.Request.DesiredAPIVersion
			o["spec"] = map[string]any{"length": 100}
			converted = append(converted, o)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
				"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": converted,
			},
		}); err != nil {
			t.Error(err)
		}
	}))
	resp, err := s.Client.Post(s.URL+"/apis/river.example.com/v1/namespaces/default/oars", "application/yaml",
		strings.NewReader("{apiVersion: river.example.com/v1, kind: Oar, metadata: {name: left}, spec: {length: 1}}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for version, want := range map[string]string{"v1": `{"length":1}`, "v2": `{"length":100}`} {
		if code, body := get(t, s.Client, s.URL+"/apis/river.example.com/"+version+"/namespaces/default/oars/left", ""); code != 200 || !strings.Contains(body, want) {
			t.Errorf("as %s: got %d %s, want %s", version, code, body, want)
		}
	}
}

// TestInstalledWebhooks checks the URL and the CA bundle of each installed webhook.
func TestInstalledWebhooks(t *testing.T) {
	converting := sails(1)
	none := func(string, string) bool { return false }
	all := func(group, kind string) bool { return group+kind == "sea.example.comSail1" }
	for name, tt := range map[string]struct {
		converts func(group, kind string) bool
		want     map[string]string // the URL of the conversion webhook; "" for none
	}{
		"as they say":   {nil, map[string]string{"oars.river": "/oars", "sails1.sea": ""}},
		"none":          {none, map[string]string{"oars.river": "", "sails1.sea": ""}},
		"by the scheme": {all, map[string]string{"oars.river": "", "sails1.sea": "/convert"}},
	} {
		t.Run(name, func(t *testing.T) {
			given := &servertest.Webhooks{Host: "localhost", Converts: tt.converts}
			s := started(t, servertest.Environment{
				Paths: []string{"testdata/definitions", "testdata/webhooks.yaml"}, Definitions: []any{maps.Clone(converting)}, Webhooks: given,
			})
			if given.Port != 0 || s.Webhooks.Port < 20_000 || s.Webhooks.Port > 29_999 {
				t.Errorf("the port: given %d, and got %d", given.Port, s.Webhooks.Port)
			}
			base := fmt.Sprintf("https://localhost:%d", s.Webhooks.Port)
			for resource, path := range tt.want {
				code, body := get(t, s.Client, s.URL+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+resource+".example.com", "")
				var crd struct {
					Spec struct {
						Conversion struct {
							Strategy string
							Webhook  struct{ ClientConfig clientConfig }
						}
					}
				}
				if err := json.Unmarshal([]byte(body), &crd); err != nil || code != 200 {
					t.Fatalf("got %d, %v", code, err)
				}
				c, want := crd.Spec.Conversion.Webhook.ClientConfig, clientConfig{}
				if path != "" {
					want = clientConfig{URL: base + path, CABundle: s.Webhooks.CAData}
				}
				if !c.equal(want) || (crd.Spec.Conversion.Strategy == "Webhook") != (path != "") {
					t.Errorf("%s: got %s %+v, want %+v", resource, crd.Spec.Conversion.Strategy, c, want)
				}
			}
			for path, url := range map[string]string{
				"validatingwebhookconfigurations": base + "/validate-oars", "mutatingwebhookconfigurations": "https://elsewhere.example.com/mutate",
			} {
				code, body := get(t, s.Client, s.URL+"/apis/admissionregistration.k8s.io/v1/"+path+"/oars", "")
				var hooks struct {
					Webhooks []struct{ ClientConfig clientConfig }
				}
				if err := json.Unmarshal([]byte(body), &hooks); err != nil || code != 200 || len(hooks.Webhooks) != 1 {
					t.Fatalf("%s: got %d, %v, %s", path, code, err, body)
				}
				if c := hooks.Webhooks[0].ClientConfig; !c.equal(clientConfig{URL: url, CABundle: s.Webhooks.CAData}) {
					t.Errorf("%s: got %+v, want %s", path, c, url)
				}
			}
		})
	}
}

type clientConfig struct {
	URL      string
	Service  any
	CABundle []byte
}

func (c clientConfig) equal(other clientConfig) bool {
	return c.URL == other.URL && c.Service == nil && string(c.CABundle) == string(other.CABundle)
}

// TestWebhooksOnTheirPort sets Port: it is used, and the certificate is valid for the host and for
// localhost.
func TestWebhooksOnTheirPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	s := started(t, servertest.Environment{Webhooks: &servertest.Webhooks{Port: port}})
	if s.Webhooks.Port != port || s.Webhooks.Host != "127.0.0.1" {
		t.Errorf("got %s and %d, want 127.0.0.1 and %d", s.Webhooks.Host, s.Webhooks.Port, port)
	}
	serve(t, s.Webhooks, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") }))
	for _, host := range []string{"127.0.0.1", "localhost"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, s.Webhooks.CAData)}}
		defer transport.CloseIdleConnections()
		if code, body := get(t, &http.Client{Transport: transport}, fmt.Sprintf("https://%s:%d/", host, port), ""); code != 200 || body != "here" {
			t.Errorf("%s: got %d %s", host, code, body)
		}
	}
}
