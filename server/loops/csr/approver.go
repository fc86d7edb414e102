package csr

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/loops/signing"
)

// Approver approves requests for client certificates of kubelets, as Kubernetes'
// certificatesigningrequest-approving-controller does: a node that joins asks for its first
// certificate, and a node that has one asks for the next.
type Approver struct {
	// Informers are the Informers of the run, which the three loops share. Approver also writes
	// through their client.
	Informers *controller.Informers
	// Allowed reports whether the user who made a request, as its spec says, may create a
	// subresource of certificatesigningrequests.
	Allowed func(ctx context.Context, spec *certificatesv1.CertificateSigningRequestSpec, subresource string) bool
	Log     *zap.Logger
}

// workers is the number of requests on which Approver, or Signer, works at once.
const workers = 5

// Run approves requests until ctx ends.
func (a *Approver) Run(ctx context.Context) {
	controller.Loop{
		Name: "certificate",
		Source: requestsOf(a.Informers).Source(func(name controller.Name, _, now *view) []controller.Name {
			if now == nil || !now.Pending || now.Signer != certificatesv1.KubeAPIServerClientKubeletSignerName {
				return nil
			}
			return []controller.Name{name}
		}),
		Reconcile: a.reconcile, Workers: workers, Log: a.Log,
	}.Run(ctx)
}

// reconcile approves a request if its user has one of the rights that the request needs. If the
// user has none of them, reconcile asks for a later call, because somebody may grant one.
func (a *Approver) reconcile(ctx context.Context, name controller.Name) (time.Duration, error) {
	if v := requestsOf(a.Informers).Get(name); v == nil || !v.Pending {
		return 0, nil
	}
	requests := requestsBy(a.Informers)
	r, err := requests.Get(ctx, name.Name, meta.GetOptions{})
	if err != nil || !newView(r).Pending {
		return 0, controller.IgnoreNotFound(err)
	}
	asked, err := certificatesv1.ParseRequest(r.Spec.Request)
	if err != nil {
		return 0, err
	}
	approvals := signing.Approvals(r, asked)
	for _, one := range approvals {
		if a.Allowed(ctx, &r.Spec, one.Subresource) {
			r.Status.Conditions = append(r.Status.Conditions, condition{
				Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue,
				Reason: "AutoApproved", Message: one.Message,
			})
			_, err := requests.Sub("approval").Update(ctx, r, meta.UpdateOptions{})
			return 0, controller.IgnoreNotFound(err)
		}
	}
	if len(approvals) > 0 {
		return untilNextTry(time.Since(r.CreationTimestamp.Time)), nil
	}
	return 0, nil
}

// The shortest and the longest time between two tries to approve a request whose user lacks the
// right.
const (
	soonestTry = time.Second
	latestTry  = 1000 * time.Second
)

// untilNextTry returns the age of the request within these bounds, so that the time between two
// tries about doubles with each try.
func untilNextTry(age time.Duration) time.Duration { return min(max(age, soonestTry), latestTry) }
