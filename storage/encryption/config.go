package encryption

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config is an EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted, and how.
type Config struct {
	rules []rule
}

// rule is one element of the file's resources, with its patterns in order.
type rule struct {
	patterns []pattern
	chain    Chain
}

// pattern matches resources of a group; "*" matches all of either.
type pattern struct{ resource, group string }

func (p pattern) matches(group, resource string) bool {
	return (p.group == "*" || p.group == group) && (p.resource == "*" || p.resource == resource)
}

// For returns the chain for a resource: that of the first rule with a pattern that matches, nil if there is none.
// The core group is "".
func (c *Config) For(group, resource string) Chain {
	if c == nil {
		return nil
	}
	for _, r := range c.rules {
		for _, p := range r.patterns {
			if p.matches(group, resource) {
				return r.chain
			}
		}
	}
	return nil
}

// file is the layout of the configuration file.
type file struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Resources  []struct {
		Resources []string       `yaml:"resources"`
		Providers []fileProvider `yaml:"providers"`
	} `yaml:"resources"`
}

type fileProvider struct {
	AESGCM    *fileKeys `yaml:"aesgcm"`
	AESCBC    *fileKeys `yaml:"aescbc"`
	Secretbox *fileKeys `yaml:"secretbox"`
	Identity  *struct{} `yaml:"identity"`
	KMS       yaml.Node `yaml:"kms"`
}

type fileKeys struct {
	Keys []struct {
		Name   string `yaml:"name"`
		Secret string `yaml:"secret"` // base64
	} `yaml:"keys"`
}

// Parse reads a configuration file, YAML or JSON. The error names every mistake in it.
func Parse(data []byte) (*Config, error) {
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return nil, fmt.Errorf("encryption configuration: %w", err)
	}
	if f.Kind != "EncryptionConfiguration" || f.APIVersion != "apiserver.config.k8s.io/v1" {
		return nil, fmt.Errorf("encryption configuration: got %q of %q, want EncryptionConfiguration of apiserver.config.k8s.io/v1", f.Kind, f.APIVersion)
	}
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
	c := &Config{}
	if len(f.Resources) == 0 {
		bad("resources", "at least one element is required")
	}
	for i, r := range f.Resources {
		path := fmt.Sprintf("resources[%d]", i)
		out := rule{}
		if len(r.Resources) == 0 {
			bad(path+".resources", "at least one resource is required")
		}
		for j, name := range r.Resources {
			p, err := parsePattern(name)
			if err == nil {
				err = c.masked(p, out.patterns)
			}
			if err != nil {
				bad(fmt.Sprintf("%s.resources[%d]", path, j), "%q: %v", name, err)
				continue
			}
			out.patterns = append(out.patterns, p)
		}
		if len(r.Providers) == 0 {
			bad(path+".providers", "at least one provider is required")
		}
		for j, p := range r.Providers {
			providers := p.build(fmt.Sprintf("%s.providers[%d]", path, j), bad)
			out.chain = append(out.chain, providers...)
		}
		c.rules = append(c.rules, out)
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("encryption configuration: %w", errors.Join(errs...))
	}
	return c, nil
}

// parsePattern reads "resource", "resource.group", "*.", "*.group" or "*.*".
func parsePattern(s string) (pattern, error) {
	resource, group, dotted := strings.Cut(s, ".")
	switch {
	case s == "*":
		return pattern{}, errors.New(`use "*." for the core group or "*.*" for everything`)
	case resource == "", dotted && group == "" && resource != "*":
		return pattern{}, errors.New("want resource, resource.group, *., *.group or *.*")
	case strings.ContainsAny(s, "/ \t"):
		return pattern{}, errors.New("want a resource, without subresource")
	case resource != "*" && strings.Contains(resource, "*"), group != "*" && strings.Contains(group, "*"):
		return pattern{}, errors.New("* stands for a whole name only")
	case group == "*" && resource != "*":
		return pattern{}, errors.New("a resource in all groups cannot be chosen; want *.*")
	}
	return pattern{resource, group}, nil
}

// masked reports a pattern that could never be the first to match.
func (c *Config) masked(p pattern, same []pattern) error {
	for _, r := range append(c.rules, rule{patterns: same}) {
		for _, q := range r.patterns {
			if (q.group == "*" || q.group == p.group) && (q.resource == "*" || q.resource == p.resource) {
				return fmt.Errorf("has no effect, an earlier element matches all of it")
			}
		}
	}
	return nil
}

// build returns one Provider per key, and reports mistakes through bad.
func (p fileProvider) build(path string, bad func(path, format string, args ...any)) Chain {
	n := 0
	var out Chain
	add := func(kind string, keys *fileKeys, build func(name string, secret []byte) (Provider, error)) {
		if keys == nil {
			return
		}
		n++
		if len(keys.Keys) == 0 {
			bad(path+"."+kind+".keys", "at least one key is required")
		}
		seen := map[string]bool{}
		for i, k := range keys.Keys {
			kpath := fmt.Sprintf("%s.%s.keys[%d]", path, kind, i)
			secret, err := base64.StdEncoding.DecodeString(k.Secret)
			switch {
			case k.Name == "", strings.Contains(k.Name, ":"):
				bad(kpath+".name", "%q: want a name without a colon", k.Name)
			case seen[k.Name]:
				bad(kpath+".name", "%q: there is another key of this name", k.Name)
			case k.Secret == "":
				bad(kpath+".secret", "a secret is required")
			case err != nil:
				bad(kpath+".secret", "not valid base64") // without the cause, which quotes the secret
			default:
				provider, err := build(k.Name, secret)
				if err != nil {
					bad(kpath+".secret", "%d bytes: %v", len(secret), err)
				}
				out = append(out, provider)
			}
			seen[k.Name] = true
		}
	}
	add("aesgcm", p.AESGCM, AESGCM)
	add("aescbc", p.AESCBC, AESCBC)
	add("secretbox", p.Secretbox, Secretbox)
	if p.Identity != nil {
		n++
		out = append(out, Identity())
	}
	if !p.KMS.IsZero() {
		n++
		bad(path+".kms", "KMS plugins are not supported; use aesgcm or secretbox")
	}
	if n != 1 {
		bad(path, "want exactly one of aesgcm, aescbc, secretbox and identity, got %d", n)
	}
	return out
}
