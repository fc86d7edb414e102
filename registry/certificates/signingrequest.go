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

// The declaration of the resource certificatesigningrequests with its subresources status and
// approval, and what the server sets in a request before it is validated. Resources returns the
// declaration.

// Short names for the types of a request and of one of its conditions.
type (
	signingRequest = certificatesv1.CertificateSigningRequest
	condition      = certificatesv1.CertificateSigningRequestCondition
)

// signingRequests declares the resource certificatesigningrequests. A write to the resource itself
// changes only metadata: spec and status are reset to the old object.
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
				return checkRequest(r, old, throughResource)
			},
			AllowUnconditionalUpdate: true,
		},
		ResetFields: []string{"spec", "status"},
		Status: &registry.StatusOf[*signingRequest]{
			ResetFields: []string{"spec", "status.conditions"},
			Prepare:     prepareStatus,
			Validate:    func(r, old *signingRequest) field.ErrorList { return checkRequest(r, old, throughStatus) },
			Metadata:    registry.MetaWhole,
		},
		Subresources: []registry.SubresourceOf[*signingRequest]{{
			Name: "approval", Owns: []string{"status.conditions"}, ResetFields: []string{"spec", "status.certificate"},
			Metadata: registry.MetaWhole,
			Prepare:  fillInTimes,
			Validate: func(r, old *signingRequest) field.ErrorList { return checkRequest(r, old, throughApproval) },
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

// conditionCell is the cell Condition: Pending, Approved or Denied, then Failed and Issued if they
// apply, such as "Approved,Issued".
func conditionCell(s *certificatesv1.CertificateSigningRequestStatus) string {
	cell := "Pending"
	switch {
	case countOf(s.Conditions, certificatesv1.CertificateDenied) > 0:
		cell = "Denied"
	case countOf(s.Conditions, certificatesv1.CertificateApproved) > 0:
		cell = "Approved"
	}
	if countOf(s.Conditions, certificatesv1.CertificateFailed) > 0 {
		cell += ",Failed"
	}
	if len(s.Certificate) > 0 {
		cell += ",Issued"
	}
	return cell
}

// prepareRequest resets the spec to old, or sets the user in the spec of a new request to the user
// who sent it. The user that a client writes into the spec is ignored.
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

// prepareStatus resets the approvals to those of old, one by one. If their number changed, they are
// left as the client wrote them, and checkDecision refuses the write.
func prepareStatus(r *registry.Request, csr, old *signingRequest) {
	for _, t := range approvals {
		now, was := indexesOf(csr.Status.Conditions, t), indexesOf(old.Status.Conditions, t)
		for i := range now {
			if len(now) == len(was) {
				csr.Status.Conditions[now[i]] = old.Status.Conditions[was[i]]
			}
		}
	}
	fillInTimes(r, csr, old)
}

// fillInTimes sets the times of conditions that the client left out. The time of the last
// transition is that of the old condition of the same type and status, if there is one. If old has
// several, the first counts.
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

// indexesOf returns the indexes of the conditions of type t.
func indexesOf(list []condition, t certificatesv1.RequestConditionType) []int {
	var found []int
	for i := range list {
		if list[i].Type == t {
			found = append(found, i)
		}
	}
	return found
}

// countOf returns the number of conditions of type t.
func countOf(list []condition, t certificatesv1.RequestConditionType) int {
	return len(indexesOf(list, t))
}
