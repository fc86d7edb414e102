package rbacv1

import (
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the versions in which objects may be stored although nobody is served in
// them. v1beta1 has the fields and defaults of v1. v1alpha1 numbers the fields of rules
// differently, and its subjects have a version.
func addStored(s *scheme.Scheme) {
	add := func(version, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: version, Kind: kind},
			GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	add("v1beta1", "Role", &Role{})
	add("v1beta1", "ClusterRole", &ClusterRole{})
	add("v1beta1", "RoleBinding", &RoleBinding{})
	add("v1beta1", "ClusterRoleBinding", &ClusterRoleBinding{})
	add("v1alpha1", "Role", &roleAlpha{})
	add("v1alpha1", "ClusterRole", &clusterRoleAlpha{})
	add("v1alpha1", "RoleBinding", &bindingAlpha{})
	add("v1alpha1", "ClusterRoleBinding", &clusterBindingAlpha{})
	scheme.AddConversion(s, func(in *subjectAlpha, out *Subject) error {
		*out = in.subject()
		return nil
	})
}

type roleAlpha struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Rules           []ruleAlpha `json:"rules" pb:"2"`
}

type clusterRoleAlpha struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Rules           []ruleAlpha      `json:"rules" pb:"2"`
	AggregationRule *AggregationRule `json:"aggregationRule,omitempty" pb:"3"`
}

type ruleAlpha struct {
	Verbs           []string `json:"verbs" pb:"1"`
	APIGroups       []string `json:"apiGroups,omitempty" pb:"3"`
	Resources       []string `json:"resources,omitempty" pb:"4"`
	ResourceNames   []string `json:"resourceNames,omitempty" pb:"5"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" pb:"6"`
}

type bindingAlpha struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Subjects        []subjectAlpha `json:"subjects,omitempty" pb:"2"`
	RoleRef         RoleRef        `json:"roleRef" pb:"3"`
}

type clusterBindingAlpha bindingAlpha

type subjectAlpha struct {
	Kind       string `json:"kind" pb:"1"`
	APIVersion string `json:"apiVersion,omitempty" pb:"2"`
	Name       string `json:"name" pb:"3"`
	Namespace  string `json:"namespace,omitempty" pb:"4"`
}

// subject returns a subject as v1 has it. The group follows from the kind if the kind is known. The
// user "*" stood for everybody who is authenticated.
func (a *subjectAlpha) subject() Subject {
	made := Subject{Kind: a.Kind, Name: a.Name, Namespace: a.Namespace}
	switch a.Kind {
	case ServiceAccountKind:
	case UserKind, GroupKind:
		made.APIGroup = GroupVersion.Group
	default:
		if strings.Count(a.APIVersion, "/") == 1 {
			made.APIGroup, _, _ = strings.Cut(a.APIVersion, "/")
		}
	}
	if a.Kind == UserKind && a.Name == "*" {
		made.Kind, made.Name = GroupKind, "system:authenticated"
	}
	return made
}
