package router

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file answers lists. The bytes of the objects, which the cache holds, are joined into a list
// without decoding them and without building the list in memory: the response is written in parts
// of flushAt bytes. JSON, YAML and protobuf each have a function of their own.

// list answers with a page of objects.
func (e *endpoint) list(out answer, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, codec.OfferStream)
	if err != nil {
		return err
	}
	req, _, err := e.listRequest(info)
	if err != nil {
		return err
	}
	ctx, span := request.Begin(r.Context(), request.SpanOther, "cacher.GetList")
	list, err := e.res.Lister.List(ctx, req)
	span.End()
	if err != nil {
		return err
	}
	return e.writeList(out, r, list, media)
}

// writeList writes a list in the form that the client accepts. After the first part has been
// written, an error cuts the connection (see finish).
func (e *endpoint) writeList(out answer, r *http.Request, list *request.List, media codec.Media) error {
	if media.As == codec.AsPartial {
		return e.errIsList(media.As)
	}
	ctx, span := request.Begin(r.Context(), request.SpanEncode, encodeSpan)
	defer span.End()
	lm := meta.ListMeta{
		ResourceVersion: list.ResourceVersion, Continue: list.Continue, RemainingItemCount: list.Remaining,
	}
	if media.As == codec.AsTable {
		return e.writeTable(out, r, http.StatusOK, list.Items, lm, media)
	}
	if out.records() {
		var err error
		if out.record.AnsweredObject, err = e.noteList(r.Context(), list, lm, media, out.record); err != nil {
			return err
		}
	}
	if media.Type == codec.Protobuf {
		return e.writeProtoList(out, r, list, lm, media)
	}
	made, err := e.items(ctx, list, media)
	if err != nil {
		return err
	}
	if media.Type == codec.YAML {
		return e.writeYAMLList(out, r, list, made, lm, media)
	}
	out.begin(http.StatusOK, contentTypes[codec.JSON])
	buf := buffers.Get().(*[]byte)
	defer putBuffer(buf)
	flush := func(b []byte) ([]byte, error) {
		_, err := out.Write(b)
		return b[:0], err
	}
	if media.Pretty {
		flush = indented(out)
	}
	if err = e.appendList(buf, list, made, lm, media, flush); err == nil {
		if !media.Pretty {
			*buf = append(*buf, '\n')
		}
		_, err = flush(*buf)
	}
	return finish(out, err)
}

// noteList returns a list as JSON, in one piece, for a Record.
func (e *endpoint) noteList(
	ctx context.Context, list *request.List, lm meta.ListMeta, media codec.Media, record *request.Record,
) ([]byte, error) {
	media = codec.Media{As: media.As, Group: media.Group, Version: media.Version,
		DropManagedFields: media.DropManagedFields || record.OmitManagedFields}
	made, err := e.items(ctx, list, media)
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, flushAt)
	err = e.appendList(&text, list, made, lm, media, func(b []byte) ([]byte, error) { return b, nil })
	return text, err
}

// indented returns a flush function that indents the JSON part by part.
func indented(out answer) func(b []byte) ([]byte, error) {
	var indenter codec.Indenter
	var part []byte
	return func(b []byte) ([]byte, error) {
		part = indenter.Append(part[:0], b)
		_, err := out.Write(part)
		return b[:0], err
	}
}

// finish ends a response in parts. If err says that the response is incomplete, it cuts the
// connection, so that the client does not take the part for the whole.
func finish(out answer, err error) error {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// items returns the JSON of the objects that are not stored in the wanted form; see
// form.encodeList. list.Form saves looking at each object when all are stored in it.
func (e *endpoint) items(ctx context.Context, list *request.List, media codec.Media) ([][]byte, error) {
	media = itemMedia(media)
	media.Type = codec.JSON
	if list.Form != nil && e.formOf(media) == e.plain && list.Form() == e.plain {
		return nil, nil
	}
	return e.form(ctx, media).encodeList(list)
}

// appendList appends the list's JSON to *buf and calls flush whenever *buf has grown to flushAt.
// made is the result of e.items.
func (e *endpoint) appendList(
	buf *[]byte, list *request.List, made [][]byte, lm meta.ListMeta, media codec.Media,
	flush func([]byte) ([]byte, error),
) error {
	kind, cut := e.listShown(media)
	*buf = appendListHead((*buf)[:0], kind, lm, kind.Kind == e.listKind && e.res.Custom)
	if list.Len == 0 && media.As == codec.AsPartialList {
		*buf = append((*buf)[:len(*buf)-1], "null}"...)
		return nil
	}
	i := 0
	for enc := range list.Items {
		if i > 0 {
			*buf = append(*buf, ',')
		}
		*buf = e.appendItem(*buf, enc, made, i, cut)
		i++
		if len(*buf) >= flushAt {
			var err error
			if *buf, err = flush(*buf); err != nil {
				return err
			}
		}
	}
	*buf = append(*buf, "]}"...)
	return nil
}

// listShown returns the kind of the list, and whether its items are shown without kind and
// apiVersion.
func (e *endpoint) listShown(media codec.Media) (kind meta.GroupVersionKind, cut bool) {
	if media.As == codec.AsPartialList {
		return meta.GroupVersionKind{Group: media.Group, Version: media.Version, Kind: codec.AsPartialList}, false
	}
	return e.res.Kind.GroupVersion().WithKind(e.listKind), !e.res.Custom
}

// appendItem appends the i-th item of a list. If cut is set, it leaves out kind and apiVersion, as
// kube-apiserver does in lists of built-in kinds.
func (e *endpoint) appendItem(dst []byte, enc request.Encoded, made [][]byte, i int, cut bool) []byte {
	data, form := enc.Stored()
	head := enc.Head()
	if made != nil && made[i] != nil {
		data = made[i]
		if form != e.plain { // otherwise managedFields were cut out of the stored bytes, whose head is unchanged
			head = len(e.itemDoc)
		}
	}
	if cut {
		return append(append(dst, '{'), data[head:]...)
	}
	return append(dst, data...)
}

// asItem returns the kind of the items in a list of kind as.
func asItem(as string) string {
	if as == codec.AsPartialList {
		return codec.AsPartial
	}
	return as
}

// appendListHead appends the list's JSON up to the opening bracket of its items. If custom is set,
// the continue token is shown even if it is empty.
func appendListHead(b []byte, kind meta.GroupVersionKind, lm meta.ListMeta, custom bool) []byte {
	b = append(b, `{"kind":"`...)
	b = append(b, kind.Kind...)
	b = append(b, `","apiVersion":"`...)
	b = append(b, kind.GroupVersion().String()...)
	b = append(b, `","metadata":{`...)
	sep := ""
	if lm.ResourceVersion != "" {
		b = append(b, `"resourceVersion":"`...)
		b = append(b, lm.ResourceVersion...)
		b = append(b, '"')
		sep = ","
	}
	if lm.Continue != "" || custom {
		b = append(append(b, sep...), `"continue":"`...)
		b = append(b, lm.Continue...)
		b = append(b, '"')
		sep = ","
	}
	if lm.RemainingItemCount != nil {
		b = append(append(b, sep...), `"remainingItemCount":`...)
		b = strconv.AppendInt(b, *lm.RemainingItemCount, 10)
	}
	return append(b, `},"items":[`...)
}

// noItems is the YAML of the items of an empty list.
const noItems = "items: []\n"

// writeYAMLList writes a list as YAML, item by item. This works because the elements of a YAML list
// are not indented, so each item is encoded as a list of one.
func (e *endpoint) writeYAMLList(
	out answer, r *http.Request, list *request.List, made [][]byte, lm meta.ListMeta, media codec.Media,
) error {
	kind, cut := e.listShown(media)
	empty, err := codec.AppendYAML(nil, append(appendListHead(nil, kind, lm, e.res.Custom), "]}"...))
	if err != nil {
		return err
	}
	if list.Len == 0 {
		out.whole(http.StatusOK, contentTypes[codec.YAML], empty)
		return nil
	}
	before, after, _ := bytes.Cut(empty, []byte(noItems))
	out.begin(http.StatusOK, contentTypes[codec.YAML])
	part := append(slices.Clip(before), "items:\n"...)
	var item []byte
	i := 0
	for enc := range list.Items {
		item = append(e.appendItem(append(item[:0], '['), enc, made, i, cut), ']')
		i++
		if part, err = codec.AppendYAML(part, item); err != nil {
			return finish(out, err)
		}
		if len(part) >= flushAt {
			if _, err := out.Write(part); err != nil {
				return finish(out, err)
			}
			part = part[:0]
		}
	}
	_, err = out.Write(append(part, after...))
	return finish(out, err)
}

// writeProtoList writes a protobuf list. In protobuf the size of a message precedes it, so all
// items are encoded before the first byte is written. No object is stored in a form of a response,
// because protobuf is stored without resourceVersion, so encodeList makes or finds a message for
// each item.
func (e *endpoint) writeProtoList(
	out answer, r *http.Request, list *request.List, lm meta.ListMeta, media codec.Media,
) error {
	kind, _ := e.listShown(media)
	messages, err := e.form(r.Context(), itemMedia(media)).encodeList(list)
	if err != nil {
		return err
	}
	size := 0
	for i := range messages {
		if messages[i], err = codec.ProtoBody(messages[i]); err != nil {
			return err
		}
		size += codec.ProtoItemSize(len(messages[i]))
	}
	out.begin(http.StatusOK, contentTypes[codec.Protobuf])
	buf := buffers.Get().(*[]byte)
	defer putBuffer(buf)
	*buf = codec.AppendProtoListHead((*buf)[:0], kind, &lm, size)
	for _, m := range messages {
		*buf = codec.AppendProtoItem(*buf, m)
		if len(*buf) >= flushAt {
			if _, err := out.Write(*buf); err != nil {
				return finish(out, err)
			}
			*buf = (*buf)[:0]
		}
	}
	*buf = codec.AppendProtoListTail(*buf)
	_, err = out.Write(*buf)
	return finish(out, err)
}
