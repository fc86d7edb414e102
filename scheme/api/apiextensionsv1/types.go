// Package apiextensionsv1 declares the kinds of apiextensions.k8s.io/v1.
package apiextensionsv1

import (
	"github.com/coracle-project/coracle/scheme/meta"
)

// ConversionStrategyType TODO
type ConversionStrategyType string

// CustomResourceDefinitionSpec TODO
type CustomResourceDefinitionSpec struct {
	// TODO
	Group string `json:"group" pb:"1"`
	// TODO
	Names CustomResourceDefinitionNames `json:"names" pb:"3"`
	// TODO
	Scope ResourceScope `json:"scope" pb:"4"`
	// TODO
	Versions []CustomResourceDefinitionVersion `json:"versions" pb:"7" list:"atomic"`
	// TODO
	Conversion *CustomResourceConversion `json:"conversion,omitempty" pb:"9"`
	// TODO
	PreserveUnknownFields bool `json:"preserveUnknownFields,omitempty" pb:"10"`
}

// CustomResourceConversion TODO
type CustomResourceConversion struct {
	// TODO
	Strategy ConversionStrategyType `json:"strategy" pb:"1"`
	// TODO
	Webhook *WebhookConversion `json:"webhook,omitempty" pb:"2"`
}

// WebhookConversion TODO
type WebhookConversion struct {
	// TODO
	ClientConfig *WebhookClientConfig `json:"clientConfig,omitempty" pb:"2"`
	// TODO
	ConversionReviewVersions []string `json:"conversionReviewVersions" pb:"3" list:"atomic"`
}

// WebhookClientConfig TODO
type WebhookClientConfig struct {
	// TODO
	URL *string `json:"url,omitempty" pb:"3"`
	// TODO
	Service *ServiceReference `json:"service,omitempty" pb:"1"`
	// TODO
	CABundle []byte `json:"caBundle,omitempty" pb:"2"`
}

// ServiceReference TODO
type ServiceReference struct {
	// TODO
	Namespace string `json:"namespace" pb:"1"`
	// TODO
	Name string `json:"name" pb:"2"`
	// TODO
	Path *string `json:"path,omitempty" pb:"3"`
	// TODO
	Port *int32 `json:"port,omitempty" pb:"4"`
}

// CustomResourceDefinitionVersion TODO
type CustomResourceDefinitionVersion struct {
	// TODO
	Name string `json:"name" pb:"1"`
	// TODO
	Served bool `json:"served" pb:"2"`
	// TODO
	Storage bool `json:"storage" pb:"3"`
	// TODO
	Deprecated bool `json:"deprecated,omitempty" pb:"7"`
	// TODO
	DeprecationWarning *string `json:"deprecationWarning,omitempty" pb:"8"`
	// TODO
	Schema *CustomResourceValidation `json:"schema,omitempty" pb:"4"`
	// TODO
	Subresources *CustomResourceSubresources `json:"subresources,omitempty" pb:"5"`
	// TODO
	AdditionalPrinterColumns []CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty" pb:"6" list:"atomic"`
	// TODO
	SelectableFields []SelectableField `json:"selectableFields,omitempty" pb:"9" list:"atomic"`
}

// SelectableField TODO
type SelectableField struct {
	// TODO
	JSONPath string `json:"jsonPath" pb:"1"`
}

// CustomResourceColumnDefinition TODO
type CustomResourceColumnDefinition struct {
	// TODO
	Name string `json:"name" pb:"1"`
	// TODO
	Type string `json:"type" pb:"2"`
	// TODO
	Format string `json:"format,omitempty" pb:"3"`
	// TODO
	Description string `json:"description,omitempty" pb:"4"`
	// TODO
	Priority int32 `json:"priority,omitempty" pb:"5"`
	// TODO
	JSONPath string `json:"jsonPath" pb:"6"`
}

// CustomResourceDefinitionNames TODO
type CustomResourceDefinitionNames struct {
	// TODO
	Plural string `json:"plural" pb:"1"`
	// TODO
	Singular string `json:"singular,omitempty" pb:"2"`
	// TODO
	ShortNames []string `json:"shortNames,omitempty" pb:"3" list:"atomic"`
	// TODO
	Kind string `json:"kind" pb:"4"`
	// TODO
	ListKind string `json:"listKind,omitempty" pb:"5"`
	// TODO
	Categories []string `json:"categories,omitempty" pb:"6" list:"atomic"`
}

// ResourceScope TODO
type ResourceScope string

// ConditionStatus TODO
type ConditionStatus string

// CustomResourceDefinitionConditionType TODO
type CustomResourceDefinitionConditionType string

// CustomResourceDefinitionCondition TODO
type CustomResourceDefinitionCondition struct {
	// TODO
	Type CustomResourceDefinitionConditionType `json:"type" pb:"1"`
	// TODO
	Status ConditionStatus `json:"status" pb:"2"`
	// TODO
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// TODO
	Reason string `json:"reason,omitempty" pb:"4"`
	// TODO
	Message string `json:"message,omitempty" pb:"5"`
	// TODO
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"6"`
}

// CustomResourceDefinitionStatus TODO
type CustomResourceDefinitionStatus struct {
	// TODO
	Conditions []CustomResourceDefinitionCondition `json:"conditions" pb:"1" check:"optional" list:"map,key=type"`
	// TODO
	AcceptedNames CustomResourceDefinitionNames `json:"acceptedNames" pb:"2" check:"optional"`
	// TODO
	StoredVersions []string `json:"storedVersions" pb:"3" check:"optional" list:"atomic"`
	// TODO
	ObservedGeneration int64 `json:"observedGeneration,omitempty" pb:"4"`
}

// CustomResourceDefinition TODO
type CustomResourceDefinition struct {
	meta.TypeMeta `json:",inline"`
	// Standard object metadata.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// TODO
	Spec CustomResourceDefinitionSpec `json:"spec" pb:"2"`
	// TODO
	Status CustomResourceDefinitionStatus `json:"status,omitempty" pb:"3"`
}

// CustomResourceDefinitionList TODO
type CustomResourceDefinitionList struct {
	meta.TypeMeta `json:",inline"`
	// Standard list metadata.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// TODO
	Items []CustomResourceDefinition `json:"items" pb:"2"`
}

// CustomResourceValidation TODO
type CustomResourceValidation struct {
	// TODO
	OpenAPIV3Schema *JSONSchemaProps `json:"openAPIV3Schema,omitempty" pb:"1"`
}

// CustomResourceSubresources TODO
type CustomResourceSubresources struct {
	// TODO
	Status *CustomResourceSubresourceStatus `json:"status,omitempty" pb:"1"`
	// TODO
	Scale *CustomResourceSubresourceScale `json:"scale,omitempty" pb:"2"`
}

// CustomResourceSubresourceStatus TODO
type CustomResourceSubresourceStatus struct {
}

// CustomResourceSubresourceScale TODO
type CustomResourceSubresourceScale struct {
	// TODO
	SpecReplicasPath string `json:"specReplicasPath" pb:"1"`
	// TODO
	StatusReplicasPath string `json:"statusReplicasPath" pb:"2"`
	// TODO
	LabelSelectorPath *string `json:"labelSelectorPath,omitempty" pb:"3"`
}

// ConversionReview TODO
type ConversionReview struct {
	meta.TypeMeta `json:",inline"`
	// TODO
	Request *ConversionRequest `json:"request,omitempty" pb:"1"`
	// TODO
	Response *ConversionResponse `json:"response,omitempty" pb:"2"`
}

// ConversionRequest TODO
type ConversionRequest struct {
	// TODO
	UID meta.UID `json:"uid" pb:"1"`
	// TODO
	DesiredAPIVersion string `json:"desiredAPIVersion" pb:"2"`
	// TODO
	Objects []meta.RawExtension `json:"objects" pb:"3" list:"atomic"`
}

// ConversionResponse TODO
type ConversionResponse struct {
	// TODO
	UID meta.UID `json:"uid" pb:"1"`
	// TODO
	ConvertedObjects []meta.RawExtension `json:"convertedObjects" pb:"2" list:"atomic"`
	// TODO
	Result meta.Status `json:"result" pb:"3"`
}

// FieldValueErrorReason TODO
type FieldValueErrorReason string

// JSONSchemaProps TODO
type JSONSchemaProps struct {
	// TODO
	ID string `json:"id,omitempty" pb:"1"`
	// TODO
	Schema JSONSchemaURL `json:"$schema,omitempty" pb:"2"`
	// TODO
	Ref *string `json:"$ref,omitempty" pb:"3"`
	// TODO
	Description string `json:"description,omitempty" pb:"4"`
	// TODO
	Type string `json:"type,omitempty" pb:"5"`
	// TODO
	Format string `json:"format,omitempty" pb:"6"`
	// TODO
	Title string `json:"title,omitempty" pb:"7"`
	// TODO
	Default *JSON `json:"default,omitempty" pb:"8"`
	// TODO
	Maximum *float64 `json:"maximum,omitempty" pb:"9"`
	// TODO
	ExclusiveMaximum bool `json:"exclusiveMaximum,omitempty" pb:"10"`
	// TODO
	Minimum *float64 `json:"minimum,omitempty" pb:"11"`
	// TODO
	ExclusiveMinimum bool `json:"exclusiveMinimum,omitempty" pb:"12"`
	// TODO
	MaxLength *int64 `json:"maxLength,omitempty" pb:"13"`
	// TODO
	MinLength *int64 `json:"minLength,omitempty" pb:"14"`
	// TODO
	Pattern string `json:"pattern,omitempty" pb:"15"`
	// TODO
	MaxItems *int64 `json:"maxItems,omitempty" pb:"16"`
	// TODO
	MinItems *int64 `json:"minItems,omitempty" pb:"17"`
	// TODO
	UniqueItems bool `json:"uniqueItems,omitempty" pb:"18"`
	// TODO
	MultipleOf *float64 `json:"multipleOf,omitempty" pb:"19"`
	// TODO
	Enum []JSON `json:"enum,omitempty" pb:"20" list:"atomic"`
	// TODO
	MaxProperties *int64 `json:"maxProperties,omitempty" pb:"21"`
	// TODO
	MinProperties *int64 `json:"minProperties,omitempty" pb:"22"`
	// TODO
	Required []string `json:"required,omitempty" pb:"23" list:"atomic"`
	// TODO
	Items *JSONSchemaPropsOrArray `json:"items,omitempty" pb:"24"`
	// TODO
	AllOf []JSONSchemaProps `json:"allOf,omitempty" pb:"25" list:"atomic"`
	// TODO
	OneOf []JSONSchemaProps `json:"oneOf,omitempty" pb:"26" list:"atomic"`
	// TODO
	AnyOf []JSONSchemaProps `json:"anyOf,omitempty" pb:"27" list:"atomic"`
	// TODO
	Not *JSONSchemaProps `json:"not,omitempty" pb:"28"`
	// TODO
	Properties map[string]JSONSchemaProps `json:"properties,omitempty" pb:"29"`
	// TODO
	AdditionalProperties *JSONSchemaPropsOrBool `json:"additionalProperties,omitempty" pb:"30"`
	// TODO
	PatternProperties map[string]JSONSchemaProps `json:"patternProperties,omitempty" pb:"31"`
	// TODO
	Dependencies JSONSchemaDependencies `json:"dependencies,omitempty" pb:"32"`
	// TODO
	AdditionalItems *JSONSchemaPropsOrBool `json:"additionalItems,omitempty" pb:"33"`
	// TODO
	Definitions JSONSchemaDefinitions `json:"definitions,omitempty" pb:"34"`
	// TODO
	ExternalDocs *ExternalDocumentation `json:"externalDocs,omitempty" pb:"35"`
	// TODO
	Example *JSON `json:"example,omitempty" pb:"36"`
	// TODO
	Nullable bool `json:"nullable,omitempty" pb:"37"`
	// TODO
	XPreserveUnknownFields *bool `json:"x-kubernetes-preserve-unknown-fields,omitempty" pb:"38"`
	// TODO
	XEmbeddedResource bool `json:"x-kubernetes-embedded-resource,omitempty" pb:"39"`
	// TODO
	XIntOrString bool `json:"x-kubernetes-int-or-string,omitempty" pb:"40"`
	// TODO
	XListMapKeys []string `json:"x-kubernetes-list-map-keys,omitempty" pb:"41" list:"atomic"`
	// TODO
	XListType *string `json:"x-kubernetes-list-type,omitempty" pb:"42"`
	// TODO
	XMapType *string `json:"x-kubernetes-map-type,omitempty" pb:"43"`
	// TODO
	XValidations ValidationRules `json:"x-kubernetes-validations,omitempty" pb:"44" list:"map,key=rule" patch:"merge,key=rule"`
}

// ValidationRules TODO
type ValidationRules []ValidationRule

// ValidationRule TODO
type ValidationRule struct {
	// TODO
	Rule string `json:"rule" pb:"1"`
	// TODO
	Message string `json:"message,omitempty" pb:"2"`
	// TODO
	MessageExpression string `json:"messageExpression,omitempty" pb:"3"`
	// TODO
	Reason *FieldValueErrorReason `json:"reason,omitempty" pb:"4" enum:"FieldValueDuplicate,FieldValueForbidden,FieldValueInvalid,FieldValueRequired"`
	// TODO
	FieldPath string `json:"fieldPath,omitempty" pb:"5"`
	// TODO
	OptionalOldSelf *bool `json:"optionalOldSelf,omitempty" pb:"6"`
}

// JSON TODO
type JSON struct {
	// TODO
	Raw []byte `json:"-" pb:"1" check:"optional"`
}

// JSONSchemaURL TODO
type JSONSchemaURL string

// JSONSchemaPropsOrArray TODO
type JSONSchemaPropsOrArray struct {
	// TODO
	Schema *JSONSchemaProps `json:"" pb:"1" check:"optional"`
	// TODO
	JSONSchemas []JSONSchemaProps `json:"" pb:"2" check:"optional"`
}

// JSONSchemaPropsOrBool TODO
type JSONSchemaPropsOrBool struct {
	// TODO
	Allows bool `json:"" pb:"1" check:"optional"`
	// TODO
	Schema *JSONSchemaProps `json:"" pb:"2" check:"optional"`
}

// JSONSchemaDependencies TODO
type JSONSchemaDependencies map[string]JSONSchemaPropsOrStringArray

// JSONSchemaPropsOrStringArray TODO
type JSONSchemaPropsOrStringArray struct {
	// TODO
	Schema *JSONSchemaProps `json:"" pb:"1" check:"optional"`
	// TODO
	Property []string `json:"" pb:"2" check:"optional"`
}

// JSONSchemaDefinitions TODO
type JSONSchemaDefinitions map[string]JSONSchemaProps

// ExternalDocumentation TODO
type ExternalDocumentation struct {
	// TODO
	Description string `json:"description,omitempty" pb:"1"`
	// TODO
	URL string `json:"url,omitempty" pb:"2"`
}

// Values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Values of ConversionStrategyType.
const (
	NoneConverter    ConversionStrategyType = "None"
	WebhookConverter ConversionStrategyType = "Webhook"
)

// Values of CustomResourceDefinitionConditionType.
const (
	Established                           CustomResourceDefinitionConditionType = "Established"
	KubernetesAPIApprovalPolicyConformant CustomResourceDefinitionConditionType = "KubernetesAPIApprovalPolicyConformant"
	NamesAccepted                         CustomResourceDefinitionConditionType = "NamesAccepted"
	NonStructuralSchema                   CustomResourceDefinitionConditionType = "NonStructuralSchema"
	StorageMigrating                      CustomResourceDefinitionConditionType = "StorageMigrating"
	Terminating                           CustomResourceDefinitionConditionType = "Terminating"
)

// Values of FieldValueErrorReason.
const (
	FieldValueDuplicate FieldValueErrorReason = "FieldValueDuplicate"
	FieldValueForbidden FieldValueErrorReason = "FieldValueForbidden"
	FieldValueInvalid   FieldValueErrorReason = "FieldValueInvalid"
	FieldValueRequired  FieldValueErrorReason = "FieldValueRequired"
)

// Values of ResourceScope.
const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

// Names TODO
const (
	CustomResourceCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"
	GroupName                      = "apiextensions.k8s.io"
	KubeAPIApprovedAnnotation      = "api-approved.kubernetes.io"
)
