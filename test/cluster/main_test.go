package cluster

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// programs is the folder of all programs. There, Coracle is called coracle/kube-apiserver, and
// coracle/coracle.
var programs string

// coracle and kube136 are the programs that serve; both take the flags of kube-apiserver.
const (
	coracle = "coracle/kube-apiserver"
	kube136 = "kube-apiserver"
	kube134 = "kube-apiserver-1.34"
)

func TestMain(m *testing.M) {
	etcdproc.Main()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(dir)
	klog.SetLogger(logr.Discard()) // client-go tells of every broken connection, and here they break
	programs = dir
	if err := buildAll(); err != nil {
		log.Print(err)
		return 1
	}
	return m.Run()
}

// buildAll puts all programs into their folder: those that the environment names as links, all
// others built.
func buildAll() error {
	const main = "k8s.io/kubernetes/cmd/"
	for _, p := range []struct{ name, module, pkg, version string }{
		{coracle, "../..", "./cmd/coracle", ""},
		{kube136, ".", main + "kube-apiserver", "v1.36.3"},
		{"kube-controller-manager", ".", main + "kube-controller-manager", "v1.36.3"},
		{"kube-scheduler", ".", main + "kube-scheduler", "v1.36.3"},
		{kube134, "v134", main + "kube-apiserver", "v1.34.2"},
		{"kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", ""},
	} {
		out := filepath.Join(programs, p.name)
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
		built := os.Getenv("CORACLE")
		if folder := os.Getenv("KUBERNETES"); p.name != coracle && folder != "" {
			built = filepath.Join(folder, p.name)
		} else if p.name != coracle {
			built = ""
		}
		if built != "" {
			if err := os.Symlink(built, out); err != nil {
				return err
			}
			continue
		}
		flags := "-s -w"
		if p.version != "" {
			flags += " -X k8s.io/component-base/version.gitVersion=" + p.version
		}
		cmd := exec.Command("go", "build", "-ldflags="+flags, "-o", out, p.pkg)
		cmd.Dir = p.module
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", p.name, err, out)
		}
	}
	return os.Symlink("kube-apiserver", filepath.Join(programs, "coracle", "coracle"))
}
