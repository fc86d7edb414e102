package authz

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/codec"
)

// This file is the authorizer that asks a webhook. review.go has the messages, matcher.go the
// conditions under which the webhook is asked, answers.go the cache of its answers.

// Caller posts in as JSON to a webhook and decodes the response into out. callout.Client implements
// it.
type Caller interface {
	Call(ctx context.Context, in, out any) error
}

// WebhookConfig is the configuration of a Webhook.
type WebhookConfig struct {
	// Hook is the webhook, and Version the version of SubjectAccessReview that it understands.
	Hook    Caller
	Version string
	// AuthorizedTTL and UnauthorizedTTL are the times for which answers are remembered: those that
	// allow, and all others. 0: not at all.
	AuthorizedTTL, UnauthorizedTTL time.Duration
	// OnError is the decision if the webhook fails or a condition cannot be evaluated: NoOpinion or
	// Deny.
	OnError request.Decision
	// Conditions are CEL expressions. The webhook is asked only about requests for which all are
	// true.
	Conditions []string
	// Events are called for metrics.
	Events WebhookEvents
}

// WebhookEvents are functions that are called when something has happened at a webhook. Each may be
// nil, and must not block.
type WebhookEvents struct {
	// FailedOpen is called if the webhook failed and OnError is NoOpinion, so that other
	// authorizers decide.
	FailedOpen func(err error)
	// Matched is called after the conditions have been evaluated. excluded says that one was false.
	Matched func(took time.Duration, excluded bool, err error)
}

// Webhook is an authorizer that asks a webhook. Answers are remembered, within bounds.
type Webhook struct {
	cfg        WebhookConfig
	match      *matcher // nil: all requests
	remembered answers
}

// NewWebhook returns a Webhook. It does not call the webhook, only compiles the conditions.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	if cfg.Version != ReviewV1 && cfg.Version != ReviewV1beta1 {
		return nil, fmt.Errorf("unsupported webhook authorizer version %q, supported versions are %q, %q",
			cfg.Version, ReviewV1, ReviewV1beta1)
	}
	match, err := newMatcher(cfg.Conditions)
	if err != nil {
		return nil, err
	}
	return &Webhook{cfg: cfg, match: match}, nil
}

// maxCachedSent bounds the part of a request that its sender chooses, in bytes. Answers about
// longer requests are not remembered, so that nobody can fill the cache with large keys.
// kube-apiserver has the same bound.
const maxCachedSent = 10_000

var errBoth = errors.New("webhook subject access review returned both allow and deny response")

// Authorize implements request.Authorizer.
func (w *Webhook) Authorize(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
	spec := specOf(a)
	if w.match != nil {
		begun := time.Now()
		matches, err := w.match.matches(ctx, &spec)
		if told := w.cfg.Events.Matched; told != nil {
			told(time.Since(begun), err == nil && !matches, err)
		}
		if err != nil {
			return w.cfg.OnError, "", err
		}
		if !matches {
			return request.NoOpinion, "", nil
		}
	}
	status, err := w.ask(ctx, a, spec)
	switch {
	case err != nil:
		if told := w.cfg.Events.FailedOpen; told != nil && w.cfg.OnError == request.NoOpinion && ctx.Err() == nil {
			told(err)
		}
		return w.cfg.OnError, "", err
	case status.Denied && status.Allowed:
		return request.Deny, status.Reason, errBoth
	case status.Denied:
		return request.Deny, status.Reason, nil
	case status.Allowed:
		return request.Allow, status.Reason, nil
	}
	return request.NoOpinion, status.Reason, nil
}

// ask returns the webhook's answer, a remembered one if possible. The key is a hash of the review's
// spec.
func (w *Webhook) ask(ctx context.Context, a *request.Attributes, spec reviewSpec) (reviewStatus, error) {
	version := "authorization.k8s.io/" + w.cfg.Version
	if w.cfg.Version == ReviewV1beta1 {
		spec.Groups, spec.Group = nil, spec.Groups
	}
	text, err := codec.AppendJSON(nil, &spec)
	if err != nil {
		return reviewStatus{}, err
	}
	key := sha256.Sum256(text)
	if status, ok := w.remembered.get(key, time.Now()); ok {
		return status, nil
	}
	var answer review
	if err := w.cfg.Hook.Call(ctx, &review{APIVersion: version, Kind: reviewKind, Spec: spec}, &answer); err != nil {
		return reviewStatus{}, err
	}
	if answer.Kind != reviewKind || answer.APIVersion != version {
		return reviewStatus{}, fmt.Errorf("the webhook's response is not a %s of %s", reviewKind, version)
	}
	ttl := w.cfg.UnauthorizedTTL
	if answer.Status.Allowed {
		ttl = w.cfg.AuthorizedTTL
	}
	if senderLength(a) < maxCachedSent {
		w.remembered.put(key, answer.Status, time.Now(), ttl)
	}
	return answer.Status, nil
}

// senderLength returns the length of what the sender chose.
func senderLength(a *request.Attributes) int {
	return len(a.Namespace) + len(a.Verb) + len(a.Group) + len(a.Version) + len(a.Resource) + len(a.Subresource) +
		len(a.Name) + len(a.Path)
}

// RulesFor implements request.RuleResolver. It has no rules and says so by an error, because there
// is no way to ask a webhook for rules.
func (w *Webhook) RulesFor(context.Context, *request.User, string) ([]rbacv1.PolicyRule, bool, error) {
	return nil, true, errors.New("webhook authorizer does not support user rule resolution")
}
