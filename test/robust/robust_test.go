package robust

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Set from the environment by TestMain.
var (
	programs = Programs{Server: os.Getenv("CORACLE"), Etcd: os.Getenv("ETCD")}
	duration = 10 * time.Second
	seed     = rand.Uint64N(1_000_000)
	soaking  = os.Getenv("SOAK") != "" // longer runs of services, evictions, definitions and garbage
	binaries string                    // directory of the built programs
)

func TestMain(m *testing.M) {
	if err := configure(); err != nil {
		log.Fatal(err)
	}
	log.SetFlags(0)
	log.Printf("SEED=%d DURATION=%v", seed, duration)
	code := m.Run()
	os.RemoveAll(binaries)
	os.Exit(code)
}

func configure() (err error) {
	if binaries, err = os.MkdirTemp("", "robust-bin-"); err != nil {
		return err
	}
	if text := os.Getenv("DURATION"); text != "" {
		if duration, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("DURATION: %w", err)
		}
	}
	if text := os.Getenv("SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("SEED: %w", err)
		}
	}
	return nil
}

// build makes sure that the programs are there. Those that the environment does not name are built,
// each in its module.
func build(t *testing.T) {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
}

var built = sync.OnceValue(func() error {
	for _, p := range []struct {
		path           *string
		name, in, what string
	}{
		{&programs.Server, "coracle", "../..", "./cmd/coracle"},
		{&programs.Etcd, "etcd", "../interop", "./etcd"},
	} {
		if *p.path != "" {
			continue
		}
		*p.path = filepath.Join(binaries, p.name)
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", *p.path, p.what)
		cmd.Dir = p.in
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", p.name, err, out)
		}
	}
	return nil
})

// TestRobust runs all configurations side by side.
func TestRobust(t *testing.T) {
	t.Parallel()
	build(t)
	for _, c := range Configs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			robust(t, c)
		})
	}
}

// workDir returns a directory for a run, which is kept if the run fails.
func workDir(t *testing.T, name string) string {
	dir, err := os.MkdirTemp("", "robust-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() && os.Getenv("KEEP") == "" {
			os.RemoveAll(dir)
			return
		}
		t.Logf("SEED=%d; the record, the data and the logs are in %s", seed, dir)
	})
	return dir
}

const shown = 3 // reported violations of a kind

func robust(t *testing.T, c Config) {
	dir := workDir(t, c.Name)
	rec, err := Run(c, programs, dir, seed, duration)
	if err != nil {
		t.Fatal(err)
	}
	if err := save(filepath.Join(dir, "record.json.gz"), rec); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	report(t, Check(rec))
	log.Printf("%s: %s; checked in %v", c.Name, rec.summary(), time.Since(begun).Round(time.Millisecond))
}

// report fails the test for violations, the first few of each kind.
func report(t *testing.T, found []Violation) {
	kinds := map[string]int{}
	for _, v := range found {
		if kinds[v.Check]++; kinds[v.Check] <= shown {
			t.Errorf("%s: %s", v.Check, v.Text)
		}
	}
	if len(found) > 0 {
		t.Errorf("%d violations: %v", len(found), kinds)
	}
}
