package encryption

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The checks of a configuration file, in kube-apiserver's words: an operator finds the same text in
// its documentation. Parse (config.go) calls validate.

// problems are the mistakes in a configuration, in kube-apiserver's words.
type problems []string

// required adds the problem of a missing value.
func (p *problems) required(path, detail string) {
	*p = append(*p, fmt.Sprintf("%s: Required value: %s", path, detail))
}

// invalid adds the problem of a wrong value. value is shown as JSON, or quoted if it is a string.
func (p *problems) invalid(path string, value any, detail string) {
	text, _ := json.Marshal(value) // value is a string, a number, a list of strings or raw JSON
	if s, ok := value.(string); ok {
		text = strconv.AppendQuote(nil, s)
	}
	*p = append(*p, fmt.Sprintf("%s: Invalid value: %s: %s", path, text, detail))
}

// err returns the problems as one error, each text once, or nil if there are none.
func (p problems) err() error {
	var each problems
	for _, text := range p {
		if !slices.Contains(each, text) {
			each = append(each, text)
		}
	}
	switch len(each) {
	case 0:
		return nil
	case 1:
		return errors.New(each[0])
	}
	return errors.New("[" + strings.Join(each, ", ") + "]")
}

const (
	// redacted stands for a secret in a message.
	redacted = "REDACTED"
	// noProvider is the text by which kube-apiserver shows an empty provider.
	noProvider = `{"AESGCM":null,"AESCBC":null,"Secretbox":null,"Identity":null,"KMS":null}`
)

var (
	aesSizes = []int{16, 24, 32}
	boxSizes = []int{32}
)

// validate returns the mistakes of a configuration whose defaults are filled in.
func (c *Config) validate() error {
	var found problems
	if len(c.rules) == 0 {
		found.required("resources", "at least one resources is required")
	}
	names := map[string]bool{} // of the plugins so far
	for i, r := range c.rules {
		path := fmt.Sprintf("resources[%d].resources", i)
		if len(r.Resources) == 0 {
			found.required(path, fmt.Sprintf("at least one %s is required", path))
		}
		found.overlaps(path, r.Resources)
		for j, name := range r.Resources {
			if detail := wrongResource(name); detail != "" {
				found.invalid(fmt.Sprintf("%s[%d]", path, j), name, detail)
			}
		}
		path = fmt.Sprintf("resources[%d].providers", i)
		if len(r.Providers) == 0 {
			found.required(path, fmt.Sprintf("at least one %s is required", path))
		}
		for j := range r.Providers {
			found.provider(fmt.Sprintf("%s[%d]", path, j), &r.Providers[j], names)
		}
	}
	return found.err()
}

// overlaps adds a problem if patterns of one list are the same or mask each other.
func (p *problems) overlaps(path string, resources []string) {
	var twice, masked bool
	for i, a := range resources {
		a := parsePattern(a)
		for j, b := range resources {
			b := parsePattern(b)
			switch {
			case i == j:
			case a == b && !twice:
				twice = true
			case a == everything, a.group == b.group && (a.resource == "*" || b.resource == "*"):
				masked = true
			}
		}
	}
	if twice {
		p.invalid(path, resources, "the same resource cannot be specified multiple times")
	}
	if masked {
		p.invalid(path, resources, "using overlapping resources such as 'secrets' and '*.' in the same resource "+
			"list is not allowed as they will be masked")
	}
}

// wrongResource returns what is wrong with the name of a resource, or "".
func wrongResource(name string) string {
	p := parsePattern(name)
	switch {
	case strings.ToLower(name) != name:
		return "resource name should not contain capital letters"
	case name == "*":
		return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
	case name == "apiserveripinfo", name == "serviceipallocations", name == "servicenodeportallocations":
		return "resources which do not have REST API/s cannot be encrypted"
	case p.group == "events.k8s.io":
		return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead " +
			"in the config file"
	case p.group == "extensions":
		return "'extensions' group has been removed and cannot be used for encryption"
	case p.group == "*" && p.resource != "*":
		return "encrypting the same resource across groups is not supported"
	}
	return ""
}

// provider adds the problems of one element of providers. names has the plugins of earlier
// elements, and gets this one.
func (p *problems) provider(path string, f *fileProvider, names map[string]bool) {
	n := 0
	for _, given := range []bool{f.KMS != nil, f.AESGCM != nil, f.AESCBC != nil, f.Secretbox != nil,
		f.Identity != nil} {
		if given {
			n++
		}
	}
	if n == 0 {
		p.invalid(path, json.RawMessage(noProvider), "provider does not contain any of the expected providers: "+
			"KMS, AESGCM, AESCBC, Secretbox, Identity")
	} else if n > 1 {
		p.invalid(path, redacted, "more than one provider specified in a single element, should split into "+
			"different list elements")
	}
	switch {
	case f.KMS != nil:
		p.plugin(path+".kms", f.KMS, names)
		names[f.KMS.Name] = true
	case f.AESGCM != nil:
		p.keys(path+".aesgcm.keys", f.AESGCM.Keys, aesSizes)
	case f.AESCBC != nil:
		p.keys(path+".aescbc.keys", f.AESCBC.Keys, aesSizes)
	case f.Secretbox != nil:
		p.keys(path+".secretbox.keys", f.Secretbox.Keys, boxSizes)
	}
}

// keys adds the problems of the keys of one method, whose secrets must have one of sizes bytes.
func (p *problems) keys(path string, keys []fileKey, sizes []int) {
	if len(keys) == 0 {
		p.required(path, "at least one keys is required")
	}
	for i, k := range keys {
		path := fmt.Sprintf("%s[%d]", path, i)
		if k.Name == "" {
			p.required(path+".name", "name is a mandatory field for a key")
		}
		if k.Secret == "" {
			p.required(path+".secret", "secret is a mandatory field for a key")
			continue
		}
		secret, err := base64.StdEncoding.DecodeString(k.Secret)
		switch {
		case err != nil:
			p.invalid(path+".secret", redacted, "secrets must be base64 encoded")
		case !slices.Contains(sizes, len(secret)):
			p.invalid(path+".secret", redacted, fmt.Sprintf("secret is not of the expected length, got %d, "+
				"expected one of %v", len(secret), sizes))
		}
	}
}

// plugin adds the problems of a KMS plugin's description.
func (p *problems) plugin(path string, k *fileKMS, names map[string]bool) {
	if k.Name == "" {
		p.required(path+".name", "name is a mandatory field for a provider")
	}
	if k.APIVersion != kmsV1 && strings.Contains(k.Name, ":") {
		p.invalid(path+".name", k.Name, fmt.Sprintf("invalid KMS provider name %s, must not contain ':'", k.Name))
	}
	if k.APIVersion != kmsV1 && names[k.Name] {
		p.invalid(path+".name", k.Name, fmt.Sprintf("duplicate KMS provider name %s, names must be unique", k.Name))
	}
	if *k.Timeout <= 0 {
		p.invalid(path+".timeout", time.Duration(*k.Timeout).String(), "timeout should be a positive value")
	}
	if u, err := url.Parse(k.Endpoint); k.Endpoint == "" {
		p.invalid(path+".endpoint", "", "endpoint is a mandatory field for a kms")
	} else if err != nil {
		p.invalid(path+".endpoint", k.Endpoint, fmt.Sprintf("invalid endpoint for kms provider, error: %v", err))
	} else if u.Scheme != "unix" {
		p.invalid(path+".endpoint", k.Endpoint, fmt.Sprintf("unsupported scheme %q for KMS provider, only unix "+
			"is supported", u.Scheme))
	}
	if k.APIVersion != kmsV1 && k.CacheSize != nil {
		p.invalid(path+".cachesize", *k.CacheSize, "cachesize is not supported in v2")
	}
	if k.APIVersion == kmsV1 && k.CacheSize != nil && *k.CacheSize == 0 {
		p.invalid(path+".cachesize", *k.CacheSize, "cachesize should be a positive value, or negative to disable")
	}
	if k.APIVersion != kmsV1 && k.APIVersion != kmsV2 {
		p.invalid(path+".apiVersion", k.APIVersion, "unsupported apiVersion apiVersion for KMS provider, only "+
			"v1 and v2 are supported")
	}
}
