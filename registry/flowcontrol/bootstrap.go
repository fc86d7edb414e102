package flowcontrol

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
)

// AutoUpdate is the annotation that says who owns the spec of a schema or level: "true" lets the
// server restore its own version of the spec, "false" leaves the spec to the administrator.
const AutoUpdate = "apf.kubernetes.io/autoupdate-spec"

// Set is a set of priority levels and flow schemas. Its schemas may refer to levels of another Set.
type Set struct {
	Levels  []*flowcontrolv1.PriorityLevelConfiguration
	Schemas []*flowcontrolv1.FlowSchema
}

// Mandatory returns the mandatory schemas and levels, as they are created. The caller owns them: no
// two calls share anything.
func Mandatory() Set {
	exempt := scheme.DeepCopy(*mandatoryLevels[flowcontrolv1.NameExempt])
	exempt.Exempt = &flowcontrolv1.ExemptPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(0)),
		LendablePercent: new(int32(0))}
	return Set{
		Levels: []*flowcontrolv1.PriorityLevelConfiguration{
			newLevel(flowcontrolv1.NameExempt, exempt),
			newLevel(flowcontrolv1.NameCatchAll, scheme.DeepCopy(*mandatoryLevels[flowcontrolv1.NameCatchAll])),
		},
		Schemas: []*flowcontrolv1.FlowSchema{
			newSchema(flowcontrolv1.NameExempt, scheme.DeepCopy(*mandatorySchemas[flowcontrolv1.NameExempt])),
			newSchema(flowcontrolv1.NameCatchAll, scheme.DeepCopy(*mandatorySchemas[flowcontrolv1.NameCatchAll])),
		},
	}
}

// Suggested returns the suggested schemas and levels, as they are created: those of Kubernetes
// 1.36. The caller owns them, but the objects of one call share slices of subjects and rules, so it
// must copy an object before it changes such parts.
func Suggested() Set {
	const byUser, byNamespace = flowcontrolv1.FlowDistinguisherMethodByUserType,
		flowcontrolv1.FlowDistinguisherMethodByNamespaceType
	all := []string{flowcontrolv1.All}
	nodes, everybody := groups("system:nodes"), groups(unauthenticated, authenticated)
	managers, schedulers := users("system:kube-controller-manager"), users("system:kube-scheduler")
	systemAccounts := flowcontrolv1.Subject{
		Kind:           flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: "kube-system", Name: flowcontrolv1.All},
	}
	leases := func(verbs ...string) flowcontrolv1.ResourcePolicyRule {
		return flowcontrolv1.ResourcePolicyRule{
			Verbs: verbs, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Namespaces: all,
		}
	}
	return Set{
		Levels: []*flowcontrolv1.PriorityLevelConfiguration{
			newQueuedLevel("system", 30, 33, 64, 6),
			newQueuedLevel("node-high", 40, 25, 64, 6),
			newQueuedLevel("leader-election", 10, 0, 16, 4),
			newQueuedLevel("workload-high", 40, 50, 128, 6),
			newQueuedLevel("workload-low", 100, 90, 128, 6),
			newQueuedLevel("global-default", 20, 50, 128, 6),
		},
		Schemas: []*flowcontrolv1.FlowSchema{
			newRuleSchema("system-nodes", "system", 500, byUser, everything(nodes)),
			newRuleSchema("system-node-high", "node-high", 400, byUser, flowcontrolv1.PolicyRulesWithSubjects{
				Subjects: nodes,
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{
					{Verbs: all, APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Namespaces: all,
						ClusterScope: true},
					leases(all...),
				},
			}),
			newRuleSchema("probes", flowcontrolv1.NameExempt, 2, "", flowcontrolv1.PolicyRulesWithSubjects{
				Subjects: everybody,
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{
					{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/readyz", "/livez"}},
				},
			}),
			newRuleSchema("system-leader-election", "leader-election", 100, byUser,
				flowcontrolv1.PolicyRulesWithSubjects{
					Subjects:      append(append(managers, schedulers...), systemAccounts),
					ResourceRules: []flowcontrolv1.ResourcePolicyRule{leases("get", "create", "update")},
				}),
			newRuleSchema("kube-controller-manager", "workload-high", 800, byNamespace, everything(managers)),
			newRuleSchema("kube-scheduler", "workload-high", 800, byNamespace, everything(schedulers)),
			newRuleSchema("kube-system-service-accounts", "workload-high", 900, byNamespace,
				everything([]flowcontrolv1.Subject{systemAccounts})),
			newRuleSchema("service-accounts", "workload-low", 9000, byUser,
				everything(groups("system:serviceaccounts"))),
			newRuleSchema("global-default", "global-default", 9900, byUser, everything(everybody)),
		},
	}
}

// newQueuedLevel returns a level of the type Limited whose requests wait. shares is its weight,
// lendable is in percent, and hand is the number of queues that a flow uses. A queue holds 50
// requests.
func newQueuedLevel(name string, shares, lendable, queues, hand int32) *flowcontrolv1.PriorityLevelConfiguration {
	return newLevel(name, flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: &shares, LendablePercent: &lendable,
			LimitResponse: flowcontrolv1.LimitResponse{
				Type:    flowcontrolv1.LimitResponseTypeQueue,
				Queuing: &flowcontrolv1.QueuingConfiguration{Queues: queues, HandSize: hand, QueueLengthLimit: 50},
			},
		},
	})
}

// newLevel returns a level whose spec the server keeps.
func newLevel(name string,
	spec flowcontrolv1.PriorityLevelConfigurationSpec) *flowcontrolv1.PriorityLevelConfiguration {
	l := &flowcontrolv1.PriorityLevelConfiguration{Spec: spec}
	l.Name, l.Annotations = name, map[string]string{AutoUpdate: "true"}
	return l
}

// newRuleSchema returns a schema with one rule. "" as method makes all its requests one flow.
func newRuleSchema(name, level string, precedence int32, method flowcontrolv1.FlowDistinguisherMethodType,
	rules flowcontrolv1.PolicyRulesWithSubjects) *flowcontrolv1.FlowSchema {
	spec := flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
		MatchingPrecedence:         precedence, Rules: []flowcontrolv1.PolicyRulesWithSubjects{rules},
	}
	if method != "" {
		spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: method}
	}
	return newSchema(name, spec)
}

// newSchema returns a schema whose spec the server keeps.
func newSchema(name string, spec flowcontrolv1.FlowSchemaSpec) *flowcontrolv1.FlowSchema {
	fs := &flowcontrolv1.FlowSchema{Spec: spec}
	fs.Name, fs.Annotations = name, map[string]string{AutoUpdate: "true"}
	return fs
}
