package router

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// recordingConnecter is a Connecter whose handler describes the request in its answer.
type recordingConnecter struct {
	err error
	req *request.Write
}

func (l *recordingConnecter) Connect(_ context.Context, req *request.Write, path string) (http.Handler, error) {
	l.req = req
	if l.err != nil {
		return nil, l.err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s/%s %q ?%s", r.Method, req.Namespace, req.Name, path, r.URL.RawQuery)
	}), nil
}

// connected returns things with the subresources log (get) and proxy (all methods).
func connected(l *recordingConnecter) GroupVersion {
	v1 := meta.GroupVersion{Version: "v1"}
	log := Resource{Description: meta.Description{Name: "things/log", Kind: v1.WithKind("ConfigMap"), Namespaced: true}, Type: configMaps(), Encoder: encoder{},
		Connecter: l, ConnectVerbs: []string{"get"}}
	proxy := log
	proxy.Name, proxy.ConnectVerbs = "things/proxy", []string{"update", "get", "create", "delete", "patch"}
	return GroupVersion{GroupVersion: v1, Resources: []Resource{all("things", true, &fake{}), log, proxy}}
}

func TestConnect(t *testing.T) {
	const a = "/api/v1/namespaces/ns/things/a"
	l := &recordingConnecter{}
	rr := NewRESTRouter(testConfig(t))
	rr.Install(connected(l))
	for _, tt := range []struct {
		method, path string
		want         string // how the body begins, or the status code
	}{
		{"GET", a + "/log", `GET ns/a "" ?`},
		{"GET", a + "/log?follow=true&tailLines=5", `GET ns/a "" ?follow=true&tailLines=5`},
		{"POST", a + "/log", "405"},
		{"HEAD", a + "/log", "405"},
		{"GET", a + "/proxy/", `GET ns/a "" ?`},
		{"GET", a + "/proxy/index.html", `GET ns/a "index.html" ?`},
		{"GET", a + "/proxy/dir/", `GET ns/a "dir/" ?`},
		{"GET", a + "/proxy/dir//file", `GET ns/a "dir//file" ?`},
		{"GET", a + "/proxy/a/b/c/d/e/f/g/h", `GET ns/a "a/b/c/d/e/f/g/h" ?`},
		{"POST", a + "/proxy/x", `POST ns/a "x" ?`},
		{"PUT", a + "/proxy/x", `PUT ns/a "x" ?`},
		{"PATCH", a + "/proxy/x", `PATCH ns/a "x" ?`},
		{"DELETE", a + "/proxy/x", `DELETE ns/a "x" ?`},
		{"GET", "/api/v1/things/a/log", "404"},
		{"GET", a + "/other/x", "404"},
		{"GET", "/api/v1/namespaces/ns/things/log", `{"kind":"ConfigMap"`}, // the thing called log
	} {
		if w := serve(t, routerWithConnecter(t, l), tt.method, tt.path, ""); !strings.HasPrefix(w.Body.String(), tt.want) && fmt.Sprint(w.Code) != tt.want {
			t.Errorf("%s %s: got %d %s, want %s", tt.method, tt.path, w.Code, w.Body, tt.want)
		}
	}
	l.err = meta.NewForbidden(meta.GroupResource{Resource: "things"}, "a", fmt.Errorf("no"))
	if w := serve(t, rr, "GET", a+"/log", "", "Accept", "application/yaml"); w.Code != 403 || w.Header().Get("Content-Type") != "application/yaml" {
		t.Errorf("a connection that is refused: got %d %v", w.Code, w.Header())
	}
}

// routerWithConnecter serves things whose log and proxy are l.
func routerWithConnecter(t *testing.T, l *recordingConnecter) *RESTRouter {
	rr := NewRESTRouter(testConfig(t))
	gv := connected(l)
	gv.Resources[0] = all("things", true, &fake{objects: []request.Encoded{configMap("log", "v")}})
	rr.Install(gv)
	return rr
}

// TestConnectKnowsWho: the registry gets the user who connects, and admission can send warnings.
func TestConnectKnowsWho(t *testing.T) {
	l := &recordingConnecter{}
	r, info := parsed(t, "GET", "/api/v1/namespaces/ns/things/a/log", "", "User-Agent", "kubectl/v1")
	info.User = &request.User{Name: "u"}
	routerWithConnecter(t, l).ServeHTTP(&failingWriter{left: 1 << 20, ResponseRecorder: newRecorder()}, r)
	if l.req == nil || l.req.User.Name != "u" || l.req.Version != "v1" || l.req.Manager != "kubectl" || l.req.Options != nil {
		t.Fatalf("got %+v", l.req)
	}
	l.req.Warn("careful")
	l.req.Annotate("p/a", "b")
	if fmt.Sprint(info.Warnings, info.Annotations) != "[careful] map[p/a:{b false}]" {
		t.Errorf("got %v %v", info.Warnings, info.Annotations)
	}
}

// TestConnectOptions decodes the options of a connection from its query, as for other verbs.
func TestConnectOptions(t *testing.T) {
	const a = "/api/v1/namespaces/ns/things/a/shell"
	for query, want := range map[string]string{
		"": `{"kind":"ListOptions","apiVersion":"v1"}`,
		"?fieldSelector=a%3Db&watch&limit=5&timeoutSeconds=-1&unknown=1": `{"kind":"ListOptions","apiVersion":"v1",` +
			`"fieldSelector":"a=b","watch":true,"timeoutSeconds":-1,"limit":5}`,
		"?watch=false&limit=&timeoutSeconds=&kind=Other&apiVersion=v9": `{"kind":"ListOptions","apiVersion":"v1"}`,
		"?limit=1&limit=2&fieldSelector=%22%5C":                        `{"kind":"ListOptions","apiVersion":"v1","fieldSelector":"\"\\","limit":1}`,
		"?limit=many":                                                  `400 strconv.ParseInt: parsing "many": invalid syntax`,
	} {
		l := &recordingConnecter{}
		gv := connected(l)
		shell := gv.Resources[1]
		shell.Name, shell.Kind = "things/shell", gv.WithKind("ListOptions")
		gv.Resources = append(gv.Resources, shell)
		rr := NewRESTRouter(testConfig(t))
		rr.Install(gv)
		w := serve(t, rr, "GET", a+query, "")
		got := fmt.Sprint(w.Code, " ", w.Body)
		if l.req != nil {
			text, err := codec.AppendJSON(nil, l.req.Options)
			if got = string(text); err != nil {
				t.Fatal(err)
			}
		} else if code, why, _ := strings.Cut(want, " "); strings.HasPrefix(got, code) && strings.Contains(got, strings.ReplaceAll(why, `"`, `\"`)) {
			continue
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", query, got, want)
		}
	}
}

// TestOptionMembers reads fields of types that the options of these tests lack, such as lists and
// times.
func TestOptionMembers(t *testing.T) {
	type options struct {
		meta.TypeMeta `json:",inline"`
		Command       []string   `json:"command,omitempty" pb:"1"`
		Since         *meta.Time `json:"since,omitempty" pb:"2"`
		Stream        *string    `json:"stream,omitempty" pb:"3"`
		Follow        *bool      `json:"follow,omitempty" pb:"4"`
		Nested        struct{}   `json:"nested,omitempty" pb:"5"`
	}
	_, info := parsed(t, "GET", "/x?command=a&command=b+c&since=2006-01-02T15:04:05Z&stream=&follow=0&nested=1", "")
	p := params{Query: &info.Query}
	var got []string
	for _, f := range typeinfo.For[options]().Fields {
		if member, ok := p.member(f); ok {
			got = append(got, f.Name+"="+string(member))
		}
	}
	if want := `command=["a","b c"] since="2006-01-02T15:04:05Z" stream="" follow=false`; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConnectVerbsInDiscovery(t *testing.T) {
	d := NewDiscovery(testConfig(t).Codecs)
	d.Install(connected(&recordingConnecter{}))
	for path, accept := range map[string]string{"/api/v1": "", "/api": aggregatedJSON} {
		_, body, _ := d.get(t, "GET", path, "Accept", accept)
		for _, want := range []string{`"verbs":["get"]`, `"verbs":["create","delete","get","patch","update"]`} {
			if !strings.Contains(body, want) {
				t.Errorf("GET %s: got %s, want %s", path, body, want)
			}
		}
	}
}
