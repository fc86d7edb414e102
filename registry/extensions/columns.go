package extensions

import (
	"time"

	"github.com/coracle-project/coracle/registry"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/jsonpath"
	"github.com/coracle-project/coracle/scheme/meta"
)

// column is an additional printer column of a definition.
type column struct {
	path *jsonpath.Path
	typ  string // one of columnTypes
}

// tableOf returns the table of a version: the name of the object, and then the columns of the
// definition, or the age if the definition has no columns. If a path cannot be parsed, the table
// ends before that column, as in kube-apiserver.
func tableOf(defined []v1.CustomResourceColumnDefinition) *registry.TreeTable {
	if len(defined) == 0 {
		defined = ageColumn
	}
	t := &registry.TreeTable{Columns: []meta.TableColumnDefinition{registry.NameColumn}}
	var columns []column
	for _, d := range defined {
		path, err := jsonpath.Parse("{" + d.JSONPath + "}")
		if err != nil {
			break
		}
		description := d.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		columns = append(columns, column{path, d.Type})
		t.Columns = append(t.Columns, meta.TableColumnDefinition{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: description, Priority: d.Priority,
		})
	}
	name, _ := jsonpath.Parse("{.metadata.name}")
	t.Cells = func(object map[string]any, now time.Time) []any {
		cells := make([]any, 1, len(columns)+1)
		named, _, _ := name.First(object)
		cells[0], _ = named.(string)
		for _, c := range columns {
			cells = append(cells, c.cell(object, now))
		}
		return cells
	}
	return t
}

// ageColumn is the column of versions that define none.
var ageColumn = []v1.CustomResourceColumnDefinition{{
	Name: "Age", Type: "date", Description: registry.AgeColumn.Description, JSONPath: ".metadata.creationTimestamp",
}}

// cell returns the value of the column for an object. It is nil if the object has no value at the
// path, or a value of another type than the column.
func (c column) cell(object map[string]any, now time.Time) any {
	value, ok, err := c.path.First(object)
	if !ok || err != nil {
		return nil
	}
	if c.typ == "string" {
		return jsonpath.Text(value)
	}
	switch v := value.(type) {
	case int64:
		switch c.typ {
		case "integer":
			return v
		case "number":
			return float64(v)
		}
	case float64:
		switch c.typ {
		case "integer":
			return int64(v)
		case "number":
			return v
		}
	case bool:
		if c.typ == "boolean" {
			return v
		}
	case string:
		if c.typ == "date" {
			return ageOf(v, now)
		}
	}
	return nil
}

// ageOf returns the time since date, in short form such as "5d". A date that is not in RFC 3339 is
// <invalid>, and a missing one is <unknown>.
func ageOf(date string, now time.Time) string {
	var then time.Time
	if date != "" && date != "null" {
		var err error
		if then, err = time.Parse(time.RFC3339, date); err != nil {
			return "<invalid>"
		}
	}
	return registry.Since(then, now)
}
