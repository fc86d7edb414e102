package robust

import (
	"log"
	"net/netip"
	"path/filepath"
	"testing"
	"time"
)

// TestServices creates, changes and deletes services at two servers while they are killed.
func TestServices(t *testing.T) {
	t.Parallel()
	build(t)
	c := ServiceConfig{Services: 400, NodePorts: 100, Clients: 12, Names: 8, PortShare: 0.3, PortMin: 30000, PortMax: 30255,
		Ranges: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/24"), netip.MustParsePrefix("fd00:10:96::/120")}}
	if soaking {
		c = ServiceConfig{Services: 20_000, NodePorts: 2_000, Clients: 24, Names: 50, PortShare: 0.2, PortMin: 30000, PortMax: 30999,
			Ranges: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/21"), netip.MustParsePrefix("fd00:10:96::/117")}, Repair: true}
	}
	dir := workDir(t, "services")
	rec, err := RunServices(c, programs, dir, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := save(filepath.Join(dir, "record.json.gz"), rec); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	report(t, CheckServices(rec))
	log.Printf("services: %s; checked in %v", rec.summary(), time.Since(begun).Round(time.Millisecond))
}
