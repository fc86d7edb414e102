package meta

// LabelSelector selects objects by their labels. All of its requirements must hold. Empty it
// selects all objects, unset none.
type LabelSelector struct {
	_ struct{} `struct:"atomic"`

	// MatchLabels are labels that objects must have, with these values.
	MatchLabels map[string]string `json:"matchLabels,omitempty" pb:"1"`
	// MatchExpressions are further requirements.
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty" pb:"2" list:"atomic"`
}

// LabelSelectorRequirement is one requirement on a label.
type LabelSelectorRequirement struct {
	// Key is the key of the label.
	Key string `json:"key" pb:"1"`
	// Operator says how the label must relate to values: In, NotIn, Exists or DoesNotExist.
	Operator LabelSelectorOperator `json:"operator" pb:"2"`
	// Values are the values. With In and NotIn there must be some, with Exists and DoesNotExist
	// none.
	Values []string `json:"values,omitempty" pb:"3" list:"atomic"`
}

// LabelSelectorOperator is how a label must relate to the values of a requirement.
type LabelSelectorOperator string

// The operators of a LabelSelectorRequirement.
const (
	LabelSelectorOpIn           LabelSelectorOperator = "In"
	LabelSelectorOpNotIn        LabelSelectorOperator = "NotIn"
	LabelSelectorOpExists       LabelSelectorOperator = "Exists"
	LabelSelectorOpDoesNotExist LabelSelectorOperator = "DoesNotExist"
)

// FieldSelectorRequirement is one requirement on a field.
type FieldSelectorRequirement struct {
	// Key is the path of the field.
	Key string `json:"key" pb:"1"`
	// Operator says how the field must relate to values: In, NotIn, Exists or DoesNotExist.
	Operator FieldSelectorOperator `json:"operator" pb:"2"`
	// Values are the values. With In and NotIn there must be some, with Exists and DoesNotExist
	// none.
	Values []string `json:"values,omitempty" pb:"3" list:"atomic"`
}

// FieldSelectorOperator is how a field must relate to the values of a requirement.
type FieldSelectorOperator string

// The operators of a FieldSelectorRequirement.
const (
	FieldSelectorOpIn           FieldSelectorOperator = "In"
	FieldSelectorOpNotIn        FieldSelectorOperator = "NotIn"
	FieldSelectorOpExists       FieldSelectorOperator = "Exists"
	FieldSelectorOpDoesNotExist FieldSelectorOperator = "DoesNotExist"
)
