package inspect

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// versionPath is the path of the version. A slash at its end is allowed.
const versionPath = "/version"

// installVersion serves the version at /version and in the labels of the metric
// kubernetes_build_info.
func installVersion(paths *router.PrefixMux, reg prometheus.Registerer, v meta.VersionInfo) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kubernetes_build_info",
		Help: "Always 1; the labels are the version of the server.",
		ConstLabels: prometheus.Labels{
			"major": v.Major, "minor": v.Minor, "git_version": v.GitVersion,
			"git_commit": v.GitCommit, "git_tree_state": v.GitTreeState,
			"build_date": v.BuildDate, "go_version": v.GoVersion,
			"compiler": v.Compiler, "platform": v.Platform,
		},
	})
	info.Set(1)
	h := router.Produces(codec.JSONType, versionHandler(v))
	return errors.Join(
		reg.Register(info),
		paths.Handle(versionPath, h),
		paths.HandleHidden(versionPath+"/", onlyAt(versionPath, h)))
}

// versionHandler returns a handler that answers with v. It encodes the answer once, and not at each
// request.
func versionHandler(v meta.VersionInfo) http.Handler {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // a struct of strings cannot fail
		panic(err)
	}
	contentType := []string{codec.JSONType}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = contentType
		w.Write(body)
	})
}

// onlyAt returns a handler of the prefix path+"/" that passes requests on to h only if their path
// is path with slashes at its end. It answers 404 with a Status on the paths below.
func onlyAt(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimRight(r.URL.Path, "/") != path {
			router.WriteError(w, r, router.ErrNotFound())
			return
		}
		h.ServeHTTP(w, r)
	})
}
