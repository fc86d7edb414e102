package meta

// ListOptions are the options of a list or watch, and of the deletion of a collection.
type ListOptions struct {
	TypeMeta `json:",inline"`
	// LabelSelector restricts the list of returned objects to those with matching labels.
	LabelSelector string `json:"labelSelector,omitempty" pb:"1"`
	// FieldSelector restricts the list of returned objects to those with matching fields.
	FieldSelector string `json:"fieldSelector,omitempty" pb:"2"`
	// Watch for changes to the described resources: the answer is a stream of events in place of a
	// list. resourceVersion says from where it starts.
	Watch bool `json:"watch,omitempty" pb:"3"`
	// AllowWatchBookmarks asks a watch for events of type BOOKMARK, which tell how far it has come.
	// There is no promise when, if at all, they are sent.
	AllowWatchBookmarks bool `json:"allowWatchBookmarks,omitempty" pb:"9"`
	// ResourceVersion bounds the revision that a list shows, or is the revision from which a watch
	// starts. Unset, a list shows the newest state.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"4"`
	// ResourceVersionMatch says how resourceVersion bounds a list: Exact or NotOlderThan.
	ResourceVersionMatch ResourceVersionMatch `json:"resourceVersionMatch,omitempty" pb:"10"`
	// TimeoutSeconds ends the list or watch after that many seconds.
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty" pb:"5"`
	// Limit is the most items that a list answers with. If there are more, the answer carries a
	// continue token.
	Limit int64 `json:"limit,omitempty" pb:"7"`
	// Continue is the token of the page before. Selectors must be the same as there. A token that
	// is too old gets 410; the answer may carry another, which goes on with a newer state.
	Continue string `json:"continue,omitempty" pb:"8"`
	// SendInitialEvents makes a watch begin with an event for each object that exists, and a
	// bookmark after them. It needs resourceVersionMatch NotOlderThan.
	SendInitialEvents *bool `json:"sendInitialEvents,omitempty" pb:"11"`
	// ShardSelector restricts the answer to one shard of the objects, by a range of hashes.
	ShardSelector string `json:"shardSelector,omitempty" pb:"15"`
}

// ResourceVersionMatch says how a list relates to the revision that it names.
type ResourceVersionMatch string

// The values of ResourceVersionMatch.
const (
	ResourceVersionMatchNotOlderThan ResourceVersionMatch = "NotOlderThan"
	ResourceVersionMatchExact        ResourceVersionMatch = "Exact"
)

// GetOptions are the options of a get.
type GetOptions struct {
	TypeMeta `json:",inline"`
	// ResourceVersion is a revision that the answer must not be older than. Unset, it is the
	// newest.
	ResourceVersion string `json:"resourceVersion,omitempty" pb:"1"`
}

// DeletionPropagation says what becomes of the dependents of an object that is deleted.
type DeletionPropagation string

// The values of DeletionPropagation.
const (
	DeletePropagationOrphan     DeletionPropagation = "Orphan"     // dependents stay
	DeletePropagationBackground DeletionPropagation = "Background" // dependents go after the object
	DeletePropagationForeground DeletionPropagation = "Foreground" // dependents go before the object
)

// DryRunAll as dryRun runs all steps of a request but the last: nothing is stored.
const DryRunAll = "All"

// DeleteOptions are the options of a deletion.
type DeleteOptions struct {
	TypeMeta `json:",inline"`
	// GracePeriodSeconds is how long the object may take to end by itself, in seconds; 0 deletes at
	// once. Unset, the kind decides.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty" pb:"1"`
	// Preconditions must hold, else nothing is deleted and the answer is 409.
	Preconditions *Preconditions `json:"preconditions,omitempty" pb:"2"`
	// OrphanDependents is the older form of propagationPolicy: true is Orphan. Only one of them may
	// be set.
	OrphanDependents *bool `json:"orphanDependents,omitempty" pb:"3"`
	// PropagationPolicy says what becomes of dependents: Orphan, Background or Foreground. Unset,
	// the kind and the finalizers decide.
	PropagationPolicy *DeletionPropagation `json:"propagationPolicy,omitempty" pb:"4"`
	// DryRun, if it holds All, goes through everything but deletes nothing.
	DryRun []string `json:"dryRun,omitempty" pb:"5" list:"atomic"`
	// IgnoreStoreReadErrorWithClusterBreakingPotential deletes an object that cannot be read any
	// more, past finalizers and preconditions. That can leave behind what nobody cleans up.
	IgnoreStoreReadErrorWithClusterBreakingPotential *bool `json:"ignoreStoreReadErrorWithClusterBreakingPotential,omitempty" pb:"6"`
}

// IgnoreReadErrors is the JSON name of
// DeleteOptions.IgnoreStoreReadErrorWithClusterBreakingPotential, which is also that of the query
// parameter.
const IgnoreReadErrors = "ignoreStoreReadErrorWithClusterBreakingPotential"

// IgnoresReadErrors reports whether the option to delete an unreadable object is set and true.
func (o *DeleteOptions) IgnoresReadErrors() bool {
	unread := o.IgnoreStoreReadErrorWithClusterBreakingPotential
	return unread != nil && *unread
}

// Preconditions must hold for a deletion to happen.
type Preconditions struct {
	// UID is the UID that the object must have.
	UID *UID `json:"uid,omitempty" pb:"1"`
	// ResourceVersion is the resourceVersion that the object must have.
	ResourceVersion *string `json:"resourceVersion,omitempty" pb:"2"`
}

// What the server does about unknown and repeated fields in a body (fieldValidation).
const (
	FieldValidationIgnore = "Ignore" // drop them
	FieldValidationWarn   = "Warn"   // drop them and warn; the default
	FieldValidationStrict = "Strict" // refuse the request
)

// CreateOptions are the options of a create.
type CreateOptions struct {
	TypeMeta `json:",inline"`
	// DryRun, if it holds All, stores nothing.
	DryRun []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	// FieldManager names who makes the change, in at most 128 printable characters.
	FieldManager string `json:"fieldManager,omitempty" pb:"3"`
	// FieldValidation says what to do about unknown and repeated fields: Ignore, Warn or Strict.
	FieldValidation string `json:"fieldValidation,omitempty" pb:"4"`
}

// UpdateOptions are the options of an update.
type UpdateOptions struct {
	TypeMeta `json:",inline"`
	// DryRun, if it holds All, stores nothing.
	DryRun []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	// FieldManager names who makes the change, in at most 128 printable characters.
	FieldManager string `json:"fieldManager,omitempty" pb:"2"`
	// FieldValidation says what to do about unknown and repeated fields: Ignore, Warn or Strict.
	FieldValidation string `json:"fieldValidation,omitempty" pb:"3"`
}

// PatchOptions are the options of a patch.
type PatchOptions struct {
	TypeMeta `json:",inline"`
	// DryRun, if it holds All, stores nothing.
	DryRun []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	// Force makes an apply take over fields that other managers own. It must be unset for other
	// patches.
	Force *bool `json:"force,omitempty" pb:"2"`
	// FieldManager names who makes the change, in at most 128 printable characters. An apply must
	// set it.
	FieldManager string `json:"fieldManager,omitempty" pb:"3"`
	// FieldValidation says what to do about unknown and repeated fields: Ignore, Warn or Strict.
	FieldValidation string `json:"fieldValidation,omitempty" pb:"4"`
}

// ApplyOptions are the options of a server-side apply, as clients write them; on the wire they are
// PatchOptions.
type ApplyOptions struct {
	TypeMeta `json:",inline"`
	// DryRun, if it holds All, stores nothing.
	DryRun []string `json:"dryRun,omitempty" pb:"1" list:"atomic"`
	// Force takes over fields that other managers own.
	Force bool `json:"force" pb:"2"`
	// FieldManager names who makes the change.
	FieldManager string `json:"fieldManager" pb:"3"`
}

// IncludeObjectPolicy says how much of each object the rows of a Table carry.
type IncludeObjectPolicy string

// The values of IncludeObjectPolicy.
const (
	IncludeNone     IncludeObjectPolicy = "None"
	IncludeMetadata IncludeObjectPolicy = "Metadata" // the default
	IncludeObject   IncludeObjectPolicy = "Object"
)

// TableOptions are the options of a read as a Table.
type TableOptions struct {
	TypeMeta `json:",inline"`
	// NoHeaders leaves the column definitions out. It is not on the wire.
	NoHeaders bool `json:"-"`
	// IncludeObject says how much of each object the rows carry: None, Metadata or Object.
	IncludeObject IncludeObjectPolicy `json:"includeObject,omitempty" pb:"1"`
}
