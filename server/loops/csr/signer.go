package csr

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
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
		Source: requestsOf(s.Informers).Source(func(name controller.Name, _, now *view) []controller.Name {
			if now == nil || !now.Signable || rules[now.Signer] == nil {
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
	if err := s.answer(r, by, key); err != nil {
		return 0, err
	}
	_, err = requests.UpdateStatus(ctx, r, meta.UpdateOptions{})
	return 0, controller.IgnoreNotFound(err)
}

// answer adds the certificate, or the condition Failed, to the status of r.
func (s *Signer) answer(r *request, by *x509.Certificate, key crypto.Signer) error {
	asked, err := certificatesv1.ParseRequest(r.Spec.Request)
	if err != nil {
		return err
	}
	if err := rules[r.Spec.SignerName](asked, r.Spec.Usages); err != nil {
		r.Status.Conditions = append(r.Status.Conditions, condition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue,
			Reason: "SignerValidationFailure", Message: err.Error(), LastUpdateTime: meta.Now(),
		})
		return nil
	}
	der, err := issue(asked, r.Spec.Usages, s.life(r.Spec.ExpirationSeconds), by, key)
	if err != nil {
		return fmt.Errorf("cannot issue a certificate: %w", err)
	}
	r.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return nil
}

// shortestLife is the life of a certificate whose request asks for less. It exceeds backdating.
const shortestLife = 10 * time.Minute

// life returns the life of a certificate whose request asks for a number of seconds, nil for none.
func (s *Signer) life(seconds *int32) time.Duration {
	if seconds == nil {
		return s.Longest
	}
	asked := time.Duration(*seconds) * time.Second
	if asked > s.Longest {
		return s.Longest
	}
	return max(asked, shortestLife)
}
