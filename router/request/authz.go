package request

import (
	"context"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Decision is what an Authorizer thinks of a request.
type Decision uint8

// The decisions. The zero one is the safe one.
const (
	Deny      Decision = iota // no, whatever others say
	Allow                     // yes
	NoOpinion                 // somebody else may allow it
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

// Attributes are the properties of a request that rights depend on. Whoever asks about a request that nobody has sent,
// such as an access review, fills them in by hand.
type Attributes struct {
	User *User
	Verb string
	// IsResource tells whether the request is for a resource, which the next fields name, or just for Path.
	IsResource  bool
	Group       string
	Version     string
	Namespace   string
	Resource    string
	Subresource string
	Name        string
	Path        string
	// Selectors as sent, of list, watch and deletecollection. What they say is for Fields and Labels to tell.
	FieldSelector string
	LabelSelector string
	// Selected is what is selected where nobody has sent selectors as text, as in access reviews; nil: nothing but what they say.
	Selected *Selected
}

// Selected is what selectors say. With an error there may be requirements as well: those that could be understood. All of
// them hold of what is asked about, so that one less is a question about more.
type Selected struct {
	Fields    meta.FieldRequirements
	FieldsErr error
	Labels    meta.LabelRequirements
	LabelsErr error
}

// Fields returns what must hold of the fields of the objects that the request is about; nothing, if the selector cannot be
// read. It is parsed for each who asks.
func (a *Attributes) Fields() (meta.FieldRequirements, error) {
	if a.Selected != nil {
		return a.Selected.Fields, a.Selected.FieldsErr
	}
	return meta.ParseFields(a.FieldSelector)
}

// Labels returns what must hold of the labels of the objects that the request is about; nothing, if the selector cannot be
// read. It is parsed for each who asks.
func (a *Attributes) Labels() (meta.LabelRequirements, error) {
	if a.Selected != nil {
		return a.Selected.Labels, a.Selected.LabelsErr
	}
	return meta.ParseLabels(a.LabelSelector)
}

// Authorizer decides whether a request may be served. Implementations are in filters/authz. It is safe for concurrent use.
type Authorizer interface {
	// Authorize judges a, which belongs to the caller and must not be changed or kept. reason may be empty and is
	// shown to the user. err tells why a decision could not be found; it goes with Deny or NoOpinion.
	Authorize(ctx context.Context, a *Attributes) (decision Decision, reason string, err error)
}

// RuleResolver tells what a user may do as a list of rules. Implementations are in filters/authz. It is safe for concurrent use.
type RuleResolver interface {
	// RulesFor returns what the user may do in a namespace, and with "" what holds everywhere. With an error there may be
	// rules as well: those that could be found. incomplete says that there may be more which cannot be told as rules. The rules
	// are shared and must not be changed.
	RulesFor(ctx context.Context, user *User, namespace string) (rules []rbacv1.PolicyRule, incomplete bool, err error)
}

// What the audit record of a request says of its authorization, as annotations.
const (
	DecisionAnnotation = "authorization.k8s.io/decision" // allow or forbid
	ReasonAnnotation   = "authorization.k8s.io/reason"
	reasonError        = "internal error" // no decision could be found
)

// Authorization tells add the annotations about the authorization of the request; none, if it did not come to that.
func (i *Info) Authorization(add func(key, value string)) {
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

// Judged keeps what the authorizer said. A decision that could not be found is none, and err is not for the record.
func (i *Info) Judged(decision Decision, reason string, err error) {
	i.Decision, i.Decided, i.Reason = decision, decision == Allow || err == nil, reason
	if !i.Decided {
		i.Reason = reasonError
	}
}
