//go:build unix

package identity

import (
	"crypto/x509"
	"syscall"
	"testing"
)

// A renewal that is cut off between key and certificate, here by a disk that takes only the shorter
// of them, leaves nothing that a later start cannot mend.
func TestPKICutOff(t *testing.T) {
	dir := t.TempDir()
	p, serving, _ := open(t, dir, "localhost")
	for _, name := range []string{"ca", "apiserver", "admin"} {
		limitFiles(t, uint64(len(serving.KeyPEM)+8), func() {
			if _, err := p.make(name, &x509.Certificate{}); err == nil {
				t.Errorf("%s: the certificate was written all the same", name)
			}
		})
		p, _, _ = open(t, dir, "localhost")
	}
}

// limitFiles calls f while files may not grow beyond so many bytes.
func limitFiles(t *testing.T, size uint64, f func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	low := old
	low.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	f()
}
