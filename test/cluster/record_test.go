package cluster

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// recorded is the directory of TestRecord's output, from which a test of package server reads.
const recorded = "../../server/testdata/etcd"

// TestRecord writes the contents of an etcd that a kube-apiserver has filled, and the answers of
// kube-apiserver 1.36.3 about them. Each line of NAME.stored.gz is a key with its value (base64)
// and revision; each line of NAME.read.gz is a path with the answer to GET. Nothing is encrypted,
// and the secrets are made up.
func TestRecord(t *testing.T) {
	if os.Getenv("RECORD") == "" {
		t.Log("RECORD=1 records")
		return
	}
	for _, fills := range []struct {
		name, program string
		args          []string
	}{
		{"1.36", kube136, nil},
		{"1.36-as-1.33", kube136, []string{"--emulated-version=1.33"}},
		{"1.34", kube134, nil},
	} {
		t.Run(fills.name, func(t *testing.T) {
			p := newPlane(t, append(controlPrograms, fills.program, kube136)...)
			p.emulated = fills.args
			s := p.serve(fills.program, 0, fills.args...)
			stop := p.control(s)
			fill(t, s)
			eventually(t, 90*time.Second, s.settled)
			stop()
			s.stop()
			s = p.serve(kube136, 0)
			stored, read := p.stored(t), s.read(t)
			writeLines(t, fills.name+".stored.gz", func(write func(any)) {
				for _, e := range stored {
					write(e)
				}
			})
			writeLines(t, fills.name+".read.gz", func(write func(any)) {
				for _, path := range slices.Sorted(maps.Keys(read)) {
					write(object{"path": path, "object": read[path]})
				}
			})
		})
	}
}

// entry is a key with its value.
type entry struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
	Rev   int64  `json:"rev"`
}

// stored returns all entries of the etcd.
func (p *plane) stored(t *testing.T) []entry {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{p.etcd}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.Get(t.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, kv := range all.Kvs {
		entries = append(entries, entry{string(kv.Key), kv.Value, kv.ModRevision})
	}
	return entries
}

// writeLines writes a compressed file of lines of JSON.
func writeLines(t *testing.T, name string, lines func(write func(any))) {
	t.Helper()
	if err := os.MkdirAll(recorded, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(recorded, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	encoder := json.NewEncoder(z)
	lines(func(v any) {
		if err := encoder.Encode(v); err != nil {
			t.Error(err)
		}
	})
	if err := z.Close(); err != nil {
		t.Error(err)
	}
}
