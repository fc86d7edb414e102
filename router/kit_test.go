package router

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake serves all verbs from a list of objects and remembers what it was asked.
type fake struct {
	objects []request.Encoded
	cursor  request.EventCursor
	err     error
	calls   []string
	list    *request.ListRequest
	delete  *meta.DeleteOptions
	create  *meta.CreateOptions
	write   *request.Write
	body    meta.Object
	applied meta.ObjectMeta // the metadata given to Apply.Check; the object existed unless err is set
	// contended makes the object change after each try of an update; tries counts the tries.
	contended bool
	tries     int
}

func (f *fake) note(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fake) Get(_ context.Context, ns, name, rv string) (request.Encoded, error) {
	f.note("get %s/%s@%s", ns, name, rv)
	if f.err != nil {
		return nil, f.err
	}
	return f.objects[0], nil
}

func (f *fake) List(_ context.Context, req *request.ListRequest) (*request.List, error) {
	f.note("list %s", req.Namespace)
	f.list = req
	if f.err != nil {
		return nil, f.err
	}
	return &request.List{ResourceVersion: "9", Items: f.all(), Len: len(f.objects)}, nil
}

func (f *fake) all() iter.Seq[request.Encoded] {
	return func(yield func(request.Encoded) bool) {
		for _, o := range f.objects {
			if !yield(o) {
				return
			}
		}
	}
}

func (f *fake) Watch(_ context.Context, req *request.ListRequest) (request.EventCursor, error) {
	f.note("watch %s", req.Namespace)
	f.list = req
	return f.cursor, f.err
}

func (f *fake) Create(ctx context.Context, req *request.Write) (request.Encoded, error) {
	f.note("create %s/%s", req.Namespace, req.Name)
	obj, err := req.Change(ctx, request.Current{})
	if err != nil {
		return nil, err
	}
	f.body, f.write, f.create = obj.(meta.Object), req, req.Options.(*meta.CreateOptions)
	return f.first()
}

func (f *fake) first() (request.Encoded, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.objects[0], nil
}

func (f *fake) Update(ctx context.Context, req *request.Write) (request.Encoded, bool, error) {
	f.note("update %s/%s", req.Namespace, req.Name)
	if req.Apply != nil {
		f.write = req
		if err := req.Apply.Check(&f.applied, f.err == nil); err != nil {
			return nil, false, err
		}
		enc, _ := f.first()
		return f.objects[0], enc == nil, nil
	}
	obj, err := req.Change(ctx, request.Current{Encoded: f.objects[0]})
	for f.tries = 1; f.contended && err == nil; f.tries++ {
		obj, err = req.Change(ctx, request.Current{Encoded: f.objects[0]})
	}
	if err != nil {
		return nil, false, err
	}
	f.body, f.write = obj.(meta.Object), req
	enc, err := f.first()
	return enc, false, err
}

func (f *fake) Delete(_ context.Context, req *request.Write, opts *meta.DeleteOptions) (*request.DeleteResult, error) {
	f.note("delete %s/%s", req.Namespace, req.Name)
	f.delete, f.write = opts, req
	return &request.DeleteResult{Status: &meta.Status{Status: "Success"}, Done: true}, f.err
}

func (f *fake) DeleteCollection(ctx context.Context, list *request.ListRequest, req *request.Write, opts *meta.DeleteOptions) (*request.List, error) {
	f.note("deletecollection %s", list.Namespace)
	f.delete, f.write = opts, req
	return f.List(ctx, list)
}

func (f *fake) Columns() []meta.TableColumnDefinition {
	return []meta.TableColumnDefinition{{Name: "Name", Type: "string"}}
}

func (f *fake) Row(_ context.Context, enc request.Encoded, _ time.Time) ([]any, []meta.TableRowCondition, error) {
	if enc == nil {
		return []any{0}, nil, nil
	}
	data, _ := enc.Stored()
	return []any{len(data)}, nil, nil
}

// object is a stored config map.
type object struct {
	json  string
	forms map[uint32][]byte
	built int
}

func configMap(name, value string) *object {
	return &object{json: fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","resourceVersion":"7"},"data":{"k":%q}}`, name, value),
		forms: map[uint32][]byte{}}
}

func (o *object) Stored() ([]byte, uint32) { return []byte(o.json), jsonV1 }
func (o *object) Revision() uint64         { return 7 }
func (o *object) Head() int                { return len(`{"kind":"ConfigMap","apiVersion":"v1",`) }
func (o *object) Form(id uint32, build func() ([]byte, error)) ([]byte, error) {
	if f, ok := o.forms[id]; ok {
		return f, nil
	}
	o.built++
	f, err := build()
	if err == nil {
		o.forms[id] = f
	}
	return f, err
}

func testScheme() *scheme.Scheme {
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		panic(err)
	}
	return s
}

func testConfig(testing.TB) *Config { return &Config{Codecs: testCodecs()} }

// jsonV1 is the number of the form in which all objects are stored: JSON in v1.
const jsonV1 = 1

// encoder makes the forms of config maps.
type encoder struct{}

// formIDs has the numbers of the other forms. All routers use the same numbers, because they may
// serve the same objects.
var formIDs struct {
	sync.Mutex
	ids map[string]uint32
}

// configMaps are the kind of all objects, and testCodecs its codecs.
var (
	testCodecs = sync.OnceValue(func() *codec.Factory { return codec.NewFactory(testScheme()) })
	configMaps = sync.OnceValue(func() kind.Kind {
		return kind.NewTypes(testScheme(), testCodecs()).Kind(meta.GroupKind{Kind: "ConfigMap"})
	})
)

func (encoder) FormOf(version string, m codec.Media) uint32 {
	if m == (codec.Media{}) && version == "v1" {
		return jsonV1
	}
	formIDs.Lock()
	defer formIDs.Unlock()
	key := fmt.Sprint(version, m)
	id, ok := formIDs.ids[key]
	if !ok {
		id = uint32(len(formIDs.ids) + 2)
		if formIDs.ids == nil {
			formIDs.ids = map[string]uint32{}
		}
		formIDs.ids[key] = id
	}
	return id
}

func (encoder) Encode(_ context.Context, enc request.Encoded, _ string, m codec.Media) ([]byte, error) {
	data, _ := enc.Stored()
	var err error
	if m.As != "" {
		if data, err = codec.AppendPartial(nil, data, m.Version); err != nil || m.Type == codec.JSON {
			return data, err
		}
	}
	return testCodecs().Transcode(nil, data, codec.Media{Type: m.Type})
}

// all returns a resource with every verb, served by f.
func all(name string, namespaced bool, f *fake) Resource {
	v1 := meta.GroupVersion{Version: "v1"}
	return Resource{
		Description:    meta.Description{Name: name, Singular: strings.TrimSuffix(name, "s"), Kind: v1.WithKind("ConfigMap"), Namespaced: namespaced},
		Type:           configMaps(),
		StorageVersion: v1.WithKind("ConfigMap"), Encoder: encoder{},
		Getter: f, Lister: f, Watcher: f, Creater: f, Updater: f, Deleter: f, CollectionDeleter: f, Tabler: f,
	}
}

// core is a router that serves the config maps of f.
func core(tb testing.TB, f *fake) *RESTRouter {
	rr := NewRESTRouter(testConfig(tb))
	rr.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, f)}})
	return rr
}

// parsed returns a request and its Info, as the filters pass them to the router.
func parsed(tb testing.TB, method, target, body string, header ...string) (*http.Request, *request.Info) {
	tb.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	info := &request.Info{}
	if err := request.Parse(r, info); err != nil {
		tb.Fatal(err)
	}
	return r.WithContext(request.NewContext(r.Context(), info)), info
}

func serve(tb testing.TB, h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	tb.Helper()
	r, _ := parsed(tb, method, target, body, header...)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
