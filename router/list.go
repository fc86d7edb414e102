package router

import (
	"context"
	"net/http"
	"strconv"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// list answers with a page of objects. Their bytes are joined as they are; no list is built.
func (e *endpoint) list(w http.ResponseWriter, r *http.Request, info *request.Info) error {
	media, err := e.accept(r, codec.OfferStream)
	if err != nil {
		return err
	}
	req, _, err := e.listRequest(info)
	if err != nil {
		return err
	}
	if media.As == codec.AsPartial {
		return errIsList(media.As, e.res.Kind)
	}
	list, err := e.res.Lister.List(r.Context(), req)
	if err != nil {
		return err
	}
	return e.writeList(w, r, list, media)
}

// writeList writes a list in the form that was asked for.
func (e *endpoint) writeList(w http.ResponseWriter, r *http.Request, list *request.List, media codec.Media) error {
	lm := meta.ListMeta{ResourceVersion: list.ResourceVersion, Continue: list.Continue, RemainingItemCount: list.Remaining}
	switch {
	case media.As == codec.AsTable:
		return e.writeTable(w, r, http.StatusOK, list.Items, lm, media)
	case media.Type == codec.Protobuf:
		return e.writeProtoList(w, r, list, lm, media)
	case media.Type == codec.YAML || media.Pretty:
		return e.writeListWhole(w, r, list, lm, media)
	}
	made, err := e.items(r.Context(), list, media)
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = contentTypes[codec.JSON]
	w.WriteHeader(http.StatusOK)
	buf := buffers.Get().(*[]byte)
	defer putBuffer(buf)
	err = e.appendList(buf, list, made, lm, media, func(b []byte) ([]byte, error) {
		_, err := w.Write(b)
		return b[:0], err
	})
	if err == nil {
		*buf = append(*buf, '\n')
		_, err = w.Write(*buf)
	}
	return abort(err)
}

// abort ends an answer that has begun and cannot be finished: the connection is cut, so that the client does not
// take the part for the whole.
func abort(err error) error {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// items makes the JSON of the objects of a list that are not stored in the form that was asked for; see form.made.
func (e *endpoint) items(ctx context.Context, list *request.List, media codec.Media) ([][]byte, error) {
	if media.As == "" && list.Form != nil && list.Form() == e.plain {
		return nil, nil
	}
	return e.form(ctx, codec.Media{As: asItem(media.As), Group: media.Group, Version: media.Version}).made(list)
}

// appendList appends the list's JSON to *buf, calling flush when it has grown large. made are the items that are not as
// they are stored.
func (e *endpoint) appendList(buf *[]byte, list *request.List, made [][]byte, lm meta.ListMeta, media codec.Media, flush func([]byte) ([]byte, error)) error {
	kind := e.res.Kind.GroupVersion().WithKind(e.listKind)
	cut := !e.res.KeepItemKind
	if media.As == codec.AsPartialList {
		kind = meta.GroupVersionKind{Group: media.Group, Version: media.Version, Kind: codec.AsPartialList}
		cut = false
	}
	*buf = appendListHead((*buf)[:0], kind, lm, e.res.KeepItemKind)
	i := 0
	for enc := range list.Items {
		if i > 0 {
			*buf = append(*buf, ',')
		}
		data, _ := enc.Stored()
		head := enc.Head()
		if made != nil && made[i] != nil {
			data, head = made[i], len(e.itemDoc)
		}
		i++
		if cut {
			*buf = append(append(*buf, '{'), data[head:]...)
		} else {
			*buf = append(*buf, data...)
		}
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

// asItem is the kind of an item in a list of the kind as.
func asItem(as string) string {
	if as == codec.AsPartialList {
		return codec.AsPartial
	}
	return as
}

// appendListHead appends everything before the items.
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

// writeListWhole writes forms that need the entire list at once: YAML and indented JSON.
func (e *endpoint) writeListWhole(w http.ResponseWriter, r *http.Request, list *request.List, lm meta.ListMeta, media codec.Media) error {
	made, err := e.items(r.Context(), list, media)
	if err != nil {
		return err
	}
	var body []byte
	if err := e.appendList(&body, list, made, lm, media, func(b []byte) ([]byte, error) { return b, nil }); err != nil {
		return err
	}
	var out []byte
	if media.Type == codec.YAML {
		out, err = codec.AppendYAML(nil, body)
	} else {
		out = codec.AppendIndent(nil, body)
	}
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, media.Type, out)
	return nil
}

// writeProtoList writes a protobuf list: sizes come before contents, so the items are encoded (or found) first.
func (e *endpoint) writeProtoList(w http.ResponseWriter, r *http.Request, list *request.List, lm meta.ListMeta, media codec.Media) error {
	kind := e.res.Kind.GroupVersion().WithKind(e.listKind)
	if media.As == codec.AsPartialList {
		kind = meta.GroupVersionKind{Group: media.Group, Version: media.Version, Kind: codec.AsPartialList}
	}
	form := e.form(r.Context(), codec.Media{Type: codec.Protobuf, As: asItem(media.As), Group: media.Group, Version: media.Version})
	messages, err := form.made(list)
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
	w.Header()["Content-Type"] = contentTypes[codec.Protobuf]
	w.WriteHeader(http.StatusOK)
	buf := buffers.Get().(*[]byte)
	defer putBuffer(buf)
	*buf = codec.AppendProtoListHead((*buf)[:0], kind, &lm, size)
	for _, m := range messages {
		*buf = codec.AppendProtoItem(*buf, m)
		if len(*buf) >= flushAt {
			if _, err := w.Write(*buf); err != nil {
				return abort(err)
			}
			*buf = (*buf)[:0]
		}
	}
	*buf = codec.AppendProtoListTail(*buf)
	_, err = w.Write(*buf)
	return abort(err)
}

// writeBody writes a finished answer.
func writeBody(w http.ResponseWriter, code int, typ codec.Type, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentTypes[typ]
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(code)
	w.Write(body)
}
