package request

import (
	"context"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Decision is the answer of an Authorizer.
type Decision uint8

// The decisions. Deny is the zero value, so a decision that somebody forgot to set refuses the
// request.
const (
	Deny      Decision = iota // refused, whatever later authorizers would say
	Allow                     // allowed
	NoOpinion                 // a later authorizer may allow it; refused if none does
)

// String returns the decision in lower case.
func (d Decision) String() string {
	switch d {
	case Deny:
		return "deny"
	case Allow:
		return "allow"
	case NoOpinion:
		return "no opinion"
	}
	return "unknown"
}

// Attributes are the properties of a request that authorization depends on. Parse fills them for a
// request that was sent. Code that asks about a request that nobody sent, such as an access review,
// fills them itself.
type Attributes struct {
	User *User
	Verb string
	// IsResource reports whether the request is for a resource, which the following fields
	// describe. Otherwise only Path and Verb describe it.
	IsResource  bool
	Group       string
	Version     string
	Namespace   string
	Resource    string
	Subresource string
	Name        string
	Path        string
	// The selectors of list, watch and deletecollection, as sent. Fields and Labels parse them.
	FieldSelector string
	LabelSelector string
	// Selected holds selectors that were never sent as text, as in access reviews. nil: the two
	// texts above say everything.
	Selected *Selected
}

// Selected is a pair of parsed selectors. If one has an error, its requirements are those that
// could be parsed. Every requirement narrows the objects that the question is about, so leaving one
// out only asks about more objects: that is safe.
type Selected struct {
	Fields    meta.FieldRequirements
	FieldsErr error
	Labels    meta.LabelRequirements
	LabelsErr error
}

// Fields returns the requirements on the fields of the objects that the request is about; none,
// with an error, if the selector cannot be parsed. Each call parses the text again.
func (a *Attributes) Fields() (meta.FieldRequirements, error) {
	if a.Selected != nil {
		return a.Selected.Fields, a.Selected.FieldsErr
	}
	return meta.ParseFields(a.FieldSelector)
}

// Labels returns the requirements on the labels of the objects that the request is about; none,
// with an error, if the selector cannot be parsed. Each call parses the text again.
func (a *Attributes) Labels() (meta.LabelRequirements, error) {
	if a.Selected != nil {
		return a.Selected.Labels, a.Selected.LabelsErr
	}
	return meta.ParseLabels(a.LabelSelector)
}

// Authorizer decides whether a request may be served. Implementations are in filters/authz. An
// Authorizer is safe for concurrent use.
type Authorizer interface {
	// Authorize decides about a. The caller owns a: Authorize must not change or keep it. reason is
	// shown to the user and may be empty. err says why no decision could be found; the decision is
	// then Deny or NoOpinion.
	Authorize(ctx context.Context, a *Attributes) (decision Decision, reason string, err error)
}

// RuleResolver lists the rules that allow a user something, as a SelfSubjectRulesReview shows them.
// Implementations are in filters/authz. A RuleResolver is safe for concurrent use.
type RuleResolver interface {
	// RulesFor returns the rules that hold for the user in a namespace; for namespace "", those
	// that hold everywhere. An error may come together with rules, which are those that could be
	// found. incomplete says that the user may have further rights that cannot be expressed as
	// rules. The rules are shared and must not be changed.
	RulesFor(ctx context.Context, user *User, namespace string) (rules []rbacv1.PolicyRule, incomplete bool, err error)
}

// The annotations by which the audit record of a request tells its authorization.
const (
	DecisionAnnotation = "authorization.k8s.io/decision" // "allow" or "forbid"
	ReasonAnnotation   = "authorization.k8s.io/reason"   // why; names roles and bindings
	reasonError        = "internal error"                // the value of ReasonAnnotation if no decision could be found
)

// AuthorizationAnnotations calls add with each annotation about the authorization of the request.
// It adds none if the request never reached its authorization.
func (i *Info) AuthorizationAnnotations(add func(key, value string)) {
	switch {
	case !i.Decided:
		if i.Reason != "" {
			add(ReasonAnnotation, i.Reason)
		}
		return
	case i.Decision == Allow:
		add(DecisionAnnotation, "allow")
	default:
		add(DecisionAnnotation, "forbid")
	}
	add(ReasonAnnotation, i.Reason)
}

// RecordDecision records the authorizer's decision about the request. A decision with an error that
// is not Allow does not count as decided, and the text of err stays out of the audit record.
func (i *Info) RecordDecision(decision Decision, reason string, err error) {
	i.Decision, i.Decided, i.Reason = decision, decision == Allow || err == nil, reason
	if !i.Decided {
		i.Reason = reasonError
	}
}
