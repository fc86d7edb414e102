package admissionregistration

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// validatingWebhooks makes the resource validatingwebhookconfigurations.
func validatingWebhooks() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
		GroupResource: resource("validatingwebhookconfigurations"),
		Kind:          "ValidatingWebhookConfiguration",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
			Metadata: registry.MetaRepeat,
			Validate: checkValidatingWebhooks,
			Warnings: nameWarnings[*admissionregistrationv1.ValidatingWebhookConfiguration],
		},
		Generation: []string{"webhooks"},
		Table: &registry.TableOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
			Columns: webhookColumns,
			Cells: func(c *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) []any {
				return []any{c.Name, int64(len(c.Webhooks)), registry.Age(&c.ObjectMeta, now)}
			},
		},
	})
}

// mutatingWebhooks makes the resource mutatingwebhookconfigurations.
func mutatingWebhooks() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
		GroupResource: resource("mutatingwebhookconfigurations"),
		Kind:          "MutatingWebhookConfiguration",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
			Metadata: registry.MetaRepeat,
			Validate: checkMutatingWebhooks,
			Warnings: nameWarnings[*admissionregistrationv1.MutatingWebhookConfiguration],
		},
		Generation: []string{"webhooks"},
		Table: &registry.TableOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
			Columns: webhookColumns,
			Cells: func(c *admissionregistrationv1.MutatingWebhookConfiguration, now time.Time) []any {
				return []any{c.Name, int64(len(c.Webhooks)), registry.Age(&c.ObjectMeta, now)}
			},
		},
	})
}

var webhookColumns = []meta.TableColumnDefinition{
	registry.NameColumn, registry.IntegerColumn("Webhooks", "How many webhooks are listed.", 0), registry.AgeColumn,
}

func checkValidatingWebhooks(c, old *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	if old == nil {
		return checkWebhooks(ofValidating(c), strict)
	}
	return checkWebhooks(ofValidating(c), leniency(ofValidating(c), ofValidating(old)))
}

func checkMutatingWebhooks(c, old *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	if old == nil {
		return checkWebhooks(ofMutating(c), strict)
	}
	return checkWebhooks(ofMutating(c), leniency(ofMutating(c), ofMutating(old)))
}

// webhook is a webhook of either sort. A mutating one has another field.
type webhook struct {
	*admissionregistrationv1.ValidatingWebhook
	reinvocation *admissionregistrationv1.ReinvocationPolicyType
}

func ofValidating(c *admissionregistrationv1.ValidatingWebhookConfiguration) []webhook {
	list := make([]webhook, len(c.Webhooks))
	for i := range c.Webhooks {
		list[i].ValidatingWebhook = &c.Webhooks[i]
	}
	return list
}

func ofMutating(c *admissionregistrationv1.MutatingWebhookConfiguration) []webhook {
	list := make([]webhook, len(c.Webhooks))
	for i, w := range c.Webhooks {
		list[i] = webhook{&admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}, w.ReinvocationPolicy}
	}
	return list
}
