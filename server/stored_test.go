package server_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// storedByKubernetes are the contents of etcds that servers of Kubernetes have written, with the
// objects as kube-apiserver 1.36.3 reads them. TestRecord of test/cluster makes them.
const storedByKubernetes = "testdata/etcd/*.stored.gz"

// TestStoredByKubernetes starts a server on each of these contents. The server gets ready. In each
// version that both servers serve, each object is the same as kube-apiserver reads it.
func TestStoredByKubernetes(t *testing.T) {
	files, err := filepath.Glob(storedByKubernetes)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", storedByKubernetes, len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".stored.gz"), func(t *testing.T) {
			t.Parallel()
			config := memory.Config{Rev: 1}
			readLines(t, file, func(e struct {
				Key   string
				Value []byte
				Rev   storage.Revision
			}) {
				config.Entries = append(config.Entries, storage.Entry{Key: e.Key, Value: e.Value, Rev: e.Rev})
				config.Rev = max(config.Rev, e.Rev)
			})
			s := servertest.Start(secretsMadeUp{t}, server.Config{
				Storage:     server.StorageConfig{Store: memory.New(config)},
				API:         server.APIConfig{Services: addresses.Config{ClusterIPRanges: []string{"10.0.0.0/16", "fd00:10::/108"}}},
				Controllers: []string{},
			})
			objects := 0
			readLines(t, strings.TrimSuffix(file, ".stored.gz")+".read.gz", func(want struct {
				Path   string
				Object map[string]any
			}) {
				if objects++; regexp.MustCompile(ownPaths).MatchString(want.Path) {
					return
				}
				got, err := getObject(s, want.Path)
				if err != nil {
					t.Error(err)
					return
				}
				for _, d := range fieldDifferences("", want.Object, got) {
					t.Errorf("%s %s", want.Path, d)
				}
			})
			if objects < 400 {
				t.Errorf("only %d objects", objects)
			}
		})
	}
}

// ownPaths matches the objects in which each server records itself.
const ownPaths = `/leases/apiserver-|/namespaces/default/endpoints/kubernetes$|/endpointslices/kubernetes$`

// secretsMadeUp is a test whose secrets are made up, so that their words may appear in the log.
type secretsMadeUp struct{ testing.TB }

// readLines decodes the lines of a compressed file of JSON lines, and calls see for each.
func readLines[T any](t *testing.T, file string, see func(T)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var line T
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		see(line)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func getObject(s *servertest.Server, path string) (map[string]any, error) {
	resp, err := s.Client.Get(s.URL + path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.500s", path, resp.Status, data)
	}
	if err != nil {
		return nil, err
	}
	var o map[string]any
	err = json.Unmarshal(data, &o)
	return o, err
}

// fieldDifferences returns the names of the fields that differ between two values.
func fieldDifferences(field string, want, got any) (all []string) {
	a, isMap := want.(map[string]any)
	b, isMapToo := got.(map[string]any)
	if !isMap || !isMapToo {
		if !reflect.DeepEqual(want, got) {
			all = append(all, fmt.Sprintf("%s: got %.300v, want %.300v", field, got, want))
		}
		return all
	}
	for name := range a {
		all = append(all, fieldDifferences(field+"."+name, a[name], b[name])...)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			all = append(all, fmt.Sprintf("%s.%s: got %.300v, want nothing", field, name, b[name]))
		}
	}
	slices.Sort(all)
	return all
}
