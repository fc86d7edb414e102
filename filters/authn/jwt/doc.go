// Package jwt knows users by the tokens that other parties issue: OpenID Connect providers.
//
// A Config says which, as the AuthenticationConfiguration file of kube-apiserver does; Read reads one, Validate says what is wrong
// with it in kube-apiserver's words. New makes Authenticators of it, a set with one for each issuer.
//
// A token is for the authenticator of the issuer that it names. Its signature is verified with keys that the issuer publishes; then
// claims are mapped to a user, by name or by expressions, and rules about claims and user have their say. Nothing is believed of a
// token before its signature holds, but which issuer it names.
//
// Issuers are found by discovery, in the background and again and again until it succeeds: one may run in the cluster that is about to
// start. Until then its tokens are errors. What issuers answer is bounded, and so is how often they are asked: a flood of tokens with
// keys that nobody has makes one request a second.
//
// Not here: watching the file (server), caches (authn).
//
// Read: config.go, validate.go, expressions.go, values.go; issuer.go, claims.go, distributed.go, transport.go.
package jwt
