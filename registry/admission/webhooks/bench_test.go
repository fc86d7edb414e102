package webhooks_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
)

// BenchmarkCall measures a create with one validating or one mutating hook. For comparison, it
// measures a bare client that posts the same body to the same server over a kept connection.
func BenchmarkCall(b *testing.B) {
	k := newKit(b)
	k.quick = func(w http.ResponseWriter, body []byte) {
		_, rest, _ := bytes.Cut(body, []byte(`"uid":"`))
		uid, _, _ := bytes.Cut(rest, []byte(`"`))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"`+string(uid)+`","allowed":true}}`)
	}
	k.both("h", func(w *v1.MutatingWebhook) {
		w.ClientConfig.URL, w.ClientConfig.Service = nil, &v1.ServiceReference{Namespace: "team", Name: "hooks", Path: new("/h")}
	})
	mutating, validating := k.compilers[0].Mutating(k.mutating), k.compilers[1].Validating(k.validating)
	chain := k.fixed(mutating, validating)
	object := configMap("x", strings.Repeat("x", 1<<10))
	a := k.write(admission.Create, object, nil)
	for name, run := range map[string]func(context.Context, *admission.Attributes) error{
		"hook=mutating": chain.Mutate, "hook=validating": chain.Validate,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	body := k.last
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(k.ca.CertPEM)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	b.Run("hook=none,bare client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := client.Post(k.server.URL+"/h", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				b.Fatal(resp.Status, err)
			}
			resp.Body.Close()
		}
	})
}
