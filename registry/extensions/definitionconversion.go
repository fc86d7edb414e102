package extensions

import (
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// checkConversion validates how the instances are converted between versions. The errors name the
// fields as v1beta1 called them: webhookClientConfig, not webhook.clientConfig. A definition that
// preserves unknown fields can have no webhook, because conversion by a webhook needs structural
// schemas.
func checkConversion(p *field.Path, spec *apiextensionsv1.CustomResourceDefinitionSpec,
	rules definitionRules) field.ErrorList {
	c := spec.Conversion
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	if c.Strategy != apiextensionsv1.NoneConverter && spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(p.Child("strategy"), c.Strategy,
			"must be None if spec.preserveUnknownFields is true"))
	}
	errs = append(errs, check.OneOf(p.Child("strategy"), string(c.Strategy), string(apiextensionsv1.NoneConverter),
		string(apiextensionsv1.WebhookConverter))...)
	webhook := c.Webhook
	if webhook == nil {
		webhook = &apiextensionsv1.WebhookConversion{}
	}
	client, reviews := p.Child("webhookClientConfig"), p.Child("conversionReviewVersions")
	if c.Strategy == apiextensionsv1.WebhookConverter {
		errs = append(errs, checkClient(client, webhook.ClientConfig, rules)...)
		return append(errs, check.ReviewVersions(reviews, webhook.ConversionReviewVersions, !rules.knownReviews, "")...)
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

// checkClient requires exactly one way to reach the webhook, a URL or a service, and a readable CA
// bundle if the rules ask for one.
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
