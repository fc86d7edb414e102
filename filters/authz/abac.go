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

// This file is attribute-based access control: rules in a policy file
// (--authorization-policy-file), as in Kubernetes before RBAC.

// Policies are the lines of a policy file. Each line allows some users something.
type Policies []policy

// policy is what one line allows. An empty Namespace, Resource or APIGroup matches only requests
// without one; "*" matches all.
type policy struct {
	User            string `json:"user"`
	Group           string `json:"group"`
	Readonly        bool   `json:"readonly"`
	APIGroup        string `json:"apiGroup"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	NonResourcePath string `json:"nonResourcePath"`
}

// abacGroup is the API group of policies.
const abacGroup = "abac.authorization.kubernetes.io"

// ReadPolicyFile reads a policy file. A change of the file takes effect when the server restarts.
func ReadPolicyFile(path string) (Policies, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, err
	}
	return readPolicies(path, bytes.NewReader(data))
}

// readPolicies reads one policy in JSON from each line that is neither empty nor a comment ("#").
// path is for errors.
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

// readPolicy reads one policy: of version v1beta1, or of the older form, whose version is v0 or
// missing (fromV0). The user or group "*" becomes the group of all authenticated users.
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
		if versioned.Spec != nil { // "spec": null sets the pointer to nil
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

// fromV0 returns the v1beta1 form of a policy of version v0. In v0 an empty field means everything,
// except that a policy with a namespace or a resource allows no paths.
func (p policy) fromV0() policy {
	now := policy{
		User: p.User, Group: p.Group, Readonly: p.Readonly, APIGroup: "*", Resource: p.Resource, Namespace: p.Namespace,
	}
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

// Authorize implements request.Authorizer. It allows a if some policy does, and has no opinion
// otherwise.
func (list Policies) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	for i := range list {
		if p := &list[i]; p.isForUser(a.User) && (!p.Readonly || isReadVerb(a.Verb)) && p.coversTarget(a) {
			return request.Allow, "", nil
		}
	}
	return request.NoOpinion, "No policy matched.", nil
}

// isReadVerb reports whether a verb only reads.
func isReadVerb(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

// isForUser reports whether the policy is for the user.
func (p *policy) isForUser(u *request.User) bool {
	if u == nil || p.User == "" && p.Group == "" {
		return false
	}
	return (p.User == "" || p.User == "*" || p.User == u.Name) &&
		(p.Group == "" || p.Group == "*" || u.InGroup(p.Group))
}

// coversTarget reports whether the policy is for the resource or path of a.
func (p *policy) coversTarget(a *request.Attributes) bool {
	if a.IsResource {
		return covers(p.Namespace, a.Namespace) && covers(p.Resource, a.Resource) && covers(p.APIGroup, a.Group)
	}
	prefix, open := strings.CutSuffix(p.NonResourcePath, "*")
	return p.NonResourcePath == a.Path || open && strings.HasPrefix(a.Path, strings.TrimRight(prefix, "*"))
}

// covers reports whether a pattern, a value or "*", matches value.
func covers(pattern, value string) bool { return pattern == "*" || pattern == value }

// RulesFor implements request.RuleResolver. Resource rules come first, then rules for paths.
func (list Policies) RulesFor(
	_ context.Context, user *request.User, namespace string,
) ([]rbacv1.PolicyRule, bool, error) {
	var resources, paths []rbacv1.PolicyRule
	for i := range list {
		p := &list[i]
		if !p.isForUser(user) || !covers(p.Namespace, namespace) {
			continue
		}
		verbs := []string{"*"}
		if p.Readonly {
			verbs = []string{"get", "list", "watch"}
		}
		if p.Resource != "" {
			resources = append(resources, rbacv1.PolicyRule{
				Verbs: verbs, APIGroups: []string{p.APIGroup}, Resources: []string{p.Resource},
			})
		}
		if p.NonResourcePath != "" {
			paths = append(paths, rbacv1.PolicyRule{Verbs: verbs, NonResourceURLs: []string{p.NonResourcePath}})
		}
	}
	return slices.Concat(resources, paths), false, nil
}
