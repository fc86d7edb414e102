package meta

import "time"

type UID string
type Time struct{ time.Time }
type MicroTime struct{ time.Time }
type Duration struct{ time.Duration }
type FieldsV1 struct{ Raw []byte }
type RawExtension struct{ Raw []byte }
type IntOrString struct {
	Type   int64
	IntVal int32
	StrVal string
}
type Quantity struct{ text string }

type LabelRequirements []LabelRequirement
type LabelRequirement struct{}
type FieldRequirements []FieldRequirement
type FieldRequirement struct{}
