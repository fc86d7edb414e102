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

// ClusterRoleAggregation fills in the rules of cluster roles that have an aggregation rule: those
// of all that it selects.
type ClusterRoleAggregation struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

// aggregationManager owns the rules that are filled in.
const aggregationManager = "clusterrole-aggregation-controller"

var clusterRoleResource = rbacv1.GroupVersion.WithResource("clusterroles")

// clusterRole is what there is to know of one.
type clusterRole struct {
	Labels     map[string]string
	Rules      []rbacv1.PolicyRule
	Aggregates *rbacv1.AggregationRule
}

// Run works until ctx ends.
func (c *ClusterRoleAggregation) Run(ctx context.Context) {
	roles := controller.InformerOf(c.Informers, clusterRoleResource, func(r *rbacv1.ClusterRole) *clusterRole {
		return &clusterRole{Labels: r.Labels, Rules: r.Rules, Aggregates: r.AggregationRule}
	})
	// Roles are few, and who depends on whom is for labels to say: all are looked at whenever one
	// changes.
	source := roles.Source(func(controller.Name, *clusterRole, *clusterRole) []controller.Name { return []controller.Name{{}} })
	controller.Loop{
		Source:    source,
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) { return 0, c.fill(ctx, roles) },
		After:     []controller.Syncer{roles}, Log: c.Log,
	}.Run(ctx)
}

// fill brings all roles that aggregate up to date with what is known.
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
		if roles.HiddenErr() != nil { // a role that cannot be read may be one of those selected: what came from it stays
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

// selectRules returns the rules of the other roles that an aggregation rule selects, each rule
// once, by selector and name.
func selectRules(of *rbacv1.AggregationRule, self controller.Name, names []controller.Name, all map[controller.Name]*clusterRole) ([]rbacv1.PolicyRule, error) {
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

// addRules adds more rules, except those that are there.
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

// apply makes rules those of a role. Whoever else has set them loses them.
func (c *ClusterRoleAggregation) apply(ctx context.Context, name controller.Name, rules []rbacv1.PolicyRule) error {
	config := map[string]any{
		"apiVersion": rbacv1.GroupVersion.String(), "kind": "ClusterRole", "metadata": map[string]string{"name": name.Name},
	}
	if len(rules) > 0 {
		config["rules"] = rules
	}
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	force := true
	_, err = client.For[*rbacv1.ClusterRole](c.Informers.Client(), clusterRoleResource).Patch(ctx, name.Name, client.ApplyPatch, body,
		meta.PatchOptions{FieldManager: aggregationManager, Force: &force})
	return err
}
