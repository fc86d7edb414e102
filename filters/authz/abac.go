package authz

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/configfile"
)

// Policies are the lines of a policy file: each allows something to some users (attribute-based access control).
type Policies []policy

// policy is what one line allows. A field that is "" matches what has none.
type policy struct {
	User            string `json:"user"`
	Group           string `json:"group"`
	Readonly        bool   `json:"readonly"`
	APIGroup        string `json:"apiGroup"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	NonResourcePath string `json:"nonResourcePath"`
}

// abacGroup is the group of the policies' API.
const abacGroup = "abac.authorization.kubernetes.io"

// ReadPolicyFile reads a policy file. It is read once: to change it, restart the server.
func ReadPolicyFile(path string) (Policies, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	return readPolicies(path, bytes.NewReader(data))
}

// readPolicies reads a policy in JSON from each line that is neither empty nor a comment.
func readPolicies(path string, r io.Reader) (Policies, error) {
	var list Policies
	scanner := bufio.NewScanner(r)
	for line := 1; scanner.Scan(); line++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		p, err := readPolicy(text)
		if err != nil {
			return nil, fmt.Errorf("error reading policy file %s, line %d: %s: %w", path, line, scanner.Bytes(), err)
		}
		list = append(list, p)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("error reading policy file %s: %w", path, err)
	}
	return list, nil
}

// readPolicy reads one policy: with a version, or of the time before there were any.
func readPolicy(text []byte) (policy, error) {
	var line struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := codec.DecodeJSON(text, &line); err != nil {
		return policy{}, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	var p policy
	switch {
	case line.Kind == "Policy" && line.APIVersion == abacGroup+"/v1beta1":
		versioned := struct {
			Spec *policy `json:"spec"`
		}{&p}
		if err := codec.DecodeJSON(text, &versioned); err != nil {
			return policy{}, err
		}
		if versioned.Spec != nil { // null empties it
			p = *versioned.Spec
		}
		if p.User == "*" || p.Group == "*" {
			p.User, p.Group = "", request.GroupAuthenticated
		}
		return p, nil
	case line.Kind != "" && line.Kind != "Policy", line.APIVersion != "" && line.APIVersion != abacGroup+"/v0":
		return policy{}, fmt.Errorf("no kind %q is registered for version %q", line.Kind, line.APIVersion)
	}
	if err := codec.DecodeJSON(text, &p); err != nil {
		return policy{}, err
	}
	return p.fromV0(), nil
}

// fromV0 is what a policy without a version means: what it leaves out is everything, but for non-resource paths, which it has not.
func (p policy) fromV0() policy {
	now := policy{User: p.User, Group: p.Group, Readonly: p.Readonly, APIGroup: "*", Resource: p.Resource, Namespace: p.Namespace}
	if p.User == "*" || p.Group == "*" || p.User == "" && p.Group == "" {
		now.User, now.Group = "", request.GroupAuthenticated
	}
	if p.Namespace == "" && p.Resource == "" {
		now.NonResourcePath = "*"
	}
	if p.Namespace == "" {
		now.Namespace = "*"
	}
	if p.Resource == "" {
		now.Resource = "*"
	}
	return now
}

// Authorize implements request.Authorizer: it looks for a policy that allows a.
func (list Policies) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	for i := range list {
		if p := &list[i]; p.concerns(a.User) && (!p.Readonly || reads(a.Verb)) && p.covers(a) {
			return request.Allow, "", nil
		}
	}
	return request.NoOpinion, "No policy matched.", nil
}

func reads(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

func (p *policy) concerns(u *request.User) bool {
	if u == nil || p.User == "" && p.Group == "" {
		return false
	}
	return (p.User == "" || p.User == "*" || p.User == u.Name) && (p.Group == "" || p.Group == "*" || u.InGroup(p.Group))
}

func (p *policy) covers(a *request.Attributes) bool {
	if a.IsResource {
		return covers(p.Namespace, a.Namespace) && covers(p.Resource, a.Resource) && covers(p.APIGroup, a.Group)
	}
	prefix, open := strings.CutSuffix(p.NonResourcePath, "*")
	return p.NonResourcePath == a.Path || open && strings.HasPrefix(a.Path, strings.TrimRight(prefix, "*"))
}

func covers(pattern, value string) bool { return pattern == "*" || pattern == value }

// RulesFor implements request.RuleResolver.
func (list Policies) RulesFor(_ context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, bool, error) {
	var resources, paths []rbacv1.PolicyRule
	for i := range list {
		p := &list[i]
		if !p.concerns(user) || !covers(p.Namespace, namespace) {
			continue
		}
		verbs := []string{"*"}
		if p.Readonly {
			verbs = []string{"get", "list", "watch"}
		}
		if p.Resource != "" {
			resources = append(resources, rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{p.APIGroup}, Resources: []string{p.Resource}})
		}
		if p.NonResourcePath != "" {
			paths = append(paths, rbacv1.PolicyRule{Verbs: verbs, NonResourceURLs: []string{p.NonResourcePath}})
		}
	}
	return slices.Concat(resources, paths), false, nil
}
