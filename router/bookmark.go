package router

import (
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// bookmark encodes an empty object that carries the revision, in the form of the watch.
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

// bookmarkTable encodes the bookmark as a Table with the row of an empty object. What has the revision and the
// annotations is the object in the row; the one that ends the initial events is there even if no objects are wanted.
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
		row.Object.Raw, err = wt.empty(m, codec.Media{As: codec.AsPartial, Group: wt.media.Group, Version: wt.media.Version})
	}
	if err != nil {
		return nil, err
	}
	table := wt.e.newTable(meta.ListMeta{ResourceVersion: m.ResourceVersion}, wt.media)
	table.Rows = append(table.Rows, row)
	return wt.tableOf(table)
}

// empty encodes an object that has nothing but metadata.
func (wt *watcher) empty(m meta.ObjectMeta, media codec.Media) ([]byte, error) {
	if media.As != "" {
		part := &meta.PartialObjectMetadata{ObjectMeta: m}
		part.SetGroupVersionKind(meta.GroupVersionKind{Group: media.Group, Version: media.Version, Kind: codec.AsPartial})
		return loose(part, media.Type, wt.e.cfg.Codecs.Append)
	}
	k := wt.e.res.Type
	// An empty object of the version, as a client would send it: nothing is there to be converted.
	empty, err := k.Decode(codec.DecodeRequest{Data: []byte("{}"), As: wt.e.res.Kind})
	if err != nil {
		return nil, err
	}
	*metaOf(empty.Object) = m
	return loose(empty.Object, media.Type, k.Append)
}

// loose encodes an object that is not in the cache, JSON without a final newline.
func loose(obj meta.Typed, typ codec.Type, encode func([]byte, meta.Typed, codec.Media) ([]byte, error)) ([]byte, error) {
	if typ == codec.JSON {
		return codec.AppendJSON(nil, obj)
	}
	return encode(nil, obj, codec.Media{Type: typ})
}
