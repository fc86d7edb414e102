package csr

import (
	"context"
	"crypto"
	"crypto/x509"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/signing"
)

// Signer issues certificates for approved requests to Kubernetes' four standard signers, as
// Kubernetes' certificatesigningrequest-signing-controller does. A request that breaks a rule of
// its signer gets the condition Failed.
type Signer struct {
	// Informers are the Informers of the run, which the three loops share. Signer also writes
	// through their client.
	Informers *controller.Informers
	// Authority returns the authority that signs for a signer at this moment. If the certificate is
	// nil, nobody signs for this signer here. Signer calls it for each request.
	Authority func(signer string) (*x509.Certificate, crypto.Signer)
	// Longest is the longest life of a certificate. A certificate has this life if its request asks
	// for none.
	Longest time.Duration
	Log     *zap.Logger
}

// Run issues certificates until ctx ends.
func (s *Signer) Run(ctx context.Context) {
	controller.Loop{
		Name: "certificate",
		Source: requestsOf(s.Informers).Source(func(name controller.Name, _, now *view) []controller.Name {
			if now == nil || !now.Signable || !signing.Known(now.Signer) {
				return nil
			}
			return []controller.Name{name}
		}),
		Reconcile: s.reconcile, Workers: workers, Log: s.Log,
	}.Run(ctx)
}

// reconcile answers a request: with a certificate, or with the condition Failed.
func (s *Signer) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	v := requestsOf(s.Informers).Get(name)
	if v == nil || !v.Signable {
		return 0, nil
	}
	by, key := s.Authority(v.Signer)
	if by == nil {
		return 0, nil
	}
	requests := requestsBy(s.Informers)
	r, err := requests.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || !newView(r).Signable || r.Spec.SignerName != v.Signer {
		return 0, controller.IgnoreNotFound(err)
	}
	if err := signing.Answer(r, s.Longest, by, key); err != nil {
		return 0, err
	}
	_, err = requests.UpdateStatus(ctx, r, meta.UpdateOptions{})
	return 0, controller.IgnoreNotFound(err)
}
