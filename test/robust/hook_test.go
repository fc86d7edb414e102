package robust

import (
	"log"
	"path/filepath"
	"testing"
	"time"
)

// TestHooks writes config maps at two servers while webhooks and policies come and go, and servers
// are killed, stopped and cut off from their etcd.
func TestHooks(t *testing.T) {
	t.Parallel()
	build(t)
	c := HookConfig{Owners: 6, Writers: 4, Time: min(duration, 12*time.Second), Faults: hookFaults}
	if soaking {
		c.Time = duration
	}
	dir := workDir(t, "hooks")
	rec, err := RunHooks(c, programs, dir, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := save(filepath.Join(dir, "record.json.gz"), rec); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	report(t, CheckHooks(rec))
	log.Printf("hooks: %s; checked in %v", rec.summary(), time.Since(begun).Round(time.Millisecond))
}
