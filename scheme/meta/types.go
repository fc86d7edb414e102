package meta

// TypeMeta ...
type TypeMeta struct {
	Kind       string `json:"kind,omitempty" pb:"1"`
	APIVersion string `json:"apiVersion,omitempty" pb:"2"`
}

// ListMeta ...
type ListMeta struct {
	SelfLink           string     `json:"selfLink,omitempty" pb:"1"`
	ResourceVersion    string     `json:"resourceVersion,omitempty" pb:"2"`
	Continue           string     `json:"continue,omitempty" pb:"3"`
	RemainingItemCount *int64     `json:"remainingItemCount,omitempty" pb:"4"`
	ShardInfo          *ShardInfo `json:"shardInfo,omitempty" pb:"5"`
}

// ShardInfo ...
type ShardInfo struct {
	Selector string `json:"selector" pb:"1"`
}

// ObjectMeta ...
type ObjectMeta struct {
	Name                       string               `json:"name,omitempty" pb:"1"`
	GenerateName               string               `json:"generateName,omitempty" pb:"2"`
	Namespace                  string               `json:"namespace,omitempty" pb:"3"`
	SelfLink                   string               `json:"selfLink,omitempty" pb:"4"`
	UID                        UID                  `json:"uid,omitempty" pb:"5"`
	ResourceVersion            string               `json:"resourceVersion,omitempty" pb:"6"`
	Generation                 int64                `json:"generation,omitempty" pb:"7"`
	CreationTimestamp          *Time                `json:"creationTimestamp,omitempty" pb:"8"`
	DeletionTimestamp          *Time                `json:"deletionTimestamp,omitempty" pb:"9"`
	DeletionGracePeriodSeconds *int64               `json:"deletionGracePeriodSeconds,omitempty" pb:"10"`
	Labels                     map[string]string    `json:"labels,omitempty" pb:"11"`
	Annotations                map[string]string    `json:"annotations,omitempty" pb:"12"`
	OwnerReferences            []OwnerReference     `json:"ownerReferences,omitempty" pb:"13" list:"map,key=uid" patch:"merge,key=uid"`
	Finalizers                 []string             `json:"finalizers,omitempty" pb:"14" list:"set" patch:"merge"`
	ManagedFields              []ManagedFieldsEntry `json:"managedFields,omitempty" pb:"17" list:"atomic"`
}

// OwnerReference ...
type OwnerReference struct {
	_ struct{} `struct:"atomic"`

	APIVersion         string `json:"apiVersion" pb:"5"`
	Kind               string `json:"kind" pb:"1"`
	Name               string `json:"name" pb:"3"`
	UID                UID    `json:"uid" pb:"4"`
	Controller         *bool  `json:"controller,omitempty" pb:"6"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty" pb:"7"`
}

// ListOptions ...
type ListOptions struct {
	TypeMeta             `json:",inline"`
	LabelSelector        string               `json:"labelSelector,omitempty" pb:"1"`
	FieldSelector        string               `json:"fieldSelector,omitempty" pb:"2"`
	Watch                bool                 `json:"watch,omitempty" pb:"3"`
	AllowWatchBookmarks  bool                 `json:"allowWatchBookmarks,omitempty" pb:"9"`
	ResourceVersion      string               `json:"resourceVersion,omitempty" pb:"4"`
	ResourceVersionMatch ResourceVersionMatch `json:"resourceVersionMatch,omitempty" pb:"10"`
	TimeoutSeconds       *int64               `json:"timeoutSeconds,omitempty" pb:"5"`
	Limit                int64                `json:"limit,omitempty" pb:"7"`
	Continue             string               `json:"continue,omitempty" pb:"8"`
	SendInitialEvents    *bool                `json:"sendInitialEvents,omitempty" pb:"11"`
	ShardSelector        string               `json:"shardSelector,omitempty" pb:"15"`
}

// ResourceVersionMatch ...
type ResourceVersionMatch string

// GetOptions ...
type GetOptions struct {
	TypeMeta        `json:",inline"`
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"1"`
}

// DeletionPropagation ...
type DeletionPropagation string

// DeleteOptions ...
type DeleteOptions struct {
	TypeMeta                                         `json:",inline"`
	GracePeriodSeconds                               *int64               `json:"gracePeriodSeconds,omitempty" pb:"1"`
	Preconditions                                    *Preconditions       `json:"preconditions,omitempty" pb:"2"`
	OrphanDependents                                 *bool                `json:"orphanDependents,omitempty" pb:"3"`
	PropagationPolicy                                *DeletionPropagation `json:"propagationPolicy,omitempty" pb:"4"`
	DryRun                                           []string             `json:"dryRun,omitempty" pb:"5" list:"atomic"`
	IgnoreStoreReadErrorWithClusterBreakingPotential *bool                `json:"ignoreStoreReadErrorWithClusterBreakingPotential,omitempty" pb:"6"`
}

// CreateOptions ...
type CreateOptions struct {
	TypeMeta        `json:",inline"`
	DryRun          []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	FieldManager    string   `json:"fieldManager,omitempty" pb:"3"`
	FieldValidation string   `json:"fieldValidation,omitempty" pb:"4"`
}

// PatchOptions ...
type PatchOptions struct {
	TypeMeta        `json:",inline"`
	DryRun          []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	Force           *bool    `json:"force,omitempty" pb:"2"`
	FieldManager    string   `json:"fieldManager,omitempty" pb:"3"`
	FieldValidation string   `json:"fieldValidation,omitempty" pb:"4"`
}

// ApplyOptions ...
type ApplyOptions struct {
	TypeMeta     `json:",inline"`
	DryRun       []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	Force        bool     `json:"force" pb:"2"`
	FieldManager string   `json:"fieldManager" pb:"3"`
}

// UpdateOptions ...
type UpdateOptions struct {
	TypeMeta        `json:",inline"`
	DryRun          []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	FieldManager    string   `json:"fieldManager,omitempty" pb:"2"`
	FieldValidation string   `json:"fieldValidation,omitempty" pb:"3"`
}

// Preconditions ...
type Preconditions struct {
	UID             *UID    `json:"uid,omitempty" pb:"1"`
	ResourceVersion *string `json:"resourceVersion,omitempty" pb:"2"`
}

// Status ...
type Status struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty" pb:"1"`
	Status   string         `json:"status,omitempty" pb:"2"`
	Message  string         `json:"message,omitempty" pb:"3"`
	Reason   StatusReason   `json:"reason,omitempty" pb:"4"`
	Details  *StatusDetails `json:"details,omitempty" pb:"5"`
	Code     int32          `json:"code,omitempty" pb:"6"`
}

// StatusDetails ...
type StatusDetails struct {
	Name              string        `json:"name,omitempty" pb:"1"`
	Group             string        `json:"group,omitempty" pb:"2"`
	Kind              string        `json:"kind,omitempty" pb:"3"`
	UID               UID           `json:"uid,omitempty" pb:"6"`
	Causes            []StatusCause `json:"causes,omitempty" pb:"4" list:"atomic"`
	RetryAfterSeconds int32         `json:"retryAfterSeconds,omitempty" pb:"5"`
}

// StatusReason ...
type StatusReason string

// StatusCause ...
type StatusCause struct {
	Type    CauseType `json:"reason,omitempty" pb:"1"`
	Message string    `json:"message,omitempty" pb:"2"`
	Field   string    `json:"field,omitempty" pb:"3"`
}

// CauseType ...
type CauseType string

// APIVersions ...
type APIVersions struct {
	TypeMeta                   `json:",inline"`
	Versions                   []string                    `json:"versions" pb:"1" list:"atomic"`
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs" pb:"2" list:"atomic"`
}

// APIGroupList ...
type APIGroupList struct {
	TypeMeta `json:",inline"`
	Groups   []APIGroup `json:"groups" pb:"1" list:"atomic"`
}

// APIGroup ...
type APIGroup struct {
	TypeMeta                   `json:",inline"`
	Name                       string                      `json:"name" pb:"1"`
	Versions                   []GroupVersionForDiscovery  `json:"versions" pb:"2" list:"atomic"`
	PreferredVersion           GroupVersionForDiscovery    `json:"preferredVersion,omitempty" pb:"3"`
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs,omitempty" pb:"4" list:"atomic"`
}

// ServerAddressByClientCIDR ...
type ServerAddressByClientCIDR struct {
	ClientCIDR    string `json:"clientCIDR" pb:"1"`
	ServerAddress string `json:"serverAddress" pb:"2"`
}

// GroupVersionForDiscovery ...
type GroupVersionForDiscovery struct {
	GroupVersion string `json:"groupVersion" pb:"1"`
	Version      string `json:"version" pb:"2"`
}

// APIResource ...
type APIResource struct {
	Name               string   `json:"name" pb:"1"`
	SingularName       string   `json:"singularName" pb:"6"`
	Namespaced         bool     `json:"namespaced" pb:"2"`
	Group              string   `json:"group,omitempty" pb:"8"`
	Version            string   `json:"version,omitempty" pb:"9"`
	Kind               string   `json:"kind" pb:"3"`
	Verbs              Verbs    `json:"verbs" pb:"4"`
	ShortNames         []string `json:"shortNames,omitempty" pb:"5" list:"atomic"`
	Categories         []string `json:"categories,omitempty" pb:"7" list:"atomic"`
	StorageVersionHash string   `json:"storageVersionHash,omitempty" pb:"10"`
}

// Verbs ...
type Verbs []string

// APIResourceList ...
type APIResourceList struct {
	TypeMeta     `json:",inline"`
	GroupVersion string        `json:"groupVersion" pb:"1"`
	APIResources []APIResource `json:"resources" pb:"2" list:"atomic"`
}

// RootPaths ...
type RootPaths struct {
	Paths []string `json:"paths" pb:"1" list:"atomic"`
}

// LabelSelector ...
type LabelSelector struct {
	_ struct{} `struct:"atomic"`

	MatchLabels      map[string]string          `json:"matchLabels,omitempty" pb:"1"`
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty" pb:"2" list:"atomic"`
}

// LabelSelectorRequirement ...
type LabelSelectorRequirement struct {
	Key      string                `json:"key" pb:"1"`
	Operator LabelSelectorOperator `json:"operator" pb:"2"`
	Values   []string              `json:"values,omitempty" pb:"3" list:"atomic"`
}

// LabelSelectorOperator ...
type LabelSelectorOperator string

// The operators of label selectors.
const (
	LabelSelectorOpIn           LabelSelectorOperator = "In"
	LabelSelectorOpNotIn        LabelSelectorOperator = "NotIn"
	LabelSelectorOpExists       LabelSelectorOperator = "Exists"
	LabelSelectorOpDoesNotExist LabelSelectorOperator = "DoesNotExist"
)

// FieldSelectorRequirement ...
type FieldSelectorRequirement struct {
	Key      string                `json:"key" pb:"1"`
	Operator FieldSelectorOperator `json:"operator" pb:"2"`
	Values   []string              `json:"values,omitempty" pb:"3" list:"atomic"`
}

// FieldSelectorOperator ...
type FieldSelectorOperator string

// ManagedFieldsEntry ...
type ManagedFieldsEntry struct {
	Manager     string                     `json:"manager,omitempty" pb:"1"`
	Operation   ManagedFieldsOperationType `json:"operation,omitempty" pb:"2"`
	APIVersion  string                     `json:"apiVersion,omitempty" pb:"3"`
	Time        *Time                      `json:"time,omitempty" pb:"4"`
	FieldsType  string                     `json:"fieldsType,omitempty" pb:"6"`
	FieldsV1    *FieldsV1                  `json:"fieldsV1,omitempty" pb:"7"`
	Subresource string                     `json:"subresource,omitempty" pb:"8"`
}

// ManagedFieldsOperationType ...
type ManagedFieldsOperationType string

// Table ...
type Table struct {
	TypeMeta          `json:",inline"`
	ListMeta          `json:"metadata,omitempty"`
	ColumnDefinitions []TableColumnDefinition `json:"columnDefinitions" list:"atomic"`
	Rows              []TableRow              `json:"rows" list:"atomic"`
}

// TableColumnDefinition ...
type TableColumnDefinition struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format"`
	Description string `json:"description"`
	Priority    int32  `json:"priority"`
}

// TableRow ...
type TableRow struct {
	Cells      []interface{}       `json:"cells" list:"atomic"`
	Conditions []TableRowCondition `json:"conditions,omitempty" list:"atomic"`
	Object     RawExtension        `json:"object,omitempty"`
}

// TableRowCondition ...
type TableRowCondition struct {
	Type    RowConditionType `json:"type"`
	Status  ConditionStatus  `json:"status"`
	Reason  string           `json:"reason,omitempty"`
	Message string           `json:"message,omitempty"`
}

// RowConditionType ...
type RowConditionType string

// ConditionStatus ...
type ConditionStatus string

// IncludeObjectPolicy ...
type IncludeObjectPolicy string

// TableOptions ...
type TableOptions struct {
	TypeMeta      `json:",inline"`
	NoHeaders     bool                `json:"-"`
	IncludeObject IncludeObjectPolicy `json:"includeObject,omitempty" pb:"1"`
}

// PartialObjectMetadata ...
type PartialObjectMetadata struct {
	TypeMeta   `json:",inline"`
	ObjectMeta `json:"metadata,omitempty" pb:"1"`
}

// PartialObjectMetadataList ...
type PartialObjectMetadataList struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty" pb:"1"`
	Items    []PartialObjectMetadata `json:"items" pb:"2"`
}

// Condition ...
type Condition struct {
	Type               string          `json:"type" pb:"1"`
	Status             ConditionStatus `json:"status" pb:"2"`
	ObservedGeneration int64           `json:"observedGeneration,omitempty" pb:"3"`
	LastTransitionTime Time            `json:"lastTransitionTime" pb:"4"`
	Reason             string          `json:"reason" pb:"5"`
	Message            string          `json:"message" pb:"6"`
}

// WatchEvent ...
type WatchEvent struct {
	Type   string       `json:"type" pb:"1"`
	Object RawExtension `json:"object" pb:"2"`
}
