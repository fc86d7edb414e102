package jwt

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks a Config, in kube-apiserver's words, and compiles its expressions on the way.
// Validate and New call compile.

// maxIssuers is kube-apiserver's bound on the number of issuers.
const maxIssuers = 64

// Validate returns what is wrong with c. disallowed are issuers whose tokens another authenticator
// handles.
func Validate(c *Config, disallowed []string) field.ErrorList {
	_, errs := compile(c, disallowed)
	return errs
}

// compile is Validate that also returns the compiled expressions of each issuer, in the order of c.
// The expressions are complete only if there are no errors.
func compile(c *Config, disallowed []string) (all []*compiled, errs field.ErrorList) {
	root := field.NewPath("jwt")
	if len(c.JWT) > maxIssuers {
		return nil, field.ErrorList{field.TooMany(root, len(c.JWT), maxIssuers)}
	}
	disallowed = slices.Sorted(slices.Values(disallowed))
	urls, discoveryURLs := map[string]bool{}, map[string]bool{}
	for i := range c.JWT {
		path := root.Index(i)
		x := &compiler{out: new(compiled)}
		x.issuer(&c.JWT[i], disallowed, path)
		all, errs = append(all, x.out), append(errs, x.errs...)
		source := &c.JWT[i].Issuer
		if urls[source.URL] {
			errs = append(errs, field.Duplicate(path.Child("issuer", "url"), source.URL))
		}
		urls[source.URL] = true
		if source.DiscoveryURL == "" {
			continue
		}
		if discoveryURLs[source.DiscoveryURL] {
			errs = append(errs, field.Duplicate(path.Child("issuer", "discoveryURL"), source.DiscoveryURL))
		}
		discoveryURLs[source.DiscoveryURL] = true
	}
	if a := c.Anonymous; a != nil && !a.Enabled && len(a.Conditions) > 0 {
		type shown struct{ Path string } // the error prints it as kube-apiserver does
		conditions := make([]shown, len(a.Conditions))
		for i, c := range a.Conditions {
			conditions[i] = shown(c)
		}
		errs = append(errs, field.Invalid(field.NewPath("anonymous", "conditions"), conditions,
			"enabled should be set to true when conditions are defined"))
	}
	return all, errs
}

// compiler checks one issuer and compiles its expressions. Its methods append to errs.
//
// It does not stop at the first error, so that an operator sees all mistakes of a file at once.
type compiler struct {
	out  *compiled
	errs field.ErrorList
	// email and verified report which claims the expressions use. An expression that makes the
	// e-mail address the user name requires another one to look at email_verified.
	email, verified bool
}

// fail adds an error.
func (x *compiler) fail(err *field.Error) { x.errs = append(x.errs, err) }

// issuer checks an issuer.
func (x *compiler) issuer(i *Issuer, disallowed []string, path *field.Path) {
	x.source(&i.Issuer, disallowed, path.Child("issuer"))
	x.claimRules(i.ClaimValidationRules, path.Child("claimValidationRules"))
	x.mappings(&i.ClaimMappings, path.Child("claimMappings"))
	x.userRules(i.UserValidationRules, path.Child("userValidationRules"))
}

// source checks where an issuer is and which audiences it has.
func (x *compiler) source(s *Source, disallowed []string, path *field.Path) {
	if s.URL == "" {
		x.fail(field.Required(path.Child("url"), ""))
	} else {
		x.url(s.URL, disallowed, path.Child("url"))
	}
	if s.DiscoveryURL != "" {
		at := path.Child("discoveryURL")
		if s.URL != "" && strings.TrimRight(s.URL, "/") == strings.TrimRight(s.DiscoveryURL, "/") {
			x.fail(field.Invalid(at, s.DiscoveryURL, "discoveryURL must be different from URL"))
		}
		x.url(s.DiscoveryURL, nil, at)
	}
	x.audiences(s, path)
	if s.CertificateAuthority != "" {
		if _, err := authorities(s.CertificateAuthority); err != nil {
			x.fail(field.Invalid(path.Child("certificateAuthority"), "<omitted>", err.Error()))
		}
	}
	switch s.EgressSelectorType {
	case "", "controlplane", "cluster":
	default:
		x.fail(field.Invalid(path.Child("egressSelectorType"), s.EgressSelectorType,
			"egress selector must be either controlplane or cluster"))
	}
}

// url checks the URL of an issuer.
func (x *compiler) url(text string, disallowed []string, path *field.Path) {
	if slices.Contains(disallowed, text) {
		x.fail(field.Invalid(path, text, fmt.Sprintf("URL must not overlap with disallowed issuers: %s", disallowed)))
	}
	u, err := url.Parse(text)
	if err != nil {
		x.fail(field.Invalid(path, text, err.Error()))
		return
	}
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{u.Scheme != "https", "URL scheme must be https"},
		{u.User != nil, "URL must not contain a username or password"},
		{u.RawQuery != "", "URL must not contain a query"},
		{u.Fragment != "", "URL must not contain a fragment"},
	} {
		if rule.broken {
			x.fail(field.Invalid(path, text, rule.says))
		}
	}
}

// audiences checks the audiences and the policy by which they match.
func (x *compiler) audiences(s *Source, path *field.Path) {
	at, policy := path.Child("audiences"), path.Child("audienceMatchPolicy")
	if len(s.Audiences) == 0 {
		x.fail(field.Required(at, fmt.Sprintf("at least one %s is required", at)))
		return
	}
	for i, a := range s.Audiences {
		if a == "" {
			x.fail(field.Required(at.Index(i), ""))
		}
		if slices.Contains(s.Audiences[:i], a) {
			x.fail(field.Duplicate(at.Index(i), a))
		}
	}
	switch {
	case s.AudienceMatchPolicy == matchAny:
	case len(s.Audiences) > 1:
		x.fail(
			field.Invalid(policy, s.AudienceMatchPolicy, "audienceMatchPolicy must be MatchAny for multiple audiences"),
		)
	case s.AudienceMatchPolicy != "":
		x.fail(field.Invalid(
			policy, s.AudienceMatchPolicy, "audienceMatchPolicy must be empty or MatchAny for single audience",
		))
	}
}

// authorities returns a pool of the certificates in PEM text.
func authorities(text string) (*x509.CertPool, error) {
	all, err := pki.ParseCertificates([]byte(text))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("data does not contain any valid RSA or ECDSA certificates")
	}
	pool := x509.NewCertPool()
	for _, c := range all {
		pool.AddCert(c)
	}
	return pool, nil
}

// claimRules checks and compiles the rules about claims.
func (x *compiler) claimRules(rules []ClaimRule, path *field.Path) {
	claims, expressions := map[string]bool{}, map[string]bool{}
	for i := range rules {
		r, at := &rules[i], path.Index(i)
		switch {
		case r.Claim != "" && r.Expression != "":
			x.fail(field.Invalid(at, r.Claim, "claim and expression can't both be set"))
		case r.Claim == "" && r.Expression == "":
			x.fail(field.Required(at, "claim or expression is required"))
		case r.Claim != "":
			if r.Message != "" {
				x.fail(field.Invalid(at.Child("message"), r.Message, "may not be specified when claim is set"))
			}
			if claims[r.Claim] {
				x.fail(field.Duplicate(at.Child("claim"), r.Claim))
			}
			claims[r.Claim] = true
		default:
			if r.RequiredValue != "" {
				x.fail(field.Invalid(
					at.Child("requiredValue"), r.RequiredValue, "may not be specified when expression is set",
				))
			}
			if expressions[r.Expression] {
				x.fail(field.Duplicate(at.Child("expression"), r.Expression))
				continue
			}
			expressions[r.Expression] = true
			if e := x.expression(aboutClaims, r.Expression, true, at.Child("expression")); e != nil {
				x.out.claimRules = append(x.out.claimRules, rule{e, r.Message})
				x.verified = x.verified || e.verified
			}
		}
	}
}

// mappings checks and compiles the mappings.
func (x *compiler) mappings(m *Mappings, path *field.Path) {
	before := len(x.errs)
	x.out.username = x.prefixed(&m.Username, true, path.Child("username"))
	if e := x.out.username; e != nil && len(x.errs) == before {
		x.email, x.verified = e.email, x.verified || e.verified
	}
	x.out.groups = x.prefixed(&m.Groups, false, path.Child("groups"))
	switch {
	case m.UID.Claim != "" && m.UID.Expression != "":
		x.fail(field.Invalid(path.Child("uid"), "", "claim and expression can't both be set"))
	case m.UID.Expression != "":
		x.out.uid = x.expression(aboutClaims, m.UID.Expression, false, path.Child("uid", "expression"))
	}
	x.extra(m.Extra, path.Child("extra"))
	if x.email && !x.verified {
		x.fail(field.Invalid(path.Child("username", "expression"), m.Username.Expression,
			"claims.email_verified must be used in claimMappings.username.expression or "+
				"claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "+
				"claims.email is used in claimMappings.username.expression"))
	}
}

// prefixed checks a mapping of the user name or the groups, and compiles its expression.
func (x *compiler) prefixed(m *PrefixedMapping, required bool, path *field.Path) *expression {
	switch {
	case m.Expression != "" && m.Claim != "":
		x.fail(field.Invalid(path, "", "claim and expression can't both be set"))
	case m.Expression == "" && m.Claim == "" && required:
		x.fail(field.Required(path, "claim or expression is required"))
	case m.Expression != "":
		if m.Prefix != nil {
			x.fail(field.Invalid(path.Child("prefix"), *m.Prefix, "may not be specified when expression is set"))
		}
		return x.expression(aboutClaims, m.Expression, false, path.Child("expression"))
	case m.Claim != "" && m.Prefix == nil:
		x.fail(field.Required(path.Child("prefix"),
			"prefix is required when claim is set. It can be set to an empty string to disable prefixing"))
	}
	return nil
}

// extra checks and compiles the mappings of extra.
func (x *compiler) extra(mappings []ExtraMapping, path *field.Path) {
	seen := map[string]bool{}
	for i := range mappings {
		m, at := &mappings[i], path.Index(i)
		x.extraKey(m.Key, at.Child("key"))
		if seen[m.Key] {
			x.fail(field.Duplicate(at.Child("key"), m.Key))
			continue
		}
		seen[m.Key] = true
		if m.ValueExpression == "" {
			x.fail(field.Required(at.Child("valueExpression"), ""))
			continue
		}
		if e := x.expression(aboutClaims, m.ValueExpression, false, at.Child("valueExpression")); e != nil {
			x.out.extra = append(x.out.extra, extra{m.Key, e})
			x.verified = x.verified || e.verified
		}
	}
}

// pathPattern is the pattern of the path in a key of extra.
const pathPattern = `[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`

var pathRule = regexp.MustCompile("^" + pathPattern + "$")

// extraKey requires a key of extra to be a path with a domain before it, and not a domain of
// Kubernetes.
func (x *compiler) extraKey(key string, path *field.Path) {
	domain, rest, found := strings.Cut(key, "/")
	switch {
	case key == "":
		x.fail(field.Required(path, ""))
	case domain == "" || rest == "":
		x.fail(field.Invalid(path, key, `must be a domain-prefixed path (such as "acme.io/foo")`))
	default:
		for _, says := range names.IsDNS1123Subdomain(domain) {
			x.fail(field.Invalid(path, domain, says))
		}
		if !pathRule.MatchString(rest) {
			x.fail(field.Invalid(path, rest, names.PatternError("Invalid path", pathPattern)))
		}
	}
	if key != strings.ToLower(key) {
		x.fail(field.Invalid(path, key, "must be lowercase"))
	}
	if found && (isWithin(domain, "kubernetes.io") || isWithin(domain, "k8s.io")) {
		x.fail(field.Invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"))
	}
}

// isWithin reports whether domain is of or a subdomain of it.
func isWithin(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

// userRules checks and compiles the rules about the user.
func (x *compiler) userRules(rules []ExpressionRule, path *field.Path) {
	seen := map[string]bool{}
	for i := range rules {
		r, at := &rules[i], path.Index(i).Child("expression")
		switch {
		case r.Expression == "":
			x.fail(field.Required(at, ""))
		case seen[r.Expression]:
			x.fail(field.Duplicate(at, r.Expression))
		default:
			seen[r.Expression] = true
			if e := x.expression(aboutUser, r.Expression, true, at); e != nil {
				x.out.userRules = append(x.out.userRules, rule{e, r.Message})
			}
		}
	}
}
