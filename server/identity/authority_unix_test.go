//go:build unix

package identity

import (
	"crypto/x509"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// cutOffDir and cutOffName tell a process of TestPKICutOff which certificate to renew.
const (
	cutOffDir  = "CORACLE_TEST_CUT_OFF_DIR"
	cutOffName = "CORACLE_TEST_CUT_OFF_NAME"
)

// TestPKICutOff interrupts renewals between the writes of the key and of the certificate, by a
// limit of file sizes that only the key meets. A later start must mend the pair. The limit applies
// to a whole process, and the testing package writes files, too, so another process does the
// renewal.
func TestPKICutOff(t *testing.T) {
	if dir := os.Getenv(cutOffDir); dir != "" {
		renewLimited(t, dir, os.Getenv(cutOffName))
		return
	}
	dir := t.TempDir()
	open(t, dir, "localhost")
	for _, name := range []string{"ca", "apiserver", "admin"} {
		renew := exec.Command(os.Args[0], "-test.run=^TestPKICutOff$")
		renew.Env = append(os.Environ(), cutOffDir+"="+dir, cutOffName+"="+name)
		if out, err := renew.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if _, err := os.Stat(dir + "/" + name + ".crt"); err == nil {
			t.Errorf("%s: the certificate exists although its write was cut off", name)
		}
		open(t, dir, "localhost")
	}
}

// renewLimited renews a certificate while files may not grow beyond its key.
func renewLimited(t *testing.T, dir, name string) {
	p, err := openAuthority(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	low := old
	low.Cur = uint64(len(p.ca.KeyPEM) + 8)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	if _, err := p.make(name, &x509.Certificate{}); err == nil {
		t.Error("the certificate was written all the same")
	}
}
