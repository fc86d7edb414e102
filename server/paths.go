package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// KubernetesVersion is the release whose API the server speaks.
const KubernetesVersion = "v1.36.3"

// Version is the release of Coracle. Builds set it with -ldflags.
var Version = "dev"

// installPaths serves what is no API resource: version, index, metrics, schemas. Health and profiles have files of their own.
func installPaths(core *generic.Server, schemas *router.OpenAPI, metrics prometheus.Gatherer, version meta.VersionInfo) error {
	versions, index := produces("application/json", versionHandler(version)), indexHandler(core)
	return errors.Join(
		core.Paths.Handle("/version", versions),
		core.Paths.HandleHidden("/version/", onlyAt("/version", versions)),
		core.Paths.HandleHidden("/", index),
		core.Paths.HandleHidden("/index.html", index),
		core.Paths.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})),
		installOpenAPI(core, schemas),
	)
}

// HandleGet serves GET requests at a path that is no API resource, as PrefixMux.Handle understands paths. They come
// through all filters: who may ask is decided by rules for non-resource URLs. An error that get returns, before it
// has written anything, is answered as a Status. For other methods there is Core.Paths.
func (s *Server) HandleGet(path string, get func(w http.ResponseWriter, r *http.Request) error) error {
	return s.Core.Paths.Handle(path, readOnly(answered(get)))
}

// answered is a handler that may fail.
func answered(get func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := get(w, r); err != nil {
			router.WriteError(w, r, err)
		}
	})
}

// readOnly refuses what is not a GET, as a Status.
func readOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			router.WriteError(w, r, router.ErrMethod())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// produces is readOnly for what has one form, and refuses clients that accept others alone.
func produces(contentType string, h http.Handler) http.Handler {
	return readOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := codec.Producible(r.Header.Get("Accept"), contentType); err != nil {
			router.WriteError(w, r, err)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// onlyAt serves one path of a prefix, with any number of slashes at its end, and answers 404, as a Status, on those below
// it.
func onlyAt(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimRight(r.URL.Path, "/") != path {
			router.WriteError(w, r, router.ErrNotFound())
			return
		}
		h.ServeHTTP(w, r)
	})
}

// VersionInfo is what a server that says it is of version (such as v1.36.3) answers at /version,
// unless StorageConfig.MinCompatibility is another than the default.
func VersionInfo(version string) meta.VersionInfo {
	v := meta.VersionInfo{
		Major: "1", Minor: "36",
		EmulationMajor: "1", EmulationMinor: "36", MinCompatibilityMajor: "1", MinCompatibilityMinor: strconv.Itoa(generic.DefaultCompatible),
		GitVersion: version, GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				v.GitCommit = setting.Value
			case "vcs.time":
				v.BuildDate = setting.Value
			}
		}
	}
	return v
}

// versionHandler answers with the version, made once.
func versionHandler(version meta.VersionInfo) http.Handler {
	body, err := json.MarshalIndent(version, "", "  ")
	if err != nil { // a struct of strings cannot fail
		panic(err)
	}
	contentType := []string{"application/json"}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = contentType
		w.Write(body)
	})
}

// indexHandler lists the paths that a server knows.
func indexHandler(core *generic.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		paths := append(core.Paths.Paths(), core.Discovery.Paths()...)
		paths = append(paths, "/apis/") // which kube-apiserver lists as well
		sort.Strings(paths)
		body, err := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ")
		if err != nil { // a map of strings cannot fail
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
}
