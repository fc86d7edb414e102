package apiextensionsv1

// CustomResourceDefinitionVersion is one version of a resource.
type CustomResourceDefinitionVersion struct {
	// Name of the version, such as v1 or v2beta1, which stands in paths: /apis/<group>/<version>/.
	Name string `json:"name" pb:"1"`
	// Whether clients can use the version.
	Served bool `json:"served" pb:"2"`
	// Whether objects are stored in this version. They are in exactly one.
	Storage bool `json:"storage" pb:"3"`
	// Whether the version is deprecated: answers to requests for it carry a warning.
	Deprecated bool `json:"deprecated,omitempty" pb:"7"`
	// The warning. By default it says that the version is deprecated, and names the newest that is
	// served and at least as stable, if there is one.
	DeprecationWarning *string `json:"deprecationWarning,omitempty" pb:"8"`
	// What objects in this version look like: it is used to check them, to drop unknown fields and
	// to fill in defaults.
	Schema *CustomResourceValidation `json:"schema,omitempty" pb:"4"`
	// Subresources that objects have in this version.
	Subresources *CustomResourceSubresources `json:"subresources,omitempty" pb:"5"`
	// Columns of tables, such as kubectl get shows, beside the name. By default there is one more,
	// the age.
	AdditionalPrinterColumns []CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty" pb:"6" list:"atomic"`
	// Fields by which objects can be selected; at most 8.
	SelectableFields []SelectableField `json:"selectableFields,omitempty" pb:"9" list:"atomic"`
}

// CustomResourceValidation says what objects look like.
type CustomResourceValidation struct {
	// Schema of the objects.
	OpenAPIV3Schema *JSONSchemaProps `json:"openAPIV3Schema,omitempty" pb:"1"`
}

// CustomResourceSubresources are the subresources of objects.
type CustomResourceSubresources struct {
	// Serve .status as /status: writes of the object leave .status alone, and writes of /status all
	// else.
	Status *CustomResourceSubresourceStatus `json:"status,omitempty" pb:"1"`
	// Serve a Scale of autoscaling/v1 as /scale.
	Scale *CustomResourceSubresourceScale `json:"scale,omitempty" pb:"2"`
}

// CustomResourceSubresourceStatus says that objects have a subresource status. There is nothing to
// set.
type CustomResourceSubresourceStatus struct{}

// CustomResourceSubresourceScale says where in an object the fields of its Scale are. Paths have
// names only, no indices.
type CustomResourceSubresourceScale struct {
	// Path below .spec to the wanted number of replicas. If there is nothing at it, GET of /scale
	// fails.
	SpecReplicasPath string `json:"specReplicasPath" pb:"1"`
	// Path below .status to the actual number of replicas. If there is nothing at it, that is 0.
	StatusReplicasPath string `json:"statusReplicasPath" pb:"2"`
	// Path below .spec or .status to a string, the label selector of the replicas as text.
	// Autoscalers need it. If there is nothing at it, the selector is empty.
	LabelSelectorPath *string `json:"labelSelectorPath,omitempty" pb:"3"`
}

// CustomResourceColumnDefinition is a column of tables.
type CustomResourceColumnDefinition struct {
	// Name of the column, for people.
	Name string `json:"name" pb:"1"`
	// Type of the values as in OpenAPI, such as integer or string, or date, which is shown as an
	// age.
	Type string `json:"type" pb:"2"`
	// Format of the values as in OpenAPI. The column with the format name is that by which clients
	// identify objects.
	Format string `json:"format,omitempty" pb:"3"`
	// What the column shows, for people.
	Description string `json:"description,omitempty" pb:"4"`
	// How important the column is: 0 is always shown, what is greater only where there is room, as
	// in kubectl get -o wide.
	Priority int32 `json:"priority,omitempty" pb:"5"`
	// JSONPath to the value in the object.
	JSONPath string `json:"jsonPath" pb:"6"`
}

// SelectableField is a field by which objects can be selected.
type SelectableField struct {
	// Path to a string, boolean or integer, of names only, no indices, and not in metadata. What is
	// not there counts as an empty string.
	JSONPath string `json:"jsonPath" pb:"1"`
}
