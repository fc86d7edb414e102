package cluster

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// programs is the directory of all programs. In it Coracle has two names: coracle/kube-apiserver
// and coracle/coracle.
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
	klog.SetLogger(logr.Discard()) // client-go logs every broken connection, and these tests break connections
	programs = dir
	if err := buildAll(); err != nil {
		log.Print(err)
		return 1
	}
	return m.Run()
}

// program is a program that the tests run, with the module and package that it is built from.
type program struct{ name, module, pkg, version string }

const cmds = "k8s.io/kubernetes/cmd/"

// buildAll builds all programs except those of older releases.
func buildAll() error {
	for _, p := range []program{
		{coracle, "../..", "./cmd/coracle", ""},
		{kube136, ".", cmds + "kube-apiserver", "v1.36.3"},
		{"kube-controller-manager", ".", cmds + "kube-controller-manager", "v1.36.3"},
		{"kube-scheduler", ".", cmds + "kube-scheduler", "v1.36.3"},
		{"kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", ""},
	} {
		if err := p.build(); err != nil {
			return err
		}
	}
	return os.Symlink("kube-apiserver", filepath.Join(programs, "coracle", "coracle"))
}

// build134 builds the kube-apiserver of 1.34 when a test needs it first.
var build134 = sync.OnceValue(program{kube134, "v134", cmds + "kube-apiserver", "v1.34.2"}.build)

// build puts the program into the directory of programs. If the environment names the program,
// build makes a link.
func (p program) build() error {
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
		return os.Symlink(built, out)
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
	return nil
}
