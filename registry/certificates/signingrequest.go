package certificates

import (
	"cmp"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// The signing request and a condition of it, by shorter names.
type (
	signingRequest = certificatesv1.CertificateSigningRequest
	condition      = certificatesv1.CertificateSigningRequestCondition
)

// signingRequests makes the resource certificatesigningrequests. What is asked for stays as it is;
// it is approved or denied through one door, and the certificate comes in through the other.
func signingRequests() registry.Resource {
	return registry.Typed(registry.ResourceOf[*signingRequest]{
		GroupResource: meta.GroupResource{Group: certificatesv1.GroupVersion.Group,
			Resource: "certificatesigningrequests"},
		Kind: "CertificateSigningRequest", ShortNames: []string{"csr"},
		Strategy: registry.StrategyOf[*signingRequest]{
			Metadata:     registry.MetaWhole,
			ValidateName: names.PathSegmentName,
			Prepare:      prepareRequest,
			Validate: func(r, old *signingRequest) field.ErrorList {
				return checkRequest(r, old, theRequest)
			},
			AllowUnconditionalUpdate: true,
		},
		Reset: []string{"spec", "status"},
		Status: &registry.StatusOf[*signingRequest]{
			Reset:    []string{"spec", "status.conditions"},
			Prepare:  prepareStatus,
			Validate: func(r, old *signingRequest) field.ErrorList { return checkRequest(r, old, theStatus) },
			Metadata: registry.MetaWhole,
		},
		Subresources: []registry.SubresourceOf[*signingRequest]{{
			Name: "approval", Owns: []string{"status.conditions"}, Reset: []string{"spec", "status.certificate"},
			Metadata: registry.MetaWhole,
			Prepare:  fillInTimes,
			Validate: func(r, old *signingRequest) field.ErrorList { return checkRequest(r, old, theApproval) },
		}},
		Fields: []registry.FieldValue{{Label: "spec.signerName", Path: "spec.signerName"}},
		Table: &registry.TableOf[*signingRequest]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn, registry.AgeColumn,
				registry.Column("SignerName", "Who is asked.", 0),
				registry.Column("Requestor", "Who asks.", 0),
				registry.Column("RequestedDuration", "How long the certificate should be valid.", 0),
				registry.Column("Condition", "What has become of the request.", 0),
			},
			Cells: func(r *signingRequest, now time.Time) []any {
				duration := registry.None
				if s := r.Spec.ExpirationSeconds; s != nil {
					duration = registry.HumanDuration(time.Duration(*s) * time.Second)
				}
				return []any{r.Name, registry.Age(&r.ObjectMeta, now), cmp.Or(r.Spec.SignerName, registry.None),
					r.Spec.Username, duration,
					conditionCell(&r.Status)}
			},
		},
	})
}

func conditionCell(s *certificatesv1.CertificateSigningRequestStatus) string {
	cell := "Pending"
	switch {
	case count(s.Conditions, certificatesv1.CertificateDenied) > 0:
		cell = "Denied"
	case count(s.Conditions, certificatesv1.CertificateApproved) > 0:
		cell = "Approved"
	}
	if count(s.Conditions, certificatesv1.CertificateFailed) > 0 {
		cell += ",Failed"
	}
	if len(s.Certificate) > 0 {
		cell += ",Issued"
	}
	return cell
}

// prepareRequest writes down who asks, and lets that and what is asked for be.
func prepareRequest(r *registry.Request, csr, old *signingRequest) {
	if old != nil {
		csr.Spec = old.Spec
		return
	}
	spec := &csr.Spec
	spec.Username, spec.UID, spec.Groups, spec.Extra = "", "", nil, nil
	if r.User == nil {
		return
	}
	spec.Username, spec.UID, spec.Groups = r.User.Name, r.User.UID, r.User.Groups
	for key, values := range r.User.Extra {
		if spec.Extra == nil {
			spec.Extra = make(map[string]certificatesv1.ExtraValue, len(r.User.Extra))
		}
		spec.Extra[key] = values
	}
}

// prepareStatus keeps the conditions that the other door is for, unless there are more or fewer of
// them, which is refused.
func prepareStatus(r *registry.Request, csr, old *signingRequest) {
	for _, t := range approvals {
		now, was := places(csr.Status.Conditions, t), places(old.Status.Conditions, t)
		for i := range now {
			if len(now) == len(was) {
				csr.Status.Conditions[now[i]] = old.Status.Conditions[was[i]]
			}
		}
	}
	fillInTimes(r, csr, old)
}

// fillInTimes completes conditions. One came to be as it is now, unless it has been so before.
func fillInTimes(r *registry.Request, csr, old *signingRequest) {
	type state struct {
		of certificatesv1.RequestConditionType
		is corev1.ConditionStatus
	}
	now, since := meta.Time{Time: r.Now}, map[state]meta.Time{}
	for _, c := range slices.Backward(old.Status.Conditions) { // the first one counts
		if !c.LastTransitionTime.IsZero() {
			since[state{c.Type, c.Status}] = c.LastTransitionTime
		}
	}
	for i := range csr.Status.Conditions {
		c := &csr.Status.Conditions[i]
		scheme.SetDefault(&c.LastUpdateTime, now)
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = cmp.Or(since[state{c.Type, c.Status}], now)
		}
	}
}

// places are the indexes of the conditions of a type.
func places(list []condition, t certificatesv1.RequestConditionType) []int {
	var found []int
	for i := range list {
		if list[i].Type == t {
			found = append(found, i)
		}
	}
	return found
}

// count is how many conditions of a type there are.
func count(list []condition, t certificatesv1.RequestConditionType) int { return len(places(list, t)) }
