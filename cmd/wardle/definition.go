package main

import (
	"io"

	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/cmd/wardle/v1beta1"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
)

// writeDefinitions writes the resources as CustomResourceDefinitions, for a server without this
// program's code. Their schemas follow from the Go types and tags. They leave out what is written
// as code: the check that references fit each other, the names that Fischers disallow, and the
// version v1alpha1 of Flunders, whose conversion is a function.
func writeDefinitions(w io.Writer) error {
	flunders, err := extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{
		Group: groupName,
		Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{ShortNames: []string{"fl"}, Categories: []string{"all"}},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: v1beta1.GroupVersion.Version, Served: true, Storage: true,
			AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
				{Name: "Refers to", Type: "string", JSONPath: ".spec.referenceType",
					Description: "Kind of what the Flunder refers to."},
				{Name: "Phase", Type: "string", JSONPath: ".status.phase", Description: "What the Flunder is doing."},
				{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
			},
			SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.referenceType"}},
		}},
	}, &v1beta1.Flunder{})
	if err != nil {
		return err
	}
	fischers, err := extensions.Definition(apiextensionsv1.CustomResourceDefinitionSpec{
		Group: groupName,
		Scope: apiextensionsv1.ClusterScoped,
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: v1alpha1.GroupVersion.Version, Served: true,
			Storage: true}},
	}, &v1alpha1.Fischer{})
	if err != nil {
		return err
	}
	return extensions.WriteYAML(w, flunders, fischers)
}
