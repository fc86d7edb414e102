package csr_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/csr"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

const kubelets = certificatesv1.KubeAPIServerClientKubeletSignerName

// fakeWorld is a server in fake time with helpers for requests.
type fakeWorld struct{ *looptest.Fake }

// inFakeTime runs f with a server that works in fake time, and has no controllers.
func inFakeTime(t *testing.T, f func(w *fakeWorld)) {
	looptest.InFakeTime(t, func(_ *testing.T, w *looptest.Fake) { f(&fakeWorld{Fake: w}) })
}

// requests is a client of requests.
func (w *fakeWorld) requests() client.Resource[*certificatesv1.CertificateSigningRequest] {
	return client.For[*certificatesv1.CertificateSigningRequest](w.API(), certificatesv1.GroupVersion.WithResource("certificatesigningrequests"))
}

// request creates a request for a client certificate of the node "a".
func (w *fakeWorld) request(name, signer string, seconds *int32) {
	w.T.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:a", Organization: []string{"system:nodes"}},
	}, pkitest.Key(w.T))
	if err != nil {
		w.T.Fatal(err)
	}
	looptest.Make(w, w.requests(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer, ExpirationSeconds: seconds,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, nil)
}

// add adds a condition to a request: Approved and Denied through approval, others through status.
func (w *fakeWorld) add(name string, condition certificatesv1.RequestConditionType) {
	w.T.Helper()
	sub := "approval"
	if condition == certificatesv1.CertificateFailed {
		sub = "status"
	}
	r := w.get(name)
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: condition, Status: corev1.ConditionTrue})
	if _, err := w.requests().Sub(sub).Update(w.T.Context(), r, meta.UpdateOptions{}); err != nil {
		w.T.Fatal(err)
	}
	w.Sleep(0)
}

// get reads a request.
func (w *fakeWorld) get(name string) *certificatesv1.CertificateSigningRequest {
	w.T.Helper()
	r, err := w.requests().Get(w.T.Context(), name, meta.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// state returns the types and messages of the conditions of a request, and whether it has a
// certificate.
func (w *fakeWorld) state(name string) (state string) {
	w.T.Helper()
	r := w.get(name)
	for _, c := range r.Status.Conditions {
		state += fmt.Sprintf("%s(%s) ", c.Type, c.Reason)
	}
	if len(r.Status.Certificate) > 0 {
		state += "issued"
	}
	return state
}

// is checks the state of requests.
func (w *fakeWorld) is(want map[string]string) {
	w.T.Helper()
	for name, want := range want {
		if got := w.state(name); got != want {
			w.T.Errorf("%s, after %v: got %q, want %q", name, time.Since(w.Begun), got, want)
		}
	}
}

// sign runs the loop Signer with the authority in ca, which may be nil.
func (w *fakeWorld) sign(ca *atomic.Pointer[pki.Pair]) {
	w.Run(func(ctx context.Context, in *controller.Informers) {
		(&csr.Signer{
			Informers: in, Longest: 24 * time.Hour, Log: zap.NewNop(),
			Authority: func(signer string) (*x509.Certificate, crypto.Signer) {
				if pair := ca.Load(); pair != nil && signer == kubelets {
					return pair.Cert, pair.Key
				}
				return nil, nil
			},
		}).Run(ctx)
	})
}

// authority makes an authority that is valid for a time.
func authority(t *testing.T, life time.Duration) *pki.Pair {
	t.Helper()
	pair, err := pki.NewAuthority("ca", time.Now().Add(life))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestSigner makes requests and approves, denies and fails them. Only an approved one to a signer
// that has an authority gets a certificate, signed by the current authority.
func TestSigner(t *testing.T) {
	inFakeTime(t, func(w *fakeWorld) {
		var ca atomic.Pointer[pki.Pair]
		first := authority(w.T, time.Hour)
		ca.Store(first)
		w.request("before", kubelets, nil)
		w.add("before", certificatesv1.CertificateApproved)
		w.sign(&ca)
		for _, name := range []string{"pending", "approved", "denied", "failed"} {
			w.request(name, kubelets, nil)
		}
		w.request("serving", certificatesv1.KubeletServingSignerName, nil)
		w.request("other", "example.com/signer", nil)
		w.add("failed", certificatesv1.CertificateFailed)
		for _, name := range []string{"approved", "failed", "serving", "other"} {
			w.add(name, certificatesv1.CertificateApproved)
		}
		w.add("denied", certificatesv1.CertificateDenied)
		w.is(map[string]string{
			"before": "Approved() issued", "pending": "", "approved": "Approved() issued", "denied": "Denied() ",
			"failed": "Failed() Approved() ", "serving": "Approved() ", "other": "Approved() ",
		})
		block, _ := pem.Decode(w.get("approved").Status.Certificate)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || c.CheckSignatureFrom(first.Cert) != nil || !c.NotAfter.Equal(first.Cert.NotAfter) {
			w.T.Errorf("got %+v, %v: want a certificate that ends with its authority", c, err)
		}
		w.Sleep(2 * time.Hour)
		w.request("late", kubelets, nil)
		w.add("late", certificatesv1.CertificateApproved)
		w.is(map[string]string{"late": "Approved() "})
		second := authority(w.T, 1000*time.Hour)
		ca.Store(second)
		w.Sleep(controller.MaxPause)
		w.is(map[string]string{"late": "Approved() issued"})
	})
}

// TestApprover approves requests for kubelets once their user gets the right, and no others.
func TestApprover(t *testing.T) {
	inFakeTime(t, func(w *fakeWorld) {
		var may atomic.Bool
		var asked atomic.Int64
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&csr.Approver{Informers: in, Log: zap.NewNop(), Allowed: func(_ context.Context, spec *certificatesv1.CertificateSigningRequestSpec, subresource string) bool {
				if spec.Username != "system:apiserver" || subresource != "nodeclient" {
					w.T.Errorf("asked whether %s may create %s", spec.Username, subresource)
				}
				asked.Add(1)
				return may.Load()
			}}).Run(ctx)
		})
		w.request("kubelet", kubelets, nil)
		w.request("denied", kubelets, nil)
		w.request("client", certificatesv1.KubeAPIServerClientSignerName, nil)
		w.add("denied", certificatesv1.CertificateDenied)
		w.Sleep(time.Hour)
		w.is(map[string]string{"kubelet": "", "denied": "Denied() ", "client": ""})
		if n := asked.Load(); n < 5 || n > 30 {
			w.T.Errorf("asked %d times in an hour, want a time between two tries that grows", n)
		}
		may.Store(true)
		w.Sleep(1000 * time.Second)
		w.is(map[string]string{"kubelet": "Approved(AutoApproved) ", "denied": "Denied() ", "client": ""})
		c := w.get("kubelet").Status.Conditions[0]
		if c.Message != "Auto approving kubelet client certificate after SubjectAccessReview." || c.LastUpdateTime.IsZero() {
			w.T.Errorf("got the condition %+v", c)
		}
	})
}

// TestCleaner: requests in each state are deleted after the time for that state.
func TestCleaner(t *testing.T) {
	inFakeTime(t, func(w *fakeWorld) {
		var ca atomic.Pointer[pki.Pair]
		ca.Store(authority(w.T, 1000*time.Hour))
		w.sign(&ca)
		w.Run(func(ctx context.Context, in *controller.Informers) {
			(&csr.Cleaner{Informers: in, Log: zap.NewNop()}).Run(ctx)
		})
		short := int32(600)
		for _, name := range []string{"denied", "failed", "issued", "pending"} {
			w.request(name, kubelets, nil)
		}
		w.request("expires", kubelets, &short)
		w.request("unissued", "example.com/signer", nil)
		w.Sleep(time.Minute)
		w.add("denied", certificatesv1.CertificateDenied)
		w.add("failed", certificatesv1.CertificateFailed)
		for _, name := range []string{"expires", "issued", "unissued"} {
			w.add(name, certificatesv1.CertificateApproved)
		}
		begun := time.Now()
		for _, step := range []struct {
			at   time.Duration
			want string
		}{
			{10*time.Minute - time.Second, "denied expires failed issued pending unissued"},
			{10*time.Minute + time.Second, "denied failed issued pending unissued"},
			{time.Hour - time.Second, "denied failed issued pending unissued"},
			{time.Hour + time.Second, "pending unissued"},
			{24*time.Hour - time.Minute - time.Second, "pending unissued"},
			{24*time.Hour - time.Minute + time.Second, "unissued"},
			{24*time.Hour - time.Second, "unissued"},
			{24*time.Hour + time.Second, ""},
		} {
			w.Sleep(time.Until(begun.Add(step.at)))
			if got := looptest.Names(w, w.requests()); got != step.want {
				w.T.Errorf("after %v: got %q, want %q", step.at, got, step.want)
			}
		}
	})
}
