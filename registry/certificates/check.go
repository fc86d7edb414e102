package certificates

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// Validation of requests. signingRequests (signingrequest.go) names checkRequest for each way to
// write a request. The texts in PEM are validated in pem.go.

// door is the resource or subresource that a write goes through.
type door int

const (
	throughResource door = iota // certificatesigningrequests
	throughStatus               // .../status: the certificate, and conditions except approvals
	throughApproval             // .../approval: conditions
)

// approvals are the conditions that decide about a request. Only a write through the subresource
// approval can add or change them.
var approvals = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved,
	certificatesv1.CertificateDenied}

// final are the conditions that are never removed, and whose status is always True.
var final = append(slices.Clone(approvals), certificatesv1.CertificateFailed)

// usages are the valid usages of a key, sorted as the error lists them.
var usages = []certificatesv1.KeyUsage{
	certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth,
	certificatesv1.UsageCodeSigning, certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign,
	certificatesv1.UsageDataEncipherment, certificatesv1.UsageDecipherOnly, certificatesv1.UsageDigitalSignature,
	certificatesv1.UsageEmailProtection, certificatesv1.UsageEncipherOnly, certificatesv1.UsageIPsecEndSystem,
	certificatesv1.UsageIPsecTunnel, certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement,
	certificatesv1.UsageKeyEncipherment, certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC,
	certificatesv1.UsageOCSPSigning, certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth,
	certificatesv1.UsageSigning, certificatesv1.UsageTimestamping,
}

// minSeconds is the least spec.expirationSeconds: 10 minutes.
const minSeconds = 600

// checkRequest validates r. old is the request that r replaces, nil if r is new; through is the
// door of the write. The certificate is validated if it changes and the old one was valid or
// missing.
func checkRequest(r, old *signingRequest, through door) field.ErrorList {
	errs := checkSpec(&r.Spec, old != nil)
	var before []condition
	if old != nil {
		before = old.Status.Conditions
	}
	conditions, certificate := field.NewPath("status", "conditions"), field.NewPath("status", "certificate")
	errs = append(errs, checkConditions(conditions, r.Status.Conditions, before)...)
	if old == nil {
		return errs
	}
	renewed := !bytes.Equal(r.Status.Certificate, old.Status.Certificate)
	if err := checkCertificate(r.Status.Certificate); renewed && err != nil &&
		checkCertificate(old.Status.Certificate) == nil {
		errs = append(errs, field.Invalid(certificate, "<certificate data>", err.Error()))
	}
	errs = append(errs, checkDecision(conditions, r.Status.Conditions, before, through)...)
	switch {
	case renewed && through != throughStatus:
		errs = append(errs, field.Forbidden(certificate, "updates may not set certificate content"))
	case renewed && len(old.Status.Certificate) > 0:
		errs = append(errs, field.Forbidden(certificate, "updates may not modify existing certificate content"))
	}
	return errs
}

// checkSpec validates the spec. stored says that the request was stored before. The spec of a
// stored request cannot change. So two rules that are younger than the kind apply to new requests
// only: each usage must be known and listed once, and the signer must not be the legacy one.
func checkSpec(spec *certificatesv1.CertificateSigningRequestSpec, stored bool) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if err := checkSigned(spec.Request); err != nil {
		errs = append(errs, field.Invalid(p.Child("request"), spec.Request, err.Error()))
	}
	if len(spec.Usages) == 0 {
		errs = append(errs, field.Required(p.Child("usages"), ""))
	}
	if !stored {
		errs = append(errs, checkUsages(p.Child("usages"), spec.Usages)...)
	}
	if spec.SignerName == certificatesv1.LegacyUnknownSignerName && !stored {
		errs = append(errs, field.Invalid(p.Child("signerName"), spec.SignerName,
			"the legacy signerName is not allowed via this API version"))
	} else {
		errs = append(errs, check.Needed(p.Child("signerName"), spec.SignerName, checkSigner)...)
	}
	if s := spec.ExpirationSeconds; s != nil && *s < minSeconds {
		errs = append(errs, field.Invalid(p.Child("expirationSeconds"), *s,
			"may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}

// checkUsages requires each usage to be known and to stand once in the list.
func checkUsages(p *field.Path, list []certificatesv1.KeyUsage) field.ErrorList {
	var errs field.ErrorList
	for i, usage := range field.Each(&errs, list) {
		errs = append(errs, check.Supported(p.Index(i), *usage, usages...)...)
	}
	seen := check.Duplicates{}
	for i, usage := range field.Each(&errs, list) {
		if !seen.Add(string(*usage)) {
			errs = append(errs, field.Duplicate(p.Index(i), *usage))
		}
	}
	return errs
}

// checkConditions validates the conditions. before are the conditions of the old object: if one of
// these has no type, two have the same type, or both Approved and Denied are there, the new
// conditions may have the same mistake.
func checkConditions(p *field.Path, list, before []condition) field.ErrorList {
	var errs field.ErrorList
	both := countOf(before, certificatesv1.CertificateApproved) > 0 &&
		countOf(before, certificatesv1.CertificateDenied) > 0
	unnamed, repeated := countOf(before, "") > 0, repeats(before)
	seen := check.Duplicates{}
	approved, denied := false, false
	for i, c := range field.Each(&errs, list) {
		at := p.Index(i)
		if c.Type == "" && !unnamed {
			errs = append(errs, field.Required(at.Child("type"), ""))
		}
		valid := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		if slices.Contains(final, c.Type) {
			valid = valid[1:2]
		}
		errs = append(errs, check.OneOf(at.Child("status"), c.Status, valid...)...)
		approved = approved || c.Type == certificatesv1.CertificateApproved
		denied = denied || c.Type == certificatesv1.CertificateDenied
		if approved && denied && !both && slices.Contains(approvals, c.Type) {
			errs = append(errs, field.Invalid(p, c.Type, "Approved and Denied conditions are mutually exclusive"))
		}
		if !seen.Add(string(c.Type)) && !repeated {
			errs = append(errs, field.Duplicate(at.Child("type"), c.Type))
		}
	}
	return errs
}

// repeats reports whether list has two conditions of the same type.
func repeats(list []condition) bool {
	seen := check.Duplicates{}
	return slices.ContainsFunc(list, func(c condition) bool { return !seen.Add(string(c.Type)) })
}

// checkDecision refuses the removal of final conditions, and changes of approvals unless the write
// goes through the subresource approval.
func checkDecision(p *field.Path, list, before []condition, through door) field.ErrorList {
	var errs field.ErrorList
	for _, t := range final {
		if countOf(list, t) < countOf(before, t) {
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	if through == throughApproval {
		return errs
	}
	for _, t := range approvals {
		now, was := ofType(list, t), ofType(before, t)
		switch {
		case len(now) > len(was):
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("updates may not add a condition of type %q", t)))
		case len(now) == len(was) && !scheme.Equal(&now, &was):
			errs = append(errs, field.Forbidden(p,
				fmt.Sprintf("updates may not modify a condition of type %q\n%s", t, govalue.Diff(was, now))))
		}
	}
	return errs
}

// ofType returns the conditions of type t, in order.
func ofType(list []condition, t certificatesv1.RequestConditionType) []condition {
	var found []condition
	for _, i := range indexesOf(list, t) {
		found = append(found, list[i])
	}
	return found
}
