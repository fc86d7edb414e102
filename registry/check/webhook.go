package check

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// WebhookURL checks the URL of a webhook.
func WebhookURL(p *field.Path, text string) field.ErrorList {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Required(p, "url must be a valid URL: "+err.Error()+form)}
	}
	var errs field.ErrorList
	if u.Scheme != "https" {
		errs = append(errs, field.Invalid(p, u.Scheme, "'https' is the only allowed URL scheme"+form))
	}
	if u.Host == "" {
		errs = append(errs, field.Invalid(p, u.Host, "host must be specified"+form))
	}
	if u.User != nil {
		errs = append(errs, field.Invalid(p, u.User.String(), "user information is not permitted in the URL"))
	}
	if u.Fragment != "" {
		errs = append(errs, field.Invalid(p, u.Fragment, "fragments are not permitted in the URL"))
	}
	if u.RawQuery != "" {
		errs = append(errs, field.Invalid(p, u.RawQuery, "query parameters are not permitted in the URL"))
	}
	return errs
}

// WebhookService checks the service of a webhook. If the namespace is missing, the error names the
// field name, and vice versa: kube-apiserver passes the two in the wrong order.
func WebhookService(p *field.Path, namespace, name string, path *string, port *int32) field.ErrorList {
	errs := Required(p.Child("name"), namespace)
	errs = append(errs, Required(p.Child("namespace"), name)...)
	if port != nil {
		if msgs := names.IsValidPortNum(int(*port)); len(msgs) > 0 {
			errs = append(errs, field.Invalid(p.Child("port"), *port, "port is not valid: "+strings.Join(msgs, ", ")))
		}
	}
	if path != nil {
		errs = append(errs, webhookPath(p.Child("path"), *path)...)
	}
	return errs
}

// webhookPath checks a URL path whose segments must be DNS subdomains. A slash at the end is
// allowed.
func webhookPath(p *field.Path, path string) field.ErrorList {
	switch path {
	case "", "/":
		return nil
	case "//":
		return field.ErrorList{field.Invalid(p, path, "segment[0] may not be empty")}
	}
	var errs field.ErrorList
	if path[0] != '/' {
		errs = append(errs, field.Invalid(p, path, "must start with a '/'"))
	}
	// The first byte is skipped as if it were the slash, as in kube-apiserver.
	for i, step := range field.Each(&errs, strings.Split(strings.TrimSuffix(path[1:], "/"), "/")) {
		if *step == "" {
			errs = append(errs, field.Invalid(p, path, fmt.Sprintf("segment[%d] may not be empty", i)))
			continue
		}
		for _, msg := range names.IsDNS1123Subdomain(*step) {
			errs = append(errs, field.Invalid(p, path, fmt.Sprintf("segment[%d]: %s", i, msg)))
		}
	}
	return errs
}

// CABundle checks that bundle, which holds the certificates of the authorities that a webhook is
// verified by, has at least one certificate in PEM.
func CABundle(p *field.Path, bundle []byte) field.ErrorList {
	if x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, bundle, "unable to load root certificates: "+wrongCABundle(bundle))}
}

// wrongCABundle returns why no certificate can be read from a bundle.
func wrongCABundle(rest []byte) string {
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return "unable to parse bytes as PEM block"
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) != 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "failed to parse certificate: " + err.Error()
		}
	}
	return "no valid certificate authority data seen"
}

// reviews are the versions of AdmissionReview and ConversionReview in which this server can call a
// webhook.
var reviews = []string{"v1", "v1beta1"}

// KnownReview reports whether this server can call a webhook in a version of reviews.
func KnownReview(version string) bool { return slices.Contains(reviews, version) }

// ReviewVersions checks the review versions that a webhook accepts. missing is the message if the
// list is empty. At least one version must be known to this server (KnownReview), unless any is
// true.
func ReviewVersions(p *field.Path, versions []string, any bool, missing string) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(p, missing)}
	}
	var errs field.ErrorList
	seen := Duplicates{}
	for i, v := range field.Each(&errs, versions) {
		if !seen.Add(*v) {
			errs = append(errs, field.Invalid(p.Index(i), *v, "duplicate version"))
			continue
		}
		errs = append(errs, Invalid(p.Index(i), *v, names.IsDNS1035Label(*v))...)
	}
	if !any && !slices.ContainsFunc(versions, KnownReview) {
		errs = append(errs, field.Invalid(p, versions, "must include at least one of "+strings.Join(reviews, ", ")))
	}
	return errs
}
