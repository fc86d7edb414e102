package admissionregistration

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// validatingWebhooks declares the resource validatingwebhookconfigurations.
func validatingWebhooks() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
		GroupResource: resource("validatingwebhookconfigurations"),
		Kind:          "ValidatingWebhookConfiguration",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.ValidatingWebhookConfiguration]{
			Metadata: registry.MetaRepeat,
			ValidateRequest: func(r *registry.Request, _ field.ErrorList,
				c, old *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
				return checkValidatingWebhooks(r.Context, c, old)
			},
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

// mutatingWebhooks declares the resource mutatingwebhookconfigurations.
func mutatingWebhooks() registry.Resource {
	return registry.Typed(registry.ResourceOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
		GroupResource: resource("mutatingwebhookconfigurations"),
		Kind:          "MutatingWebhookConfiguration",
		Categories:    []string{"api-extensions"},
		Strategy: registry.StrategyOf[*admissionregistrationv1.MutatingWebhookConfiguration]{
			Metadata: registry.MetaRepeat,
			ValidateRequest: func(r *registry.Request, _ field.ErrorList,
				c, old *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
				return checkMutatingWebhooks(r.Context, c, old)
			},
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

// webhookColumns are the columns of both kinds of configurations.
var webhookColumns = []meta.TableColumnDefinition{
	registry.NameColumn, registry.IntegerColumn("Webhooks", "How many webhooks are listed.", 0), registry.AgeColumn,
}

// checkValidatingWebhooks validates c, which replaces old, nil if c is new.
func checkValidatingWebhooks(ctx context.Context,
	c, old *admissionregistrationv1.ValidatingWebhookConfiguration) field.ErrorList {
	if old == nil {
		return checkWebhooks(ctx, ofValidating(c), strict)
	}
	return checkWebhooks(ctx, ofValidating(c), leniency(ofValidating(c), ofValidating(old)))
}

// checkMutatingWebhooks validates c, which replaces old, nil if c is new.
func checkMutatingWebhooks(ctx context.Context,
	c, old *admissionregistrationv1.MutatingWebhookConfiguration) field.ErrorList {
	if old == nil {
		return checkWebhooks(ctx, ofMutating(c), strict)
	}
	return checkWebhooks(ctx, ofMutating(c), leniency(ofMutating(c), ofMutating(old)))
}

// webhook is a webhook of either kind of configuration, so that one function validates both. A
// mutating webhook is a validating one with a reinvocation policy.
type webhook struct {
	*admissionregistrationv1.ValidatingWebhook
	reinvocation *admissionregistrationv1.ReinvocationPolicyType // nil for a validating webhook
}

// ofValidating returns the webhooks of c. They share memory with c.
func ofValidating(c *admissionregistrationv1.ValidatingWebhookConfiguration) []webhook {
	list := make([]webhook, len(c.Webhooks))
	for i := range c.Webhooks {
		list[i].ValidatingWebhook = &c.Webhooks[i]
	}
	return list
}

// ofMutating returns the webhooks of c. They share the values of fields with c.
func ofMutating(c *admissionregistrationv1.MutatingWebhookConfiguration) []webhook {
	list := make([]webhook, len(c.Webhooks))
	for i, w := range c.Webhooks {
		list[i] = webhook{&admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules,
			FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}, w.ReinvocationPolicy}
	}
	return list
}
