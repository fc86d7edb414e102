package flowcontrol

import (
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// mandatorySchemas are, by name, the schemas that cannot be otherwise: requests of administrators
// are never limited, and what no other schema is about has a place.
var mandatorySchemas = map[string]*flowcontrolv1.FlowSchemaSpec{
	flowcontrolv1.NameExempt: {
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.NameExempt},
		MatchingPrecedence:         1,
		Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{everything(groups("system:masters"))},
	},
	flowcontrolv1.NameCatchAll: {
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.NameCatchAll},
		MatchingPrecedence:         flowcontrolv1.MaxMatchingPrecedence,
		DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
		Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{everything(groups(unauthenticated, authenticated))},
	},
}

// The groups that everybody belongs to one of.
const unauthenticated, authenticated = "system:unauthenticated", "system:authenticated"

// everything matches all requests of some subjects.
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

func groups(names ...string) (subjects []flowcontrolv1.Subject) {
	for _, name := range names {
		subjects = append(subjects, flowcontrolv1.Subject{
			Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: name},
		})
	}
	return subjects
}

func users(names ...string) (subjects []flowcontrolv1.Subject) {
	for _, name := range names {
		subjects = append(subjects, flowcontrolv1.Subject{
			Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name},
		})
	}
	return subjects
}

func checkMandatorySchema(fs *flowcontrolv1.FlowSchema) field.ErrorList {
	fixed := mandatorySchemas[fs.Name]
	if fixed == nil || scheme.Equal(&fs.Spec, fixed) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), govalue.JSON(&fs.Spec),
		"spec of '"+fs.Name+"' must equal the fixed value")}
}

// mandatoryLevels are, by name, the levels that cannot be otherwise.
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

// checkMandatoryLevel lets administrators say what the level "exempt" counts for beside others, and
// no more.
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
