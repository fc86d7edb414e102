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

// An impersonator decides who may be served as whom. There are five modes, asked in turn; the first that allows it decides, and the
// first refusal is what the client is told.
//
// Four of them are constrained: to be a user in one takes the right to impersonate:MODE each thing that makes the user (users, groups,
// uids, userextras, serviceaccounts, nodes of the group authentication.k8s.io), and the right to impersonate-on:MODE:VERB what the
// request is for. The last is the classic one: who may impersonate a user, with groups, may do everything that these may.
//
// Who has impersonated in a mode is asked in that first the next time, so that the others cost nothing for long.
type impersonator struct {
	may     request.Authorizer
	metrics *impersonationMetrics
	last    [lastModes]atomic.Uint64 // by the hash of the user's name: the rest of that, and the place of a mode counted from 1
}

// lastModes is for how many users it is remembered in which mode they impersonate; a multiple of 8.
const lastModes = 512

// manyToAsk is from how many groups or values on it is asked first in constrained modes whether all of them are allowed.
const manyToAsk = 4

// groupAuthentication is the API group of what is impersonated, users and groups of the classic mode apart.
const groupAuthentication = "authentication.k8s.io"

// extraNodeKeys says in a service account's extra which keys there are.
const extraNodeKeys = "authentication.kubernetes.io/associated-node-keys"

// impersonationMode is one way to be served as somebody else.
type impersonationMode struct {
	name string // "" of the classic one
	// fits reports whether it is about such a user.
	fits func(wanted, by *request.User) bool
	// anyNode: it is about a node that the user belongs to, whichever that is, and the rights are the same for all nodes.
	anyNode bool
}

var impersonationModes = [...]*impersonationMode{
	{name: "associated-node", fits: isOwnNode, anyNode: true},
	{name: "arbitrary-node", fits: func(wanted, _ *request.User) bool { return onlyNamed(wanted) && isNode(wanted) }},
	{name: "serviceaccount", fits: func(wanted, _ *request.User) bool { return onlyNamed(wanted) && isServiceAccount(wanted) }},
	{name: "user-info", fits: func(wanted, _ *request.User) bool { return !isNode(wanted) && !isServiceAccount(wanted) }},
	{fits: func(_, _ *request.User) bool { return true }},
}

func newImpersonator(may request.Authorizer, reg prometheus.Registerer) *impersonator {
	return &impersonator{may: may, metrics: newImpersonationMetrics(reg)}
}

// constraint is the verb by which a user is allowed to be another, "" if that is the classic one.
func (m *impersonationMode) constraint() string {
	if m.name == "" {
		return ""
	}
	return m.verb()
}

func (m *impersonationMode) verb() string {
	if m.name == "" {
		return "impersonate"
	}
	return "impersonate:" + m.name
}

// label is what metrics call the mode; nil stands for none.
func (m *impersonationMode) label() string {
	switch {
	case m == nil:
		return ""
	case m.name == "":
		return "legacy"
	}
	return m.name
}

// judge returns the user that the request of info is to be served as, who is wanted by its user, and the mode that allows it. The
// error says what is missing.
func (i *impersonator) judge(ctx context.Context, wanted *request.User, info *request.Info) (*request.User, *impersonationMode, error) {
	c := &claim{impersonator: i, ctx: ctx}
	var refused error
	try := func(m *impersonationMode) *request.User {
		if !m.fits(wanted, info.User) {
			return nil
		}
		user, err := c.check(m, wanted, info)
		if refused == nil {
			refused, c.told = err, err != nil
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
	return nil, nil, refused // the classic mode is for everybody
}

// lastMode is the one in which the user of a hash has impersonated, nil if that is not known.
func (i *impersonator) lastMode(hash uint64) *impersonationMode {
	known := i.last[hash%lastModes].Load()
	if known&7 == 0 || known&^7 != hash&^7 {
		return nil
	}
	return impersonationModes[known&7-1]
}

// hashOf is FNV-1a. Two names with one hash do no more harm than that a mode is asked too early.
func hashOf(name string) uint64 {
	hash := uint64(14695981039346656037)
	for n := range len(name) {
		hash = (hash ^ uint64(name[n])) * 1099511628211
	}
	return hash
}

// claim is what a user has to be allowed, in one mode after the other.
type claim struct {
	*impersonator
	ctx      context.Context
	told     bool // why it is refused is known, and what other modes say of that is nobody's business
	mode     *impersonationMode
	by       *request.User
	question request.Attributes // what is being asked
}

// check asks for everything that a mode demands, and returns the user that wanted stands for.
func (c *claim) check(m *impersonationMode, wanted *request.User, info *request.Info) (*request.User, error) {
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

// name asks for the user by name, and returns its groups, those that follow from the name included.
func (c *claim) name(user *request.User) ([]string, error) {
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

func (c *claim) groups(groups []string) error {
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

func (c *claim) extra(extra map[string][]string) error {
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

// checkExtra says what nobody can be in a constrained mode.
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

// about is the question whether the user may be something. It holds until the next one.
func (c *claim) about(resource, name string) *request.Attributes {
	c.question = request.Attributes{
		User: c.by, Verb: c.mode.verb(), IsResource: true, Group: groupAuthentication, Version: "v1", Resource: resource, Name: name,
	}
	return &c.question
}

// identity is about for what has been impersonated since before there was a group for it.
func (c *claim) identity(resource, name string) *request.Attributes {
	a := c.about(resource, name)
	if c.mode.name == "" {
		a.Group = ""
	}
	return a
}

// ask returns why a is not allowed. That it cannot be found out is no other answer.
func (c *claim) ask(a *request.Attributes) error {
	began := time.Now()
	decision, reason, err := c.may.Authorize(c.ctx, a)
	c.metrics.questions.took(c.mode, decision == request.Allow, time.Since(began))
	switch {
	case decision == request.Allow:
		return nil
	case c.told:
		return errTold
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

// errTold stands for an error that nobody is told.
var errTold = errors.New("another mode has been refused before")

func onlyNamed(u *request.User) bool { return u.UID == "" && len(u.Groups) == 0 && len(u.Extra) == 0 }

func isNode(u *request.User) bool {
	_, ok := request.NodeOf(u.Name)
	return ok
}

func isServiceAccount(u *request.User) bool {
	_, _, ok := request.ServiceAccountOf(u.Name)
	return ok
}

// isOwnNode reports whether wanted is the node that the pod runs on which has got the service account's token.
func isOwnNode(wanted, by *request.User) bool {
	node, ok := request.NodeOf(wanted.Name)
	on := by.Extra[request.ExtraNodeName]
	return ok && onlyNamed(wanted) && isServiceAccount(by) && len(on) == 1 && on[0] == node
}

// withoutNode is a user of whom nothing is told that differs from node to node.
func withoutNode(u *request.User) *request.User {
	keys := slices.Sorted(maps.Keys(u.Extra))
	return &request.User{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: map[string][]string{extraNodeKeys: keys}}
}
