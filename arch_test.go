// Package coracle holds the tests of the house as a whole: which room may import which, what may
// not be imported at all, and that every package says what it is.
package coracle

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	pathpkg "path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/coracle-project/coracle"

// allowed are the rooms that a room may import, itself apart. A new edge is a design decision.
var allowed = map[string][]string{
	"scheme/configfile":              {}, // files are bounded the same way for every room
	"scheme":                         {"scheme/configfile"},
	"storage":                        {"scheme/configfile"},
	"router/request":                 {"scheme"},
	"router/callout":                 {"scheme", "scheme/configfile", "router/request"}, // a call is a span of a request
	"router":                         {"scheme", "router/request"},
	"filters":                        {"scheme", "scheme/configfile", "router/request", "router/callout", "filters/audit"},
	"filters/audit":                  {"scheme", "scheme/configfile", "router/request"}, // decides and describes, and knows no filter and no sink
	"filters/audit/backend":          {"router/callout", "filters/audit"},               // stores the events that a filter makes; filters do not know where
	"registry":                       {"scheme", "storage", "router/request", "router/callout", "registry/admission/podsecurity"},
	"registry/admission/podsecurity": {"scheme"},                                  // judges pods, and knows no request and no store
	"registry/admission/hookfiles":   {"scheme", "scheme/configfile", "registry"}, // reads files, which the rest of the room does not
	"server": {"scheme", "scheme/configfile", "storage", "router/request", "router/callout", "router", "filters", "filters/audit", "filters/audit/backend", "registry",
		"server/client", "server/connections", "server/controller", "server/reload", "server/backing", "server/generic",
		"server/loops", "server/loops/endpoints", "server/loops/pods", "server/loops/volumes", "server/identity",
		"server/access", "server/addresses", "server/aggregator", "server/bootstrap", "server/choice", "server/definitions",
		"server/health", "server/holdings", "server/inspect", "server/plugins", "server/quotas", "server/upkeep"},
	"server/access": {"scheme", "storage", "router/request", "router/callout", "filters", "registry", "server/client", "server/generic", "server/reload"},
	"server/addresses": {"scheme", "storage", "router/request", "router/callout", "filters", "registry",
		"server/backing", "server/client", "server/controller", "server/generic", "server/loops"}, // it keeps services, as controllers do
	"server/aggregator": {"scheme", "storage", "router/request", "router/callout", "router", "filters", "server/backing", "server/client",
		"server/generic", "server/loops"},
	"server/client":      {"scheme"},
	"server/backing":     {"scheme", "storage", "registry", "router/request", "router/callout", "server/reload"}, // an operation is a span of a request
	"server/connections": {"router/request"},
	"server/definitions": {"scheme", "storage", "router/request", "router/callout", "router", "filters", "registry",
		"server/backing", "server/generic", "server/loops"}, // it tells a loop what a namespace holds
	"server/controller": {"scheme", "server/client"}, // a controller is a client, and could run anywhere
	"server/generic":    {"scheme", "storage", "registry", "router", "server/backing"},
	"server/choice":     {"scheme", "registry", "server/generic"},
	"server/health":     {"scheme", "router/request", "router", "server/backing", "server/generic"},
	"server/inspect":    {"scheme", "scheme/configfile", "router/request", "router", "server/connections", "server/generic", "server/reload"},
	"server/identity": {"scheme", "scheme/configfile", "router/request", "router", "router/callout", "filters", "registry",
		"server/client", "server/controller", "server/reload"}, // it keeps a config map, as controllers do
	"server/loops":           {"scheme", "server/client", "server/controller"}, // each is a client, too; they import each other only as follows
	"server/loops/absent":    {},
	"server/loops/endpoints": {"scheme", "server/client", "server/controller", "server/loops/pods", "server/loops/topology"},
	"server/loops/pods":      {"scheme", "server/client", "server/controller", "server/loops/absent"},
	"server/loops/topology":  {"scheme"},
	"server/loops/volumes":   {"scheme", "server/client", "server/controller", "server/loops/pods"},
	"server/plugins": {"scheme", "scheme/configfile", "router/request", "router/callout", "registry", "registry/admission/hookfiles",
		"server/generic", "server/reload"}, // a plugin calls a webhook, and follows files
	"server/quotas": {"scheme", "router/request", "registry", "server/controller"}, // it counts objects at one revision, which clients cannot do together with a fence
	"server/reload": {"scheme/configfile"},
	"server/upkeep": {"scheme", "storage", "router/callout", "router", "filters", "registry",
		"server/client", "server/backing", "server/generic"}, // half of it are commands, which are clients
	"server/bootstrap": {"scheme", "storage", "router/request", "filters", "registry",
		"server/client", "server/controller", "server/flows", "server/generic"},
	"server/holdings": {"scheme", "storage", "router", "server/backing", "server/generic", "server/loops"}, // what two of the loops see of the stores
	"server/flows":    {"scheme", "registry", "server/client", "server/controller"},                        // controllers, too
	"cmd": {"scheme", "scheme/configfile", "filters/audit", "filters/audit/backend", "server", "server/access", "server/choice", "server/identity", "server/inspect",
		"server/plugins", "server/upkeep", "storage"}, // of which it stands in for etcd
	"cmd/wardle": {"scheme", "server", "server/access", "server/client", "server/plugins", "registry"}, // like any user of the library, it declares resources and plugins
}

// modules are the third-party modules that the code may import directly, each with the reason for
// it.
var modules = map[string]string{
	"github.com/gorilla/mux":                                          "the REST router",
	"github.com/goccy/go-json":                                        "JSON encoding",
	"github.com/klauspost/compress":                                   "gzip of large answers",
	"github.com/tidwall/btree":                                        "ordered trees with cheap clones",
	"github.com/google/uuid":                                          "uids and audit ids",
	"github.com/google/cel-go":                                        "the language of rules",
	"github.com/blang/semver/v4":                                      "versions in rules",
	"github.com/google/gnostic-models":                                "the protobuf form of OpenAPI v2",
	"github.com/fsnotify/fsnotify":                                    "outside edits of the file engine",
	"github.com/prometheus/client_golang":                             "metrics",
	"github.com/prometheus/client_model":                              "metrics that are gathered",
	"github.com/coreos/go-oidc/v3":                                    "tokens of OpenID Connect providers",
	"github.com/coreos/go-semver":                                     "versions of an etcd's data",
	"github.com/go-jose/go-jose/v4":                                   "signed tokens of service accounts",
	"github.com/spf13/cobra":                                          "commands",
	"github.com/spf13/pflag":                                          "flags",
	"github.com/robfig/cron/v3":                                       "schedules, as cron jobs have them",
	"go.etcd.io/etcd/api/v3":                                          "etcd's wire types",
	"go.etcd.io/etcd/client/pkg/v3":                                   "etcd's TLS and file helpers",
	"go.etcd.io/etcd/client/v3":                                       "the etcd engine",
	"go.etcd.io/etcd/pkg/v3":                                          "arguments of etcd's store",
	"go.etcd.io/etcd/server/v3":                                       "the embedded engine",
	"go.etcd.io/bbolt":                                                "the embedded engine's database",
	"go.etcd.io/raft/v3":                                              "the embedded engine's log",
	"go.opentelemetry.io/otel":                                        "traces of requests",
	"go.opentelemetry.io/otel/trace":                                  "the same, as filters make them",
	"go.opentelemetry.io/otel/sdk":                                    "the same, and which are sampled",
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc": "the same, on their way to a collector",
	"go.uber.org/goleak":                                              "goroutine leaks fail tests",
	"go.uber.org/zap":                                                 "logging",
	"go.yaml.in/yaml/v2":                                              "YAML 1.1, as Kubernetes reads it",
	"go.yaml.in/yaml/v3":                                              "YAML",
	"golang.org/x/sync":                                               "questions asked once for many",
	"golang.org/x/crypto":                                             "secretbox",
	"golang.org/x/sys":                                                "ports that processes share, memory that is given back",
	"golang.org/x/net":                                                "HTTP/2 on connections that are more than TLS; its frames, for tests",
	"google.golang.org/grpc":                                          "errors of the etcd client, and plugins behind sockets",
	"google.golang.org/protobuf":                                      "the protobuf wire format",
}

// unsafeFiles are the files that may import unsafe, each with the reason for it. Test files apart,
// nobody else does.
var unsafeFiles = map[string]string{
	"scheme/typeinfo/pointer.go": "places in memory whose types are known from descriptors",
	"scheme/alias/alias.go":      "strings that share the memory of bytes",
	"storage/cache/alias.go":     "the same, in a room that does not import scheme",
}

type pkg struct {
	ImportPath, Dir, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// room returns the room of one of our packages: the longest part of its path that allowed names.
func room(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for at := path; at != "." && at != ""; at = pathpkg.Dir(at) {
		if _, known := allowed[at]; known {
			return at
		}
	}
	return path
}

func TestImportsBetweenRooms(t *testing.T) {
	for _, p := range packages(t) {
		from := room(p.ImportPath)
		if from == "" {
			continue
		}
		may, known := allowed[from]
		if !known {
			t.Errorf("%s is in no room", p.ImportPath)
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			if to := room(imp); to != from && !slices.Contains(may, to) {
				t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, imp, from, may)
			}
		}
	}
}

func TestImportsOfOthers(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			first, _, _ := strings.Cut(imp, "/")
			switch {
			case strings.HasPrefix(imp, "k8s.io/") || strings.HasPrefix(imp, "sigs.k8s.io/"):
				t.Errorf("%s imports %s: Kubernetes' own code is for modules under test/ only", p.ImportPath, imp)
			case !strings.Contains(first, "."), strings.HasPrefix(imp, module):
			case !knownModule(imp):
				t.Errorf("%s imports %s, whose module is not in the list", p.ImportPath, imp)
			case strings.HasPrefix(imp, "go.etcd.io/etcd/server/") && !strings.HasPrefix(p.ImportPath, module+"/storage/embedded"):
				t.Errorf("%s imports %s: only storage/embedded may", p.ImportPath, imp)
			}
		}
		if slices.Contains(p.Imports, "github.com/goccy/go-json") && p.ImportPath != module+"/scheme/codec" {
			t.Errorf("%s imports goccy/go-json: only one file of scheme/codec may", p.ImportPath)
		}
	}
}

func knownModule(imp string) bool {
	for m := range modules {
		if imp == m || strings.HasPrefix(imp, m+"/") {
			return true
		}
	}
	return false
}

// TestUnsafe wants unsafe in the files of the list, and in no other, whatever they are built for.
// The modules under test are tests.
func TestUnsafe(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir() && path != "test":
			return err
		case path == "test":
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range f.Imports {
			if imp.Path.Value == `"unsafe"` {
				found[filepath.ToSlash(path)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range found {
		if unsafeFiles[path] == "" {
			t.Errorf("%s imports unsafe: work with typeinfo.Pointer or package alias", path)
		}
	}
	for path := range unsafeFiles {
		if !found[path] {
			t.Errorf("%s does not import unsafe: strike it off the list", path)
		}
	}
}

// TestPackageComments wants exactly one package comment in each package, and no folder deeper than
// three levels.
func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if depth := strings.Count(strings.TrimPrefix(p.ImportPath, module), "/"); depth > 3 {
			t.Errorf("%s is %d folders deep", p.ImportPath, depth)
		}
		files := p.GoFiles
		if len(files) == 0 {
			files = slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		}
		var with []string
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil {
				with = append(with, name)
			}
		}
		if len(with) != 1 {
			t.Errorf("%s has package comments in %v, want one", p.ImportPath, with)
		}
	}
}

// maxFields is how many fields a struct of the server may have. What grows beyond that wants to be
// grouped.
const maxFields = 12

// TestPartsAreFew holds configuration and wiring, where everything meets, to structs that a reader
// can take in.
func TestPartsAreFew(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(room(p.ImportPath), "server") {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				decl, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := decl.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxFields {
					t.Errorf("%s: %s has %d fields, want at most %d", p.ImportPath, decl.Name, s.Fields.NumFields(), maxFields)
				}
				return true
			})
		}
	}
}

// TestLogsAreGuarded wants servers of tests to be made through servertest, which looks for
// credentials in their logs.
func TestLogsAreGuarded(t *testing.T) {
	const guarded = module + "/server/servertest"
	exempt := []string{"server/client/example_test.go", "server/controller/example_test.go"} // show how a program makes one
	for _, p := range packages(t) {
		for _, name := range p.XTestGoFiles {
			file := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			made := serverNew.Match(text) && p.ImportPath != guarded
			if made && !slices.ContainsFunc(exempt, func(s string) bool { return strings.HasSuffix(filepath.ToSlash(file), s) }) {
				t.Errorf("%s calls server.New: use servertest.New", file)
			}
		}
	}
}

var serverNew = regexp.MustCompile(`\bserver\.New\(`)
