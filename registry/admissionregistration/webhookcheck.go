package admissionregistration

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Validation of webhooks of both kinds of configurations. webhook.go calls checkWebhooks for each
// write, with strict for a new configuration and with leniency for an update. The rules that
// policies have as well are in match.go.

// lenient says which rules an update need not keep. A field that is true skips its rule for all
// webhooks of the configuration. All rules but that of conditions are younger than the kinds, so
// stored objects may break them.
type lenient struct {
	// The skipped rules: side effects must be harmless; a version of AdmissionReview must be one
	// that the server sends; names must be unique; values in label selectors must be valid.
	sideEffects, reviewVersions, sameNames, labelValues bool
	// conditions: match conditions did not change, so they are not compiled again.
	conditions bool
}

// strict applies every rule. It is for new objects.
var strict = lenient{}

// leniency returns the rules that an update from the webhooks old to hooks may break. A violation
// in one webhook of old excuses all webhooks, as in kube-apiserver.
func leniency(hooks, old []webhook) lenient {
	l := lenient{conditions: sameConditions(hooks, old)}
	seen := check.Duplicates{}
	for _, w := range old {
		l.sideEffects = l.sideEffects || w.SideEffects == nil || !slices.Contains(harmless, *w.SideEffects)
		versions := w.AdmissionReviewVersions
		l.reviewVersions = l.reviewVersions || len(versions) > 0 && !slices.ContainsFunc(versions, check.KnownReview)
		l.sameNames = l.sameNames || !seen.Add(w.Name)
		l.labelValues = l.labelValues || len(meta.ValidateLabelSelector(w.NamespaceSelector, nil)) > 0 ||
			len(meta.ValidateLabelSelector(w.ObjectSelector, nil)) > 0
	}
	return l
}

// sameConditions reports whether the webhooks have the same match conditions, webhook by webhook.
func sameConditions(hooks, old []webhook) bool {
	return slices.EqualFunc(hooks, old, func(w, old webhook) bool {
		return scheme.Equal(&w.MatchConditions, &old.MatchConditions)
	})
}

// checkWebhooks validates the webhooks of a configuration. It skips the rules that are true in not.
func checkWebhooks(ctx context.Context, hooks []webhook, not lenient) field.ErrorList {
	var errs field.ErrorList
	e := policies.New(ctx)
	seen := check.Duplicates{}
	for i, w := range field.Each(&errs, hooks) {
		p := field.NewPath("webhooks").Index(i)
		errs = append(errs, checkWebhook(e, p, w, not)...)
		errs = append(errs, check.ReviewVersions(p.Child("admissionReviewVersions"), w.AdmissionReviewVersions,
			not.reviewVersions,
			"must specify one of v1, v1beta1")...)
		if w.Name != "" && !seen.Add(w.Name) && !not.sameNames {
			errs = append(errs, field.Duplicate(p.Child("name"), w.Name))
		}
	}
	return errs
}

// harmless are the side effects that a new webhook may have: a dry run must have none. sideEffects
// are all that exist; a webhook may have any of them if a webhook of the old object had one that is
// not harmless. Both lists are in the order in which errors show them.
var (
	harmless = []admissionregistrationv1.SideEffectClass{
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
	}
	sideEffects = append(harmless[:2:2], admissionregistrationv1.SideEffectClassSome,
		admissionregistrationv1.SideEffectClassUnknown)
)

// checkWebhook validates one webhook, except for its review versions and the uniqueness of its
// name, which checkWebhooks validates. It skips the rules that are true in not.
func checkWebhook(e *policies.Scope, p *field.Path, w *webhook, not lenient) field.ErrorList {
	errs := checkWebhookName(p.Child("name"), w.Name)
	for i, rule := range field.Each(&errs, w.Rules) {
		errs = append(errs, checkRule(p.Child("rules").Index(i), rule)...)
	}
	errs = append(errs, check.OptionalOneOf(p.Child("failurePolicy"), w.FailurePolicy, failurePolicies...)...)
	errs = append(errs, check.OptionalOneOf(p.Child("matchPolicy"), w.MatchPolicy, matchPolicies...)...)
	errs = append(errs, checkSideEffects(p.Child("sideEffects"), w.SideEffects, not)...)
	if t := w.TimeoutSeconds; t != nil && (*t < 1 || *t > 30) {
		errs = append(errs, field.Invalid(p.Child("timeoutSeconds"), *t,
			"the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, checkWebhookSelector(p.Child("namespaceSelector"), w.NamespaceSelector, not)...)
	errs = append(errs, checkWebhookSelector(p.Child("objectSelector"), w.ObjectSelector, not)...)
	errs = append(errs, check.OptionalOneOf(p.Child("reinvocationPolicy"), w.reinvocation, reinvocationPolicies...)...)
	errs = append(errs, checkClient(p.Child("clientConfig"), &w.ClientConfig)...)
	if !not.conditions {
		errs = append(errs, checkMatchConditions(e, p.Child("matchConditions"), w.MatchConditions, false)...)
	}
	return errs
}

// checkWebhookName requires a domain with at least three segments.
func checkWebhookName(p *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	if msgs := names.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(p, name, strings.Join(msgs, ","))}
	}
	if strings.Count(name, ".") < 2 {
		return field.ErrorList{field.Invalid(p, name,
			"should be a domain with at least three segments separated by dots")}
	}
	return nil
}

// checkSideEffects requires side effects that are harmless, or any if not.sideEffects is true.
// Kubernetes requires the field, since v1 has no default for it.
func checkSideEffects(p *field.Path, class *admissionregistrationv1.SideEffectClass, not lenient) field.ErrorList {
	valid := harmless
	if not.sideEffects {
		valid = sideEffects
	}
	if class != nil {
		return check.Supported(p, *class, valid...)
	}
	text := make([]string, len(valid))
	for i, v := range valid {
		text[i] = string(v)
	}
	return field.ErrorList{field.Required(p, "must specify one of "+strings.Join(text, ", "))}
}

// checkWebhookSelector validates a label selector, which may be nil. If the old object had an error
// in a selector (not.labelValues), invalid values are allowed.
func checkWebhookSelector(p *field.Path, s *meta.LabelSelector, not lenient) field.ErrorList {
	errs := meta.ValidateLabelSelector(s, p)
	if not.labelValues {
		// The path of an error in a value ends with the index of the value: drop these errors.
		errs = errs.Filter(func(e *field.Error) bool { return strings.HasSuffix(e.Field, "]") })
	}
	return errs
}

// checkClient requires exactly one way to reach the webhook, a URL or a service.
func checkClient(p *field.Path, c *admissionregistrationv1.WebhookClientConfig) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(p, "exactly one of url or service is required")}
	case c.URL != nil:
		return check.WebhookURL(p.Child("url"), *c.URL)
	}
	return check.WebhookService(p.Child("service"), c.Service.Namespace, c.Service.Name, c.Service.Path, c.Service.Port)
}
