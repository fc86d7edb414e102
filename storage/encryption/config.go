package encryption

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The configuration file: its layout, its defaults and its errors. Parse is called at the start of
// the server and when the file changes; Config.Open (set.go) makes a Set of the result.

// Config is an EncryptionConfiguration (apiserver.config.k8s.io/v1): it says which resources are
// encrypted, and how. It is immutable.
type Config struct {
	rules []fileRule
}

// file is the layout of the configuration file.
type file struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Resources  []fileRule `yaml:"resources"`
}

// fileRule is one element of the file's resources.
type fileRule struct {
	Resources []string       `yaml:"resources"`
	Providers []fileProvider `yaml:"providers"`
}

// fileProvider is one element of providers. Exactly one of its fields is set in a valid file.
type fileProvider struct {
	AESGCM    *fileKeys `yaml:"aesgcm"`
	AESCBC    *fileKeys `yaml:"aescbc"`
	Secretbox *fileKeys `yaml:"secretbox"`
	Identity  *struct{} `yaml:"identity"`
	KMS       *fileKMS  `yaml:"kms"`
}

// fileKeys are the keys of one method. The first writes.
type fileKeys struct {
	Keys []fileKey `yaml:"keys"`
}

// fileKey is one key and its name, which is stored beside each value.
type fileKey struct {
	Name   string `yaml:"name"`
	Secret string `yaml:"secret"` // base64
}

// fileKMS describes a KMS plugin.
type fileKMS struct {
	APIVersion string    `yaml:"apiVersion"`
	Name       string    `yaml:"name"`
	CacheSize  *int32    `yaml:"cachesize"`
	Endpoint   string    `yaml:"endpoint"`
	Timeout    *duration `yaml:"timeout"`
}

// duration is a time.Duration in the notation of Go, as in Kubernetes: "3s".
type duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	*d = duration(parsed)
	return err
}

// These are the versions of the interface of KMS plugins.
const (
	kmsV1 = "v1"
	kmsV2 = "v2"
)

// defaultTimeout bounds one call of a KMS plugin if the file gives no timeout.
const defaultTimeout = duration(3 * time.Second)

// setDefaults fills in the version and the timeout.
func (k *fileKMS) setDefaults() {
	if k.APIVersion == "" {
		k.APIVersion = kmsV1
	}
	if k.Timeout == nil {
		timeout := defaultTimeout
		k.Timeout = &timeout
	}
}

// Parse reads a configuration file, in YAML or JSON. Its error names every mistake in the file, in
// kube-apiserver's words, and quotes no secret.
func Parse(data []byte) (*Config, error) {
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return nil, fmt.Errorf("error while parsing file: %w", withoutValues(err))
	}
	if f.Kind != "EncryptionConfiguration" || f.APIVersion != "apiserver.config.k8s.io/v1" {
		return nil, fmt.Errorf("error while parsing file: got %q of %q, "+
			"want EncryptionConfiguration of apiserver.config.k8s.io/v1", f.Kind, f.APIVersion)
	}
	for _, r := range f.Resources {
		for _, p := range r.Providers {
			if p.KMS != nil {
				p.KMS.setDefaults()
			}
		}
	}
	c := &Config{rules: f.Resources}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("error while parsing file: %w", err)
	}
	if err := c.buildable(); err != nil {
		return nil, fmt.Errorf("error while building transformers: %w", err)
	}
	return c, nil
}

// withoutValues removes from a decoder's error the values that it quotes from the file, which may
// be secrets.
func withoutValues(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return err
	}
	lines := make([]string, len(wrong.Errors))
	for i, text := range wrong.Errors {
		before, rest, quoted := strings.Cut(text, "`")
		if _, after, ends := strings.Cut(rest, "` "); quoted && ends {
			text = before + after
		}
		lines[i] = text
	}
	return errors.New(strings.Join(lines, "; "))
}

// pattern matches resources of a group. "*" as the resource or the group matches all.
type pattern struct{ resource, group string }

// everything is the pattern "*.*".
var everything = pattern{"*", "*"}

// parsePattern reads "resource", "resource.group", "*." (the core group), "*.group" or "*.*".
func parsePattern(s string) pattern {
	resource, group, _ := strings.Cut(s, ".")
	return pattern{resource, group}
}

// String returns the pattern as it is written in a file.
func (p pattern) String() string {
	if p.group == "" && p.resource != "*" {
		return p.resource
	}
	return p.resource + "." + p.group
}

// buildable returns an error if the configuration is well-formed but cannot be used, because it has
// KMS v1 or a rule that an earlier rule masks.
func (c *Config) buildable() error {
	seen := map[pattern]bool{}
	for _, r := range c.rules {
		for _, p := range r.Providers {
			if p.KMS != nil && p.KMS.APIVersion == kmsV1 {
				//lint:ignore ST1005 these are kube-apiserver's words
				return errors.New("KMSv1 is deprecated and will only receive security updates going forward. " +
					"Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.")
			}
		}
		for _, name := range r.Resources {
			p := parsePattern(name)
			for _, earlier := range []pattern{{"*", p.group}, everything} {
				if seen[earlier] {
					return fmt.Errorf("resource %q is masked by earlier rule %q", p, earlier)
				}
			}
			seen[p] = true
		}
	}
	return nil
}
