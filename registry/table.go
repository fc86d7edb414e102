package registry

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Columns returns the columns of the kind's Table. Kinds without one have name and age.
func (s *Store) Columns() []meta.TableColumnDefinition {
	if t := s.table(); t != nil {
		return t.Columns
	}
	return defaultColumns
}

// Rows shows the objects of a Store as rows of a Table, for requests in one version. The embedded
// Store serves everything else.
type Rows struct {
	*Store
	version string
	table   *TreeTable
}

// RowsIn returns the Rows for requests in a version, which may have a Table of its own.
func (s *Store) RowsIn(version string) *Rows {
	r := &Rows{Store: s, version: version}
	if s.project == nil {
		r.table = s.res.Tables[version]
	}
	return r
}

// Columns returns the columns of the version's table.
func (r *Rows) Columns() []meta.TableColumnDefinition {
	if r.table != nil {
		return r.table.Columns
	}
	return r.Store.Columns()
}

// Row returns the cells of an object's row, one for each column, and the row's conditions. Without
// an object (enc is nil) it is the row of an empty one, for bookmarks.
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

// table returns the declared Table, of the projection if the door has one; nil if none is declared.
func (s *Store) table() *Table {
	if s.project != nil {
		return s.project.Table
	}
	return s.res.Table
}

// Row returns the cells of an object's row, one for each column, and the row's conditions. Without
// an object (enc is nil) it is the row of an empty one, for bookmarks.
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

// defaultColumns are the columns of kinds that declare no Table.
var defaultColumns = []meta.TableColumnDefinition{
	{
		Name: "Name", Type: "string", Format: "name",
		Description: "Name of the object, unique among those of its kind in its namespace.",
	},
	{Name: "Created At", Type: "date", Description: "When the object was created."},
}
