package router

import (
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// bookmark encodes the object of a BOOKMARK event: an empty object with the resourceVersion, in the
// form of the watch. A bookmark that ends the initial events carries the annotation
// k8s.io/initial-events-end.
func (wt *watcher) bookmark(ev *request.Event) ([]byte, error) {
	m := meta.ObjectMeta{ResourceVersion: ev.ResourceVersion}
	if ev.InitialEnd {
		m.Annotations = map[string]string{meta.InitialEventsAnnotation: "true"}
	}
	if wt.media.As == codec.AsTable {
		return wt.bookmarkTable(m, ev.InitialEnd)
	}
	return wt.empty(m, wt.media)
}

// bookmarkTable encodes the bookmark as a Table with one row, that of an empty object. The
// resourceVersion and the annotation are in the row's object. So the bookmark that ends the initial
// events has that object even if the client asked for rows without objects.
func (wt *watcher) bookmarkTable(m meta.ObjectMeta, initialEnd bool) ([]byte, error) {
	include, err := includeObject(wt.r)
	if err != nil {
		return nil, err
	}
	if include == meta.IncludeNone && initialEnd {
		include = meta.IncludeMetadata
	}
	var row meta.TableRow
	if row.Cells, row.Conditions, err = wt.e.res.Tabler.Row(wt.ctx, nil, wt.e.cfg.Now()); err != nil {
		return nil, err
	}
	switch include {
	case meta.IncludeObject:
		row.Object.Raw, err = wt.empty(m, codec.Media{})
	case meta.IncludeMetadata:
		row.Object.Raw, err = wt.empty(
			m, codec.Media{As: codec.AsPartial, Group: wt.media.Group, Version: wt.media.Version},
		)
	}
	if err != nil {
		return nil, err
	}
	table := wt.e.newTable(meta.ListMeta{ResourceVersion: m.ResourceVersion}, wt.media)
	table.Rows = append(table.Rows, row)
	return wt.tableOf(table)
}

// empty encodes an object of the watched kind that has only metadata.
func (wt *watcher) empty(m meta.ObjectMeta, media codec.Media) ([]byte, error) {
	if media.As != "" {
		part := &meta.PartialObjectMetadata{ObjectMeta: m}
		part.SetGroupVersionKind(
			meta.GroupVersionKind{Group: media.Group, Version: media.Version, Kind: codec.AsPartial},
		)
		return encodeUncached(part, media.Type, wt.e.cfg.Codecs.Append)
	}
	k := wt.e.res.Type
	// Decoding {} gives an empty object of the served version, without any conversion.
	empty, err := k.Decode(codec.DecodeRequest{Data: []byte("{}"), As: wt.e.res.Kind})
	if err != nil {
		return nil, err
	}
	*metaOf(empty.Object) = m
	return encodeUncached(empty.Object, media.Type, k.Append)
}

// encodeUncached encodes an object that is not in the cache. JSON is without a final newline.
func encodeUncached(
	obj meta.Typed, typ codec.Type, encode func([]byte, meta.Typed, codec.Media) ([]byte, error),
) ([]byte, error) {
	if typ == codec.JSON {
		return codec.AppendJSON(nil, obj)
	}
	return encode(nil, obj, codec.Media{Type: typ})
}
