package csr

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file has the part of a request that the loops keep in memory.

type (
	request   = certificatesv1.CertificateSigningRequest
	condition = certificatesv1.CertificateSigningRequestCondition
)

var requestsResource = certificatesv1.GroupVersion.WithResource("certificatesigningrequests")

// view is the part of a request that the loops keep in memory. The loops read a request before they
// write it.
type view struct {
	Signer   string    // spec.signerName
	Pending  bool      // nobody has approved or denied it, and it has no certificate
	Signable bool      // it is approved, and has not been denied, has not failed and has no certificate
	Deadline time.Time // when Cleaner deletes the request if it does not change; zero: never
}

// requestsOf returns the Informer of requests, which the three loops share.
func requestsOf(in *controller.Informers) *controller.Informer[view] {
	return controller.InformerOf(in, requestsResource, newView)
}

func requestsBy(in *controller.Informers) client.Resource[*request] {
	return client.For[*request](in.Client(), requestsResource)
}

func newView(r *request) *view {
	approved, denied := has(r, certificatesv1.CertificateApproved), has(r, certificatesv1.CertificateDenied)
	issued := len(r.Status.Certificate) > 0
	return &view{
		Signer:   r.Spec.SignerName,
		Pending:  !approved && !denied && !issued,
		Signable: approved && !denied && !issued && !failed(r),
		Deadline: deadline(r),
	}
}

// has reports whether the request has a condition of a type, whatever the condition's status is.
func has(r *request, t certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c condition) bool { return c.Type == t })
}

// failed reports whether the request has the condition Failed. An empty status, which older servers
// have stored, counts as True.
func failed(r *request) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c condition) bool {
		return c.Type == certificatesv1.CertificateFailed && (c.Status == "" || c.Status == corev1.ConditionTrue)
	})
}

// How long Cleaner keeps a request.
const (
	keepPending  = 24 * time.Hour // after its creation, or if it is approved, after its approval
	keepAnswered = time.Hour      // after it was denied, failed, or approved and issued
)

// deadline returns the first time at which a reason to delete the request holds: the time of its
// state is over, or its certificate has expired. The result is zero if there is no such time. A
// condition without lastUpdateTime gives no reason.
func deadline(r *request) (first time.Time) {
	by := func(from time.Time, keep time.Duration) {
		if at := from.Add(keep); !from.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	issued := len(r.Status.Certificate) > 0
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type == certificatesv1.CertificateDenied, c.Type == certificatesv1.CertificateFailed:
			by(c.LastUpdateTime.Time, keepAnswered)
		case c.Type != certificatesv1.CertificateApproved:
		case issued:
			by(c.LastUpdateTime.Time, keepAnswered)
			by(expiry(r.Status.Certificate), 0)
		default:
			by(c.LastUpdateTime.Time, keepPending)
		}
	}
	if len(r.Status.Conditions) == 0 {
		by(r.CreationTimestamp.Time, keepPending)
	}
	return first
}

// expiry returns the end of the first certificate in PEM text, or zero if there is none that can be
// parsed.
func expiry(text []byte) time.Time {
	block, _ := pem.Decode(text)
	if block == nil {
		return time.Time{}
	}
	certificates, err := x509.ParseCertificates(block.Bytes)
	if err != nil || len(certificates) == 0 {
		return time.Time{}
	}
	return certificates[0].NotAfter
}
