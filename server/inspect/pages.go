package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the pages /statusz and /flagz, which every component of Kubernetes has (KEP-4827,
// KEP-4828). Install installs them.

// page is /statusz or /flagz: text for people, or an object for a client whose Accept header asks
// for its kind, as in "application/json;g=config.k8s.io;v=v1beta1;as=Statusz".
type page struct {
	codecs *codec.Factory
	kind   string             // of the group config.k8s.io
	object func(pageHead) any // returns the object with this head, to be encoded by encoding/json
	text   func(w io.Writer)  // writes the text that follows the title
}

// pageHead has the fields that begin the object of every page.
type pageHead struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   pageMeta `json:"metadata"`
}

// pageMeta is the metadata of a page's object.
type pageMeta struct {
	Name string `json:"name"`
}

// component is the name by which pages call the server.
const component = "apiserver"

// installPages serves /statusz and /flagz, as far as c switches them on.
func installPages(c *Config, n *Needs) error {
	paths := n.On.Paths
	var errs []error
	if c.Flags != nil {
		errs = append(errs, paths.Handle("/flagz", &page{n.Codecs, "Flagz", flagsObject(c.Flags), flagsText(c.Flags)}))
	}
	if !c.NoStatus {
		s := &status{release: n.Version.Major + "." + n.Version.Minor, started: n.Started, paths: paths}
		errs = append(errs, paths.Handle("/statusz", &page{n.Codecs, "Statusz", s.object, s.text}))
	}
	return errors.Join(errs...)
}

// ServeHTTP implements http.Handler. It answers with the text, or with the object in one of its two
// versions, as the Accept header asks.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const current, old = "v1beta1", "v1alpha1"
	kind := meta.GroupVersionKind{Group: "config.k8s.io", Version: current, Kind: p.kind}
	oldKind := kind
	oldKind.Version = old
	media, convert, err := codec.NegotiatePage(r.Header.Get("Accept"), kind, oldKind)
	if err != nil {
		router.WriteError(w, r, err)
		return
	}
	if !convert {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "\n%s %s\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for "+
			"debugging purposes only.\n",
			component, strings.ToLower(p.kind))
		p.text(w)
		return
	}
	if media.Version == old {
		request.From(r.Context()).Warn("This version of the " + strings.ToLower(p.kind) +
			" endpoint is deprecated. Please use a newer version.")
	}
	gvk, _ := media.GVK()
	data, err := json.Marshal(p.object(pageHead{p.kind, gvk.GroupVersion().String(), pageMeta{component}}))
	if err == nil {
		media.Pretty = media.Pretty || codec.Pretty(request.QueryOf(r).Get("pretty"), r.UserAgent())
		data, err = p.codecs.Transcode(nil, data, codec.Media{Type: media.Type, Pretty: media.Pretty})
	}
	if err != nil {
		router.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", media.ContentType()+";g="+gvk.Group+";v="+gvk.Version+";as="+gvk.Kind)
	w.Write(data)
}

// status makes /statusz.
type status struct {
	release string // the release of Kubernetes whose API the server has, such as "1.36"
	started time.Time
	paths   *router.PrefixMux
}

// object returns a Statusz.
func (s *status) object(head pageHead) any {
	return struct {
		pageHead
		StartTime        string   `json:"startTime"`
		UptimeSeconds    int64    `json:"uptimeSeconds"`
		GoVersion        string   `json:"goVersion"`
		BinaryVersion    string   `json:"binaryVersion"`
		EmulationVersion string   `json:"emulationVersion"`
		Paths            []string `json:"paths"`
	}{
		head, s.started.UTC().Format(time.RFC3339), int64(time.Since(s.started).Seconds()),
		runtime.Version(), s.release, s.release, s.begins(),
	}
}

// text writes the facts of a Statusz for people.
func (s *status) text(w io.Writer) {
	up := int64(time.Since(s.started).Seconds())
	fmt.Fprintf(w, "\nStarted: %s\nUp: %d hr %02d min %02d sec\nGo version: %s\nBinary version: %s\nEmulation version: %s\nPaths: %s\n",
		s.started.Format(time.UnixDate), up/3600, up/60%60, up%60,
		runtime.Version(), s.release, s.release, strings.Join(s.begins(), " "))
}

// begins returns the first segments of the server's paths outside of the API, such as /healthz,
// /livez and /metrics, sorted and each once. It leaves out the index, and the paths of OpenAPI and
// OpenID Connect documents.
func (s *status) begins() []string {
	begin := map[string]bool{}
	for _, path := range s.paths.Paths() {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		begin["/"+first] = true
	}
	for _, other := range []string{"/", "/openid", "/openapi", "/.well-known"} {
		delete(begin, other)
	}
	return slices.Sorted(maps.Keys(begin))
}

// flagsObject returns the page.object of /flagz, a Flagz.
func flagsObject(flags func() map[string]string) func(pageHead) any {
	return func(head pageHead) any {
		return struct {
			pageHead
			Flags map[string]string `json:"flags,omitempty"`
		}{head, flags()}
	}
}

// flagsText returns the page.text of /flagz: a line NAME=VALUE for each flag, sorted.
func flagsText(flags func() map[string]string) func(io.Writer) {
	return func(w io.Writer) {
		values := flags()
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(w, "%s=%s\n", name, values[name])
		}
	}
}
