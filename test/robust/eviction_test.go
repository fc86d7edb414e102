package robust

import (
	"log"
	"path/filepath"
	"testing"
)

// TestEvictions evicts at two servers while they are killed.
func TestEvictions(t *testing.T) {
	t.Parallel()
	build(t)
	c := EvictionConfig{Rounds: 1, Pods: 130, Allowed: 100, Workers: 12}
	if soaking {
		c.Rounds = 50
	}
	dir := workDir(t, "evictions")
	rec, err := RunEvictions(c, programs, dir, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := save(filepath.Join(dir, "record.json.gz"), rec); err != nil {
		t.Error(err)
	}
	report(t, CheckEvictions(rec))
	log.Printf("evictions: %s", rec.summary())
}
