package jwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel"
)

// This file turns the claims of a verified token into a user (mapping.user): by claim names or by
// CEL expressions, as the Issuer says. issuer.go calls it.

var errNoClaim = errors.New("claim not present")

// read decodes a claim. Its error does not repeat the claim's value.
func (c claims) read(name string, to any) error {
	text, ok := c[name]
	if !ok {
		return errNoClaim
	}
	if err := json.Unmarshal(text, to); err != nil {
		return errors.New("the claim has another type")
	}
	return nil
}

// mapping turns the claims of a token into a user, by the rules of one issuer.
type mapping struct {
	*Issuer
	*compiled
}

// user returns the user of the claims, or an error if a rule refuses them. All expressions share
// one cost budget.
//
// The order of the steps decides which error a client sees if a token has several faults. It is
// kube-apiserver's: name, groups, uid, extra, required claims, rules about claims, rules about the
// user.
func (m *mapping) user(ctx context.Context, c claims) (*request.User, error) {
	budget := cel.ObjectBudget
	var shown *record
	if m.usesClaims() {
		shown = c.record()
	}
	user := new(request.User)
	var err error
	if user.Name, err = m.name(ctx, c, shown, &budget); err != nil {
		return nil, err
	}
	if user.Groups, err = m.groupsOf(ctx, c, shown, &budget); err != nil {
		return nil, err
	}
	if user.UID, err = m.uidOf(ctx, c, shown, &budget); err != nil {
		return nil, err
	}
	if user.Extra, err = m.extraOf(ctx, c, shown, &budget); err != nil {
		return nil, err
	}
	if err := m.required(c); err != nil {
		return nil, err
	}
	if err := holds(ctx, m.claimRules, shown, &budget); err != nil {
		return nil, fmt.Errorf("oidc: error evaluating claim validation expression: %w", err)
	}
	if len(m.userRules) > 0 {
		if err := holds(ctx, m.userRules, userRecord(user), &budget); err != nil {
			return nil, fmt.Errorf("oidc: error evaluating user info validation rule: %w", err)
		}
	}
	return user, nil
}

// string evaluates an expression, which must yield a string. what names it in errors.
func (e *expression) string(ctx context.Context, what string, value ref.Val, budget *cel.Budget) (string, error) {
	v, err := e.eval(ctx, value, budget)
	if err != nil {
		return "", fmt.Errorf("oidc: error evaluating %s claim expression: %w", what, err)
	}
	s, ok := v.(types.String)
	if !ok {
		return "", fmt.Errorf(
			"oidc: error evaluating %s claim expression: %s claim expression must return a string", what, what,
		)
	}
	return string(s), nil
}

// name returns the user name. c are the claims, and shown the same claims as expressions see them.
func (m *mapping) name(ctx context.Context, c claims, shown ref.Val, budget *cel.Budget) (name string, err error) {
	if m.username != nil {
		name, err = m.username.string(ctx, "username", shown, budget)
		if err == nil && name == "" {
			err = errors.New("oidc: empty username via CEL expression is not allowed")
		}
		return name, err
	}
	from := m.ClaimMappings.Username
	if err := c.read(from.Claim, &name); err != nil {
		return "", fmt.Errorf("oidc: parse username claims %q: %w", from.Claim, err)
	}
	if from.Claim == "email" {
		// An issuer need not send email_verified. If it does, the value must be true; null counts
		// as false.
		var verified bool
		err := c.read("email_verified", &verified)
		if err != nil && err != errNoClaim {
			return "", fmt.Errorf("oidc: parse 'email_verified' claim: %w", err)
		}
		if err == nil && !verified {
			return "", errors.New("oidc: email not verified")
		}
	}
	return prefixOf(from) + name, nil
}

// prefixOf returns the prefix of a mapping, "" if there is none.
func prefixOf(m PrefixedMapping) string {
	if m.Prefix == nil {
		return ""
	}
	return *m.Prefix
}

// listOrOne is a JSON list of strings, or a single string.
type listOrOne []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *listOrOne) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err == nil {
		*l = list
		return nil
	}
	var one string
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*l = listOrOne{one}
	return nil
}

// groupsOf returns the user's groups. A missing groups claim means none.
func (m *mapping) groupsOf(ctx context.Context, c claims, shown ref.Val, budget *cel.Budget) ([]string, error) {
	if m.groups != nil {
		v, err := m.groups.eval(ctx, shown, budget)
		if err != nil {
			return nil, fmt.Errorf("oidc: error evaluating group claim expression: %w", err)
		}
		groups, err := texts(v)
		if err != nil {
			return nil, fmt.Errorf("oidc: error evaluating group claim expression: %w", err)
		}
		return groups, nil
	}
	from := m.ClaimMappings.Groups
	if from.Claim == "" || c[from.Claim] == nil {
		return nil, nil
	}
	var groups listOrOne
	if err := c.read(from.Claim, &groups); err != nil {
		return nil, fmt.Errorf("oidc: parse groups claim %q: %w", from.Claim, err)
	}
	if p := prefixOf(from); p != "" {
		for i := range groups {
			groups[i] = p + groups[i]
		}
	}
	return groups, nil
}

// uidOf returns the user's uid.
func (m *mapping) uidOf(ctx context.Context, c claims, shown ref.Val, budget *cel.Budget) (uid string, err error) {
	if m.uid != nil {
		return m.uid.string(ctx, "uid", shown, budget)
	}
	claim := m.ClaimMappings.UID.Claim
	if claim == "" {
		return "", nil
	}
	if err := c.read(claim, &uid); err != nil {
		return "", fmt.Errorf("oidc: parse uid claim %q: %w", claim, err)
	}
	return uid, nil
}

// extraOf returns the user's extra: the results of expressions, and the token's id.
func (m *mapping) extraOf(
	ctx context.Context, c claims, shown ref.Val, budget *cel.Budget,
) (all map[string][]string, err error) {
	add := func(key string, values ...string) {
		if all == nil {
			all = map[string][]string{}
		}
		all[key] = values
	}
	var id string
	if err := c.read("jti", &id); err == nil && id != "" {
		add(authn.CredentialID, "JTI="+id)
	}
	for _, e := range m.extra {
		v, err := e.eval(ctx, shown, budget)
		if err != nil {
			return nil, err
		}
		values, err := texts(v)
		if err != nil {
			return nil, fmt.Errorf("oidc: error evaluating extra claim expression: %s: %w", e.text, err)
		}
		if len(values) > 0 {
			add(e.key, values...)
		}
	}
	return all, nil
}

// required checks the rules that require a claim to have a value.
func (m *mapping) required(c claims) error {
	for _, r := range m.ClaimValidationRules {
		if r.Claim == "" {
			continue
		}
		if c[r.Claim] == nil {
			return fmt.Errorf("oidc: required claim %s not present in ID token", r.Claim)
		}
		var value string
		if err := c.read(r.Claim, &value); err != nil {
			return fmt.Errorf("oidc: parse claim %s: %w", r.Claim, err)
		}
		if value != r.RequiredValue {
			return fmt.Errorf("oidc: required claim %s value does not match", r.Claim)
		}
	}
	return nil
}
