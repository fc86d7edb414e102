package robust

import (
	"log"
	"path/filepath"
	"testing"
	"time"
)

// TestQuotas writes objects under quotas while servers are killed, stopped and cut off from their
// etcd.
func TestQuotas(t *testing.T) {
	t.Parallel()
	build(t)
	for _, c := range QuotaConfigs() {
		c.Clients, c.Time, c.Rounds = 6, min(duration/2, 10*time.Second), 1
		if soaking {
			c.Clients, c.Rounds = 12, max(int(duration/(30*time.Second)), 1) // a takeover takes 15 s
		}
		t.Run(c.Cluster.Name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t, "quotas-"+c.Cluster.Name)
			rec, err := RunQuotas(c, programs, dir, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := save(filepath.Join(dir, "record.json.gz"), rec); err != nil {
				t.Error(err)
			}
			begun := time.Now()
			report(t, CheckQuotas(rec))
			log.Printf("quotas, %s: %s; checked in %v", c.Cluster.Name, rec.summary(), time.Since(begun).Round(time.Millisecond))
		})
	}
}
