package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// ClusterRoleAggregation writes the rules of each ClusterRole that has an aggregationRule, such as
// admin, edit and view: the union of the rules of all ClusterRoles that its selectors match.
//
// Kubernetes' clusterrole-aggregation-controller has a queue entry for each aggregating role, and
// queues all of them at every change. Here one entry stands for all roles. While some role cannot
// be read, the loop adds rules to aggregating roles but removes none.
type ClusterRoleAggregation struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

// aggregationManager is the field manager that owns the aggregated rules. It has Kubernetes' name,
// so that a kube-controller-manager on the same store owns the same fields.
const aggregationManager = "clusterrole-aggregation-controller"

var clusterRoleResource = rbacv1.GroupVersion.WithResource("clusterroles")

// clusterRole is the part of a ClusterRole that aggregation needs.
type clusterRole struct {
	Labels     map[string]string
	Rules      []rbacv1.PolicyRule
	Aggregates *rbacv1.AggregationRule // if it is nil, users write the rules, and the loop leaves them alone
}

// Run keeps the rules until ctx ends.
func (c *ClusterRoleAggregation) Run(ctx context.Context) {
	roles := controller.InformerOf(c.Informers, clusterRoleResource, func(r *rbacv1.ClusterRole) *clusterRole {
		return &clusterRole{Labels: r.Labels, Rules: r.Rules, Aggregates: r.AggregationRule}
	})
	// Any change may alter which labels match, so each change adds the same empty name: the queue
	// merges them, and fill looks at all roles. Roles are few, and most changes need no write.
	source := roles.Source(
		func(controller.Name, *clusterRole, *clusterRole) []controller.Name { return []controller.Name{{}} })
	controller.Loop{
		Name:   "ClusterRoleAggregator",
		Source: source,
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) {
			return 0, c.fill(ctx, roles)
		},
		After: []controller.Syncer{roles}, Log: c.Log,
	}.Run(ctx)
}

// fill writes the rules of every aggregating role whose rules differ from the union. If the write
// of one role fails, fill goes on with the others. If a role aggregates another aggregating role,
// it gets the new rules of the other in the next call, which the write of the other causes.
func (c *ClusterRoleAggregation) fill(ctx context.Context, roles *controller.Informer[clusterRole]) error {
	all := roles.Snapshot()
	names := make([]controller.Name, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b controller.Name) int { return cmp.Compare(a.Name, b.Name) })
	var errs []error
	for _, name := range names {
		role := all[name]
		if role.Aggregates == nil {
			continue
		}
		rules, err := selectRules(role.Aggregates, name, names, all)
		if roles.HiddenErr() != nil {
			// The selectors may match the hidden role, and any rule may come from it.
			rules = addRules(rules, role.Rules)
		}
		if err == nil && !sameRules(rules, role.Rules) {
			err = c.apply(ctx, name, rules)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// selectRules returns the rules of the roles that an aggregationRule selects, without those of
// self, the aggregating role. The order is that of Kubernetes, so that two servers do not overwrite
// each other's order in turns: selector after selector, the roles of one selector by name, and each
// rule only the first time.
func selectRules(
	of *rbacv1.AggregationRule, self controller.Name, names []controller.Name, all map[controller.Name]*clusterRole,
) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for i := range of.ClusterRoleSelectors {
		selector, err := meta.SelectorFrom(&of.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if name == self || !selector.Matches(meta.Set(all[name].Labels)) {
				continue
			}
			rules = addRules(rules, all[name].Rules)
		}
	}
	return rules, nil
}

// addRules appends to rules each rule of more that rules does not contain yet.
func addRules(rules, more []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	for i := range more {
		if !slices.ContainsFunc(rules, func(other rbacv1.PolicyRule) bool { return scheme.Equal(&other, &more[i]) }) {
			rules = append(rules, more[i])
		}
	}
	return rules
}

func sameRules(a, b []rbacv1.PolicyRule) bool {
	return slices.EqualFunc(a, b, func(a, b rbacv1.PolicyRule) bool { return scheme.Equal(&a, &b) })
}

// apply replaces the rules of a role by server-side apply, with force. The field is atomic, so
// another manager that has set the rules loses them. If there are no rules, the applied
// configuration lacks the field, which removes it from the role.
func (c *ClusterRoleAggregation) apply(ctx context.Context, name controller.Name, rules []rbacv1.PolicyRule) error {
	config := map[string]any{
		"apiVersion": rbacv1.GroupVersion.String(), "kind": "ClusterRole",
		"metadata": map[string]string{"name": name.Name},
	}
	if len(rules) > 0 {
		config["rules"] = rules
	}
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	force := true
	_, err = client.For[*rbacv1.ClusterRole](c.Informers.Client(), clusterRoleResource).
		Patch(ctx, name.Name, client.ApplyPatch, body,
			meta.PatchOptions{FieldManager: aggregationManager, Force: &force})
	return err
}
