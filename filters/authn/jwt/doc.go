// Package jwt authenticates tokens of OpenID Connect providers.
//
// Words: an Issuer is a provider with its rules. A claim is a member of a token's payload. A
// mapping turns claims into a user. An expression is CEL over the claims or over the user.
// Discovery is fetching an issuer's metadata, which names the URL of its keys.
//
// Laws: a token is handled only by the authenticator of the issuer that it names. Nothing else in a
// token counts before its signature has been verified with the issuer's published keys. Then claims
// are mapped to a user, by name or by expressions, and rules about claims and user may refuse it.
// Issuers are discovered in the background, again and again until it succeeds, because an issuer
// may run in the cluster that is just starting; until then its tokens are errors. Responses of
// issuers are bounded in size and time, and keys are fetched at most once a second, however many
// tokens with unknown keys arrive.
//
// Package server reads a Config (Read), checks it (Validate, in kube-apiserver's words) and makes
// Authenticators of it (New). Not here: watching the configuration file (server) and caches of
// answers (authn.Cached).
//
// Read config.go, validate.go, expressions.go and values.go; then issuer.go, keyring.go, claims.go,
// distributed.go and transport.go.
package jwt
