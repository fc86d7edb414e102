package router

import (
	"context"
	"iter"
	"net/http"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
)

// writeTable answers with a Table whose rows are objects.
func (e *endpoint) writeTable(
	out answer, r *http.Request, code int, objects iter.Seq[request.Encoded], lm meta.ListMeta, media codec.Media,
) error {
	ctx, making := request.Begin(r.Context(), request.SpanTransform, "make table")
	table, err := e.table(ctx, r, objects, lm, media)
	making.End()
	if err != nil {
		return err
	}
	var sent []byte // nil: the Record has no JSON, or none of this table
	if out.records() {
		noted := table
		if out.record.OmitManagedFields && !media.DropManagedFields {
			media.DropManagedFields = true
			if noted, err = e.table(r.Context(), r, objects, lm, media); err != nil {
				return err
			}
		}
		out.record.AnsweredObject = noteOf(e.cfg.Codecs, noted)
		if noted == table {
			sent = out.record.AnsweredObject
		}
	}
	_, span := request.Begin(r.Context(), request.SpanEncode, encodeSpan)
	defer span.End()
	out.encoded(code, e.cfg.Codecs, table, codec.Media{Type: media.Type, Pretty: media.Pretty}, sent)
	return nil
}

// table makes the Table of objects. The client chooses by includeObject how much of each object its
// row carries.
func (e *endpoint) table(
	ctx context.Context, r *http.Request, objects iter.Seq[request.Encoded], lm meta.ListMeta, media codec.Media,
) (*meta.Table, error) {
	include, err := includeObject(r)
	if err != nil {
		return nil, err
	}
	table := e.newTable(lm, media)
	whole := e.form(ctx, codec.Media{DropManagedFields: media.DropManagedFields})
	partial := e.form(ctx, codec.Media{
		As: codec.AsPartial, Group: media.Group, Version: media.Version, DropManagedFields: media.DropManagedFields,
	})
	now, m := e.cfg.Now(), meter.New(ctx)
	for enc := range objects {
		data, _ := enc.Stored()
		if err := m.Step(stepsPerObject + len(data)); err != nil {
			return nil, err
		}
		cells, conditions, err := e.res.Tabler.Row(ctx, enc, now)
		if err != nil {
			return nil, err
		}
		row := meta.TableRow{Cells: cells, Conditions: conditions}
		switch include {
		case meta.IncludeObject:
			row.Object.Raw, err = whole.encoded(enc)
		case meta.IncludeMetadata:
			row.Object.Raw, err = partial.encoded(enc)
		}
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

// newTable returns a Table without rows.
func (e *endpoint) newTable(lm meta.ListMeta, media codec.Media) *meta.Table {
	table := &meta.Table{ListMeta: lm, ColumnDefinitions: e.res.Tabler.Columns(), Rows: []meta.TableRow{}}
	table.SetGroupVersionKind(meta.GroupVersionKind{Group: media.Group, Version: media.Version, Kind: codec.AsTable})
	return table
}

// includeObject reads the parameter includeObject.
func includeObject(r *http.Request) (meta.IncludeObjectPolicy, error) {
	v := request.QueryOf(r).Get("includeObject")
	switch p := meta.IncludeObjectPolicy(v); p {
	case "":
		return meta.IncludeMetadata, nil
	case meta.IncludeNone, meta.IncludeMetadata, meta.IncludeObject:
		return p, nil
	}
	return "", meta.NewBadRequest("Unable to convert to Table as requested: " +
		field.Invalid(
			field.NewPath("includeObject"), meta.Excerpt(v), "must be 'Metadata', 'Object', 'None', or empty",
		).Error())
}
