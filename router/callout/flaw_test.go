package callout

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

// TestFlaws: flaws of the certificate are reported, whether or not calls fail because of them.
func TestFlaws(t *testing.T) {
	ca := pkitest.NewAuthority(t, "authority")
	named := func(change func(c *x509.Certificate)) *x509.Certificate {
		c := pki.ForServer("localhost", "localhost", "s.n.svc")
		change(c)
		return c
	}
	for _, tt := range []struct {
		name       string
		leaf       *x509.Certificate
		bad, taken string // the flaws for a client that verifies certificates, and for one that accepts all
	}{
		{"fine", named(func(*x509.Certificate) {}), "", ""},
		{"for another name", named(func(c *x509.Certificate) { c.DNSNames = []string{"elsewhere"} }), "", ""},
		{"without names", named(func(c *x509.Certificate) { c.DNSNames = nil }), "[0]", "[0]"},
		{"another common name, no other names", named(func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, "elsewhere" }), "", "[0]"},
		{"signed with SHA-1", named(func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 }), "[1]", "[1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Sign(tt.leaf).TLS()}}
			s.StartTLS()
			defer s.Close()
			url := "https://localhost" + s.URL[strings.LastIndexByte(s.URL, ':'):]
			for _, end := range []struct {
				target Target
				want   string
			}{
				{Target{CABundle: ca.CertPEM}, tt.bad},
				{Target{Insecure: true}, tt.taken},
			} {
				got := ""
				end.target.Flawed = func(f Flaw) { got += fmt.Sprint([]Flaw{f}) }
				by := end.target
				by.URL = url
				c, err := New(Config{Name: "flawed", Target: by})
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.Post(t.Context(), []byte("{}"))
				c.Close()
				if got != end.want || !by.Insecure && (err == nil) != (tt.name == "fine") {
					t.Errorf("a call, accepting all: %v: got %q, %v, want %q", by.Insecure, got, err, end.want)
				}
				got = ""
				by = end.target
				by.Service = &Service{Namespace: "n", Name: "s"}
				f, err := NewForwarder(by)
				if err != nil {
					t.Fatal(err)
				}
				r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
				if err != nil {
					t.Fatal(err)
				}
				if resp, err := f.RoundTrip(r); err == nil {
					resp.Body.Close()
				}
				f.Close()
				if want := end.want; by.Insecure && got != want || !by.Insecure && got != strings.ReplaceAll(want, "[0]", "") {
					t.Errorf("handed on, accepting all: %v: got %q, want %q", by.Insecure, got, want)
				}
			}
		})
	}
}
