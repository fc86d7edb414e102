package registry

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Columns returns the columns of the kind's Table.
func (s *Store) Columns() []meta.TableColumnDefinition {
	if t := s.table(); t != nil {
		return t.Columns
	}
	return defaultColumns
}

// Rows shows the objects of a store in rows, to those who address it in one version.
type Rows struct {
	*Store
	version string
	table   *TreeTable
}

// RowsIn returns the Rows of a version.
func (s *Store) RowsIn(version string) *Rows {
	r := &Rows{Store: s, version: version}
	if s.project == nil {
		r.table = s.res.Tables[version]
	}
	return r
}

// Columns is Store.Columns.
func (r *Rows) Columns() []meta.TableColumnDefinition {
	if r.table != nil {
		return r.table.Columns
	}
	return r.Store.Columns()
}

// Row is Store.Row.
func (r *Rows) Row(ctx context.Context, enc request.Encoded, now time.Time) ([]any, []meta.TableRowCondition, error) {
	switch {
	case r.table == nil:
		return r.Store.Row(ctx, enc, now)
	case enc == nil:
		return r.table.Cells(nil, now), nil, nil
	}
	data, form := enc.Stored()
	if shown := r.FormOf(r.version, codec.Media{}); form != shown {
		var err error
		data, err = enc.Form(shown, func() ([]byte, error) { return r.Encode(ctx, enc, r.version, codec.Media{}) })
		if err != nil {
			return nil, nil, err
		}
	}
	tree, err := jsontext.Decode(data, nil)
	if err != nil {
		return nil, nil, r.namedError(ctx, enc, r.reader.corrupt(ctx, enc, err))
	}
	object, _ := tree.(map[string]any)
	return r.table.Cells(object, now), nil, nil
}

// table is how objects are shown in rows; nil: as those that declare nothing.
func (s *Store) table() *Table {
	if s.project != nil {
		return s.project.Table
	}
	return s.res.Table
}

// Row returns the cells of an object's row, one for each column, and the row's conditions. Without
// an object it is the row of an empty one.
func (s *Store) Row(ctx context.Context, enc request.Encoded, now time.Time) ([]any, []meta.TableRowCondition, error) {
	if enc == nil {
		cells, conditions := s.row(s.kind.New(), now)
		return cells, conditions, nil
	}
	obj, err := s.Decode(ctx, enc)
	if err != nil {
		return nil, nil, err
	}
	cells, conditions := s.row(obj, now)
	return cells, conditions, nil
}

func (s *Store) row(obj meta.Object, now time.Time) ([]any, []meta.TableRowCondition) {
	t := s.table()
	if t == nil {
		m := obj.GetObjectMeta()
		var created time.Time
		if m.CreationTimestamp != nil {
			created = m.CreationTimestamp.UTC()
		}
		return []any{m.Name, created.Format(time.RFC3339)}, nil
	}
	var conditions []meta.TableRowCondition
	if t.Conditions != nil {
		conditions = t.Conditions(obj)
	}
	return t.Cells(obj, now), conditions
}

// defaultColumns are for kinds that declare none.
var defaultColumns = []meta.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "Name of the object, unique among those of its kind in its namespace."},
	{Name: "Created At", Type: "date", Description: "When the object was created."},
}
