package filters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file decides about impersonation, as KEP-5284 (constrained impersonation) defines it.
// Impersonate calls decide for each request with Impersonate-* headers.

// impersonator decides who may be served as whom. There are five modes, which are tried in turn.
// The first mode that allows the impersonation decides, and the first refusal is what the client is
// told.
//
// Four modes are constrained: to be served as a user in mode MODE, the sender needs the right to
// impersonate:MODE each thing that makes up the user (users, groups, uids, userextras,
// serviceaccounts, nodes of the group authentication.k8s.io), and the right to
// impersonate-on:MODE:VERB what the request is for. The last mode is the legacy one: the sender
// needs only the right to impersonate the user and its groups, and may then do everything that they
// may.
//
// The mode in which a user impersonated last is tried first the next time, so the other modes cost
// nothing for most requests.
type impersonator struct {
	may     request.Authorizer
	metrics *impersonationMetrics
	// last remembers the mode in which a user impersonated last, at the user name's hash modulo
	// lastModes: the hash, with its last 3 bits replaced by the mode's index plus 1.
	last [lastModes]atomic.Uint64
}

// lastModes is the number of users whose last impersonation mode is remembered. It is a multiple of
// 8, because the last 3 bits of a hash are not kept.
const lastModes = 512

// If a request names at least manyToAsk groups or extra values, a constrained mode first asks
// whether all of them ("*") are allowed, and asks for each only if they are not.
const manyToAsk = 4

// groupAuthentication is the API group of everything that is impersonated, except users and groups
// in the legacy mode.
const groupAuthentication = "authentication.k8s.io"

// extraNodeKeys is a key in extra whose values are the keys of the service account's own extra; see
// withoutNode.
const extraNodeKeys = "authentication.kubernetes.io/associated-node-keys"

// impersonationMode is one way to be served as another user.
type impersonationMode struct {
	name string // "" for the legacy mode
	// fits reports whether the mode is for this combination of users.
	fits func(wanted, by *request.User) bool
	// anyNode says that the mode is for the node that the sender runs on. The sender needs the same
	// right for any node, so the question names "*" instead of the node.
	anyNode bool
}

// impersonationModes are the modes in the order in which they are tried.
var impersonationModes = [...]*impersonationMode{
	{name: "associated-node", fits: isOwnNode, anyNode: true},
	{name: "arbitrary-node", fits: func(wanted, _ *request.User) bool { return onlyNamed(wanted) && isNode(wanted) }},
	{name: "serviceaccount", fits: func(wanted, _ *request.User) bool {
		return onlyNamed(wanted) && isServiceAccount(wanted)
	}},
	{name: "user-info", fits: func(wanted, _ *request.User) bool {
		return !isNode(wanted) && !isServiceAccount(wanted)
	}},
	{fits: func(_, _ *request.User) bool { return true }},
}

// newImpersonator returns an impersonator that asks may.
func newImpersonator(may request.Authorizer, reg prometheus.Registerer) *impersonator {
	return &impersonator{may: may, metrics: newImpersonationMetrics(reg)}
}

// constraint returns the verb that allowed a constrained impersonation, and "" for the legacy
// mode; see request.Info.
func (m *impersonationMode) constraint() string {
	if m.name == "" {
		return ""
	}
	return m.verb()
}

// verb returns the verb that the sender needs for each thing that makes up the user.
func (m *impersonationMode) verb() string {
	if m.name == "" {
		return "impersonate"
	}
	return "impersonate:" + m.name
}

// label returns the mode's name in metrics; "" for nil, which means no mode.
func (m *impersonationMode) label() string {
	switch {
	case m == nil:
		return ""
	case m.name == "":
		return "legacy"
	}
	return m.name
}

// decide decides whether info's user may be served as wanted. It returns the user to serve the
// request as and the mode that allowed it, or the error for the client.
func (i *impersonator) decide(
	ctx context.Context, wanted *request.User, info *request.Info,
) (*request.User, *impersonationMode, error) {
	c := &impersonationCheck{impersonator: i, ctx: ctx}
	var refused error
	try := func(m *impersonationMode) *request.User {
		if !m.fits(wanted, info.User) {
			return nil
		}
		user, err := c.check(m, wanted, info)
		if refused == nil {
			refused, c.clientTold = err, err != nil
		}
		return user
	}
	hash := hashOf(info.User.Name)
	last := i.lastMode(hash)
	if last != nil {
		if user := try(last); user != nil {
			return user, last, nil
		}
	}
	for n, m := range impersonationModes {
		if m == last {
			continue
		}
		if user := try(m); user != nil {
			i.last[hash%lastModes].Store(hash&^7 | uint64(n+1))
			return user, m, nil
		}
	}
	return nil, nil, refused // not nil: the legacy mode fits every user, and has refused
}

// lastMode returns the mode in which the user with this hash impersonated last, nil if it is not
// remembered.
func (i *impersonator) lastMode(hash uint64) *impersonationMode {
	stored := i.last[hash%lastModes].Load()
	if stored&7 == 0 || stored&^7 != hash&^7 {
		return nil
	}
	return impersonationModes[stored&7-1]
}

// hashOf is FNV-1a. If two names have one hash, the only harm is that the wrong mode is tried
// first.
func hashOf(name string) uint64 {
	hash := uint64(14695981039346656037)
	for n := range len(name) {
		hash = (hash ^ uint64(name[n])) * 1099511628211
	}
	return hash
}

// impersonationCheck is one decision about one request. In one mode after the other it asks the
// authorizer for every right that the sender needs.
type impersonationCheck struct {
	*impersonator
	ctx        context.Context
	clientTold bool // an earlier mode has refused, and its error is for the client; later ones need no text
	mode       *impersonationMode
	by         *request.User
	question   request.Attributes // the question being asked; reused for the next one
}

// check asks for everything that mode m demands, and returns the user to serve the request as.
func (c *impersonationCheck) check(
	m *impersonationMode, wanted *request.User, info *request.Info,
) (*request.User, error) {
	c.mode, c.by = m, info.User
	if m.anyNode {
		c.by = withoutNode(info.User)
	}
	if m.name != "" {
		c.question = info.Attributes
		c.question.User, c.question.Verb = c.by, "impersonate-on:"+m.name+":"+info.Verb
		if err := c.ask(&c.question); err != nil {
			return nil, err
		}
	}
	groups, err := c.name(wanted)
	if err != nil {
		return nil, err
	}
	if wanted.UID != "" {
		if err := c.ask(c.about("uids", wanted.UID)); err != nil {
			return nil, err
		}
	}
	if err := c.groups(wanted.Groups); err != nil {
		return nil, err
	}
	if err := c.extra(wanted.Extra); err != nil {
		return nil, err
	}
	user := *wanted
	user.Groups = groups
	group := request.GroupAuthenticated
	if user.Name == request.AnonymousUser || user.InGroup(request.GroupUnauthenticated) {
		group = request.GroupUnauthenticated
	}
	if !user.InGroup(group) {
		user.Groups = append(slices.Clip(user.Groups), group)
	}
	return &user, nil
}

// name asks for the user by name. It returns the user's groups, including those that follow from
// the name.
func (c *impersonationCheck) name(user *request.User) ([]string, error) {
	groups := user.Groups
	a := c.identity("users", user.Name)
	if node, ok := request.NodeOf(user.Name); ok && c.mode.name != "" {
		a.Resource, a.Name = "nodes", node
		if c.mode.anyNode {
			a.Name = "*"
		}
		groups = []string{request.GroupNodes}
	}
	if namespace, name, ok := request.ServiceAccountOf(user.Name); ok {
		a.Resource, a.Namespace, a.Name = "serviceaccounts", namespace, name
		if len(groups) == 0 {
			groups = request.ServiceAccountGroups(namespace)
		}
	}
	return groups, c.ask(a)
}

// groups asks for each group. A constrained mode asks for all at once first if there are manyToAsk
// groups or more, and never allows system:masters or an empty group.
func (c *impersonationCheck) groups(groups []string) error {
	if len(groups) == 0 {
		return nil
	}
	a := c.identity("groups", "")
	if c.mode.name != "" {
		if slices.Contains(groups, "") {
			return request.Forbidden(a, "impersonating the empty string group is not allowed")
		}
		if slices.Contains(groups, request.GroupMasters) {
			a.Name = request.GroupMasters
			return request.Forbidden(a, "impersonating the system:masters group is not allowed")
		}
		if len(groups) >= manyToAsk {
			if a.Name = "*"; c.ask(a) == nil {
				return nil
			}
		}
	}
	for _, group := range groups {
		a.Name = group
		if err := c.ask(a); err != nil {
			return err
		}
	}
	return nil
}

// extra asks for each value of extra. A constrained mode refuses some keys and values outright
// (checkExtra), and asks for all at once first if there are manyToAsk values or more. The legacy
// mode asks for any key and value, one by one.
func (c *impersonationCheck) extra(extra map[string][]string) error {
	if len(extra) == 0 {
		return nil
	}
	a := c.about("userextras", "")
	if c.mode.name != "" {
		values := 0
		for _, key := range slices.Sorted(maps.Keys(extra)) {
			if err := checkExtra(key, extra[key]); err != nil {
				return request.Forbidden(a, err.Error())
			}
			values += len(extra[key])
		}
		if values >= manyToAsk {
			if a.Subresource, a.Name = "*", "*"; c.ask(a) == nil {
				return nil
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		a.Subresource = key
		for _, value := range extra[key] {
			a.Name = value
			if err := c.ask(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkExtra returns an error for a key with values in extra that no constrained mode allows.
func checkExtra(key string, values []string) error {
	if key == "" {
		return errors.New("impersonating the empty string key in extra is not allowed")
	}
	if err := meta.ValidateDomainPath(key, field.NewPath("extra", "key")).ToAggregate(); err != nil {
		return fmt.Errorf("impersonating an invalid key in extra is not allowed: %w", err)
	}
	if key != strings.ToLower(key) {
		return fmt.Errorf("impersonating a non-lowercase key in extra is not allowed: %q", key)
	}
	if slices.Contains(values, "") {
		return errors.New("impersonating the empty string value in extra is not allowed")
	}
	return nil
}

// about returns the question whether the sender may be something. It is valid until the next call
// of about.
func (c *impersonationCheck) about(resource, name string) *request.Attributes {
	c.question = request.Attributes{
		User: c.by, Verb: c.mode.verb(), IsResource: true, Group: groupAuthentication, Version: "v1",
		Resource: resource, Name: name,
	}
	return &c.question
}

// identity is about for users and groups. In the legacy mode, which is older than the group
// authentication.k8s.io, they are in the group "".
func (c *impersonationCheck) identity(resource, name string) *request.Attributes {
	a := c.about(resource, name)
	if c.mode.name == "" {
		a.Group = ""
	}
	return a
}

// ask returns nil if a is allowed, otherwise the error for the client. An authorizer's own error is
// a refusal, too.
func (c *impersonationCheck) ask(a *request.Attributes) error {
	began := time.Now()
	decision, reason, err := c.may.Authorize(c.ctx, a)
	c.metrics.questions.took(c.mode, decision == request.Allow, time.Since(began))
	switch {
	case decision == request.Allow:
		return nil
	case c.clientTold:
		return errClientTold
	}
	if err != nil {
		var status *meta.StatusError
		if errors.As(err, &status) && status.Status.Code == http.StatusForbidden {
			return err
		}
		if reason != "" {
			reason = ": " + reason
		}
		reason = err.Error() + reason
	}
	return request.Forbidden(a, reason)
}

// errClientTold takes the place of a refusal whose text nobody needs, because the client is told
// the first refusal only.
var errClientTold = errors.New("another mode has been refused before")

// onlyNamed reports whether a user consists of nothing but a name.
func onlyNamed(u *request.User) bool { return u.UID == "" && len(u.Groups) == 0 && len(u.Extra) == 0 }

// isNode reports whether u has the name of a node.
func isNode(u *request.User) bool {
	_, ok := request.NodeOf(u.Name)
	return ok
}

// isServiceAccount reports whether u has the name of a service account.
func isServiceAccount(u *request.User) bool {
	_, _, ok := request.ServiceAccountOf(u.Name)
	return ok
}

// isOwnNode reports whether wanted is a node, and by a service account whose token is bound to a
// pod on that node.
func isOwnNode(wanted, by *request.User) bool {
	node, ok := request.NodeOf(wanted.Name)
	on := by.Extra[request.ExtraNodeName]
	return ok && onlyNamed(wanted) && isServiceAccount(by) && len(on) == 1 && on[0] == node
}

// withoutNode returns u with the keys of extra alone, because the values differ from node to node.
// So one rule can allow the service account on all nodes.
func withoutNode(u *request.User) *request.User {
	keys := slices.Sorted(maps.Keys(u.Extra))
	return &request.User{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: map[string][]string{extraNodeKeys: keys}}
}
