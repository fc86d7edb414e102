package meta

// Table is a list or an object as rows of text and numbers, for showing to people.
type Table struct {
	TypeMeta `json:",inline"`
	// ListMeta is the metadata of the list.
	ListMeta `json:"metadata,omitempty"`
	// ColumnDefinitions describe the columns. Each row has a cell for each.
	ColumnDefinitions []TableColumnDefinition `json:"columnDefinitions" list:"atomic"`
	// Rows are the rows, one for each object.
	Rows []TableRow `json:"rows" list:"atomic"`
}

// TableColumnDefinition describes a column of a Table.
type TableColumnDefinition struct {
	// Name is the heading.
	Name string `json:"name"`
	// Type is the OpenAPI type of the cells: string, integer, number or boolean.
	Type string `json:"type"`
	// Format is the OpenAPI format of the cells; "name" marks the column with the names of the
	// objects.
	Format string `json:"format"`
	// Description says for people what the column holds.
	Description string `json:"description"`
	// Priority is 0 for columns that are always shown, and greater for those shown on demand.
	Priority int32 `json:"priority"`
}

// TableRow is a row of a Table.
type TableRow struct {
	// Cells are the values, as many as there are columns.
	Cells []any `json:"cells" list:"atomic"`
	// Conditions say more about the row as a whole.
	Conditions []TableRowCondition `json:"conditions,omitempty" list:"atomic"`
	// Object is the object of the row, as much of it as was asked for.
	Object RawExtension `json:"object,omitempty"`
}

// TableRowCondition is a remark on a row.
type TableRowCondition struct {
	// Type names the remark.
	Type RowConditionType `json:"type"`
	// Status is True, False or Unknown.
	Status ConditionStatus `json:"status"`
	// Reason says for programs why.
	Reason string `json:"reason,omitempty"`
	// Message says for people why.
	Message string `json:"message,omitempty"`
}

// RowConditionType names a remark on a row.
type RowConditionType string

// RowCompleted marks an object that has run to its end, such as a pod. It may be shown less
// prominently.
const RowCompleted RowConditionType = "Completed"
