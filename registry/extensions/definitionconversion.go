package extensions

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// knownReviews are the versions of ConversionReview that a webhook may be asked with.
var knownReviews = []string{"v1", "v1beta1"}

func isKnownReview(version string) bool { return slices.Contains(knownReviews, version) }

// checkConversion judges how objects are converted. Errors name the fields as they were called first.
func checkConversion(p *field.Path, spec *apiextensionsv1.CustomResourceDefinitionSpec, rules definitionRules) field.ErrorList {
	c := spec.Conversion
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	if c.Strategy != apiextensionsv1.NoneConverter && spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(p.Child("strategy"), c.Strategy, "must be None if spec.preserveUnknownFields is true"))
	}
	errs = append(errs, check.OneOf(p.Child("strategy"), string(c.Strategy), string(apiextensionsv1.NoneConverter), string(apiextensionsv1.WebhookConverter))...)
	webhook := c.Webhook
	if webhook == nil {
		webhook = &apiextensionsv1.WebhookConversion{}
	}
	client, reviews := p.Child("webhookClientConfig"), p.Child("conversionReviewVersions")
	if c.Strategy == apiextensionsv1.WebhookConverter {
		errs = append(errs, checkClient(client, webhook.ClientConfig, rules)...)
		return append(errs, checkReviews(reviews, webhook.ConversionReviewVersions, rules)...)
	}
	const unset = "should not be set when strategy is not set to Webhook"
	if webhook.ClientConfig != nil {
		errs = append(errs, field.Forbidden(client, unset))
	}
	if len(webhook.ConversionReviewVersions) > 0 {
		errs = append(errs, field.Forbidden(reviews, unset))
	}
	return errs
}

func checkClient(p *field.Path, c *apiextensionsv1.WebhookClientConfig, rules definitionRules) field.ErrorList {
	if c == nil {
		return field.ErrorList{field.Required(p, "required when strategy is set to Webhook")}
	}
	var errs field.ErrorList
	switch s := c.Service; {
	case (c.URL == nil) == (s == nil):
		errs = append(errs, field.Required(p, "exactly one of url or service is required"))
	case s == nil:
		errs = append(errs, check.WebhookURL(p.Child("url"), *c.URL)...)
	default:
		errs = append(errs, check.WebhookService(p.Child("service"), s.Namespace, s.Name, s.Path, s.Port)...)
	}
	if len(c.CABundle) > 0 && rules.validCABundle {
		errs = append(errs, check.CABundle(p.Child("caBundle"), c.CABundle)...)
	}
	return errs
}

func checkReviews(p *field.Path, versions []string, rules definitionRules) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, v := range field.Each(&errs, versions) {
		if !seen.Add(*v) {
			errs = append(errs, field.Invalid(p.Index(i), *v, "duplicate version"))
			continue
		}
		errs = append(errs, check.Invalid(p.Index(i), *v, names.IsDNS1035Label(*v))...)
	}
	if rules.knownReviews && !slices.ContainsFunc(versions, isKnownReview) {
		errs = append(errs, field.Invalid(p, versions, "must include at least one of "+strings.Join(knownReviews, ", ")))
	}
	return errs
}
