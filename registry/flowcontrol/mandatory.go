package flowcontrol

import (
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// mandatorySchemas are the fixed specs of the mandatory schemas, by name. "exempt" has the requests
// of administrators, which are never limited. "catch-all" has all requests that no other schema
// matches. They are shared and must not be changed.
var mandatorySchemas = map[string]*flowcontrolv1.FlowSchemaSpec{
	flowcontrolv1.NameExempt: {
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.NameExempt},
		MatchingPrecedence:         1,
		Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{everything(groups("system:masters"))},
	},
	flowcontrolv1.NameCatchAll: {
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.NameCatchAll},
		MatchingPrecedence:         flowcontrolv1.MaxMatchingPrecedence,
		DistinguisherMethod: &flowcontrolv1.FlowDistinguisherMethod{
			Type: flowcontrolv1.FlowDistinguisherMethodByUserType,
		},
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{
			everything(groups(unauthenticated, authenticated)),
		},
	},
}

// The two groups that together have every user: each user is in exactly one.
const unauthenticated, authenticated = "system:unauthenticated", "system:authenticated"

// everything returns a rule that matches all requests of the subjects.
func everything(subjects []flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	all := []string{flowcontrolv1.All}
	return flowcontrolv1.PolicyRulesWithSubjects{
		Subjects: subjects,
		ResourceRules: []flowcontrolv1.ResourcePolicyRule{
			{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all},
		},
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
	}
}

// groups returns subjects that are groups.
func groups(names ...string) (subjects []flowcontrolv1.Subject) {
	for _, name := range names {
		subjects = append(subjects, flowcontrolv1.Subject{
			Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name},
		})
	}
	return subjects
}

// users returns subjects that are users.
func users(names ...string) (subjects []flowcontrolv1.Subject) {
	for _, name := range names {
		subjects = append(subjects, flowcontrolv1.Subject{
			Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name},
		})
	}
	return subjects
}

// checkMandatorySchema refuses any spec of a mandatory schema but the fixed one.
func checkMandatorySchema(fs *flowcontrolv1.FlowSchema) field.ErrorList {
	fixed := mandatorySchemas[fs.Name]
	if fixed == nil || scheme.Equal(&fs.Spec, fixed) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), govalue.JSON(&fs.Spec),
		"spec of '"+fs.Name+"' must equal the fixed value")}
}

// mandatoryLevels are the fixed specs of the mandatory levels, by name. They are shared and must
// not be changed.
var mandatoryLevels = map[string]*flowcontrolv1.PriorityLevelConfigurationSpec{
	flowcontrolv1.NameExempt: {Type: flowcontrolv1.PriorityLevelEnablementExempt},
	flowcontrolv1.NameCatchAll: {
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: new(int32(5)), LendablePercent: new(int32(0)),
			LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
		},
	},
}

// checkMandatoryLevel refuses another spec of a mandatory level. Administrators may only change the
// field exempt of the level "exempt": its shares, and how much of them other levels may borrow.
func checkMandatoryLevel(pl *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	spec, fixed, but := pl.Spec, mandatoryLevels[pl.Name], ""
	if pl.Name == flowcontrolv1.NameExempt {
		spec.Exempt, but = nil, " except the 'spec.exempt' field"
	}
	if fixed == nil || scheme.Equal(&spec, fixed) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), govalue.JSON(&pl.Spec),
		"spec of '"+pl.Name+"'"+but+" must equal the fixed value")}
}
