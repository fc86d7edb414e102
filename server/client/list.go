// Lists: Resource.List and All, with the decoding of objects that lists and watches share, and the
// queries of all requests.

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// List is a list of objects, or a page of a list. All its objects are of one revision.
type List[T meta.Object] struct {
	meta.ListMeta
	Items []T
	// Unread are the objects that cannot be read, if the context of the list comes from
	// meta.WithUnread. With another context one such object fails the whole list.
	Unread []meta.Unread
}

// List returns the objects that opts select: all of them, or one page if opts.Limit is set. To get
// the next page, the caller sets opts.Continue to the Continue of the page.
func (r Resource[T]) List(ctx context.Context, opts meta.ListOptions) (*List[T], error) {
	path, err := r.path(r.namespace, "")
	if err != nil {
		return nil, err
	}
	opts.Watch = false
	return r.list(ctx, &call{method: http.MethodGet, path: path, query: listQuery(&opts), accept: accept[T](true)})
}

// pageSize is the number of objects of a page in All and Source.
const pageSize = 500

// All yields the objects that opts select, of one revision. It reads them in pages of opts.Limit,
// by default 500. All ends after it has yielded an error; meta.IsResourceExpired means that the
// reader took too long. With a context of meta.WithUnread, an object that cannot be read does not
// end All: All yields an object that has only the namespace and the name, with an error for which
// meta.IsUnreadable is true, and goes on.
func (r Resource[T]) All(ctx context.Context, opts meta.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range r.pages(ctx, opts) {
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, obj := range page.Items {
				if !yield(obj, nil) {
					return
				}
			}
			for _, u := range page.Unread {
				if !yield(nameOnly[T](u.Namespace, u.Name), r.unreadError(&u)) {
					return
				}
			}
		}
	}
}

// nameOnly makes an object that has only a namespace and a name.
func nameOnly[T meta.Object](namespace, name string) T {
	obj := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	m := obj.GetObjectMeta()
	m.Namespace, m.Name = namespace, name
	return obj
}

// unreadError returns the error of an object that cannot be read, for which meta.IsUnreadable is
// true.
func (r Resource[T]) unreadError(u *meta.Unread) error {
	name := u.Name
	if u.Namespace != "" {
		name = u.Namespace + "/" + u.Name
	}
	return meta.NewStoreReadError(fmt.Sprintf("%s %s: %s", r.gvr.GroupResource(), name, u.Why), nil)
}

// pages yields the pages of a list. It ends after it has yielded an error.
func (r Resource[T]) pages(ctx context.Context, opts meta.ListOptions) iter.Seq2[*List[T], error] {
	return func(yield func(*List[T], error) bool) {
		if opts.Limit == 0 {
			opts.Limit = pageSize
		}
		for more := true; more; {
			page, err := r.List(ctx, opts)
			if !yield(page, err) || err != nil {
				return
			}
			// The token Continue holds the revision.
			opts.Continue, opts.ResourceVersion, opts.ResourceVersionMatch = page.Continue, "", ""
			more = page.Continue != ""
		}
	}
}

// list sends a call whose answer is a list, and reports unread objects to Config.Unread.
func (r Resource[T]) list(ctx context.Context, call *call) (*List[T], error) {
	list := &List[T]{}
	lenient := meta.ShowsUnread(ctx)
	if err := r.c.do(ctx, call, func(data []byte) error { return r.decodeList(data, list, lenient) }); err != nil {
		return nil, err
	}
	for _, u := range list.Unread {
		r.c.unread(r.gvr.GroupResource(), u)
	}
	return list, nil
}

// decodeList decodes a list. Items of built-in kinds do not name their kind, which follows from the
// kind of the list (PodList). If lenient is true, an item that cannot be read goes to list.Unread.
// Otherwise it is an error.
func (r Resource[T]) decodeList(data []byte, list *List[T], lenient bool) error {
	var found struct {
		meta.TypeMeta
		Metadata meta.ListMeta     `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return err
	}
	kind := found.GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	list.ListMeta, list.Items = found.Metadata, make([]T, 0, len(found.Items))
	for _, item := range found.Items {
		obj, u, err := r.decodeItem(item, kind, lenient)
		switch {
		case err != nil:
			return err
		case u != nil:
			list.Unread = append(list.Unread, *u)
		default:
			list.Items = append(list.Items, obj)
		}
	}
	return nil
}

// decodeItem decodes an object of a list or watch. If lenient is true and the object cannot be
// read, u describes the object, and there is no error.
func (r Resource[T]) decodeItem(data []byte, kind meta.GroupVersionKind,
	lenient bool) (obj T, u *meta.Unread, err error) {
	if !lenient {
		obj, err = r.decode(data, kind)
		return obj, nil, err
	}
	if u, ok := meta.ParseUnread(data); ok {
		return obj, &u, nil
	}
	if obj, err = r.decode(data, kind); err == nil {
		return obj, nil, nil
	}
	var named meta.PartialObjectMetadata // the server may send stored bytes that it has not decoded
	if json.Unmarshal(data, &named) != nil || named.Name == "" {
		return obj, nil, err
	}
	return obj, &meta.Unread{
		Namespace:       named.Namespace,
		Name:            named.Name,
		ResourceVersion: named.ResourceVersion,
		Why:             err.Error(),
	}, nil
}

// decode decodes one object. If data names no kind, the object is of the given kind.
func (r Resource[T]) decode(data []byte, kind meta.GroupVersionKind) (T, error) {
	var zero T
	if _, ok := any(zero).(*scheme.Unstructured); ok {
		u := new(scheme.Unstructured)
		if err := u.UnmarshalJSON(data); err != nil {
			return zero, err
		}
		if u.Kind == "" {
			u.SetGroupVersionKind(kind)
		}
		return any(u).(T), nil
	}
	decoded, err := r.c.codecs.Decode(codec.DecodeRequest{Data: data, Default: kind})
	if err != nil {
		return zero, err
	}
	obj, ok := decoded.Object.(T)
	if !ok {
		return zero, fmt.Errorf("%s is not a %T", decoded.GVK, zero)
	}
	return obj, nil
}

// accept returns the Accept header for objects or lists of T.
func accept[T meta.Object](list bool) string {
	var zero T
	if _, ok := any(zero).(*meta.PartialObjectMetadata); !ok {
		return codec.JSONType
	}
	as := codec.AsPartial
	if list {
		as = codec.AsPartialList
	}
	return codec.JSONType + ";as=" + as + ";g=" + meta.GroupName + ";v=v1"
}

// listQuery returns the query for the options of a list or watch.
func listQuery(o *meta.ListOptions) url.Values {
	query := url.Values{}
	setText(query, "labelSelector", o.LabelSelector)
	setText(query, "fieldSelector", o.FieldSelector)
	setText(query, "resourceVersion", o.ResourceVersion)
	setText(query, "resourceVersionMatch", string(o.ResourceVersionMatch))
	setText(query, "continue", o.Continue)
	setText(query, "shardSelector", o.ShardSelector)
	setBool(query, "sendInitialEvents", o.SendInitialEvents)
	if o.Limit != 0 {
		query.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	if o.TimeoutSeconds != nil {
		query.Set("timeoutSeconds", strconv.FormatInt(*o.TimeoutSeconds, 10))
	}
	if o.Watch {
		query.Set("watch", "true")
		if o.AllowWatchBookmarks {
			query.Set("allowWatchBookmarks", "true")
		}
	}
	return query
}

// writeQuery returns the query for the options of a write.
func writeQuery(dryRun []string, manager, validation string) url.Values {
	query := url.Values{}
	if len(dryRun) > 0 {
		query["dryRun"] = dryRun
	}
	setText(query, "fieldManager", manager)
	setText(query, "fieldValidation", validation)
	return query
}

func setText(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func setBool(query url.Values, name string, value *bool) {
	if value != nil {
		query.Set(name, strconv.FormatBool(*value))
	}
}
