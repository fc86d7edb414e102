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

// Caller posts in as JSON to a webhook and decodes its answer into out.
type Caller interface {
	Call(ctx context.Context, in, out any) error
}

// WebhookConfig says how a webhook is asked.
type WebhookConfig struct {
	// Hook is whom to ask, Version the version of the SubjectAccessReview in which.
	Hook    Caller
	Version string
	// AuthorizedTTL and UnauthorizedTTL say how long an answer counts: one that allows, and any other. 0: it is asked each time.
	AuthorizedTTL, UnauthorizedTTL time.Duration
	// OnError is the decision if there is no answer, or a condition cannot be judged: NoOpinion or Deny.
	OnError request.Decision
	// Conditions are expressions that must all be true of a request about which the webhook is asked.
	Conditions []string
	// Events are told what happens.
	Events WebhookEvents
}

// WebhookEvents are told what happens at a webhook. Each may be nil, and must not block.
type WebhookEvents struct {
	// FailedOpen: there was no answer, and the decision is that of others.
	FailedOpen func(err error)
	// Matched: conditions have been judged.
	Matched func(took time.Duration, excluded bool, err error)
}

// Webhook asks somebody else, who answers with a SubjectAccessReview. Answers are remembered, within bounds.
type Webhook struct {
	cfg   WebhookConfig
	match *matcher // nil: all requests
	known answers
}

// NewWebhook returns a Webhook. It does not ask anybody yet.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	if cfg.Version != ReviewV1 && cfg.Version != ReviewV1beta1 {
		return nil, fmt.Errorf("unsupported webhook authorizer version %q, supported versions are %q, %q", cfg.Version, ReviewV1, ReviewV1beta1)
	}
	match, err := newMatcher(cfg.Conditions)
	if err != nil {
		return nil, err
	}
	return &Webhook{cfg: cfg, match: match}, nil
}

// maxCachedSent bounds what of a request's attributes its sender chooses, in bytes, for an answer to be remembered.
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

// ask returns the answer to a question, maybe one that was given before.
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
	if status, ok := w.known.get(key, time.Now()); ok {
		return status, nil
	}
	var answer review
	if err := w.cfg.Hook.Call(ctx, &review{APIVersion: version, Kind: reviewKind, Spec: spec}, &answer); err != nil {
		return reviewStatus{}, err
	}
	if answer.Kind != reviewKind || answer.APIVersion != version {
		return reviewStatus{}, fmt.Errorf("the webhook's answer is no %s of %s", reviewKind, version)
	}
	ttl := w.cfg.UnauthorizedTTL
	if answer.Status.Allowed {
		ttl = w.cfg.AuthorizedTTL
	}
	if sentBy(a) < maxCachedSent {
		w.known.put(key, answer.Status, time.Now(), ttl)
	}
	return answer.Status, nil
}

func sentBy(a *request.Attributes) int {
	return len(a.Namespace) + len(a.Verb) + len(a.Group) + len(a.Version) + len(a.Resource) + len(a.Subresource) + len(a.Name) + len(a.Path)
}

// RulesFor implements request.RuleResolver: nobody can ask a webhook for rules.
func (w *Webhook) RulesFor(context.Context, *request.User, string) ([]rbacv1.PolicyRule, bool, error) {
	return nil, true, errors.New("webhook authorizer does not support user rule resolution")
}
