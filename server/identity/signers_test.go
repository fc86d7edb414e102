package identity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/server/reload"
)

// filesOf writes an authority and returns its files.
func filesOf(t *testing.T, a *pkitest.Authority) AuthorityFiles {
	t.Helper()
	cert, key := pkitest.Files(t, a.Pair)
	return AuthorityFiles{CertFile: cert, KeyFile: key}
}

// TestSigners says which authority signs for each signer, for several configurations.
func TestSigners(t *testing.T) {
	corp, edge := pkitest.NewAuthority(t, "corp"), pkitest.NewAuthority(t, "edge")
	own, err := openAuthority(t.TempDir(), "ca")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		c    Signing
		own  *authority
		want string // the common names of the authorities, in the order of bySigner
	}{
		{"none", Signing{}, nil, ""},
		{"its own", Signing{}, own, "coracle-ca coracle-ca coracle-ca coracle-ca"},
		{"one for all", Signing{All: filesOf(t, corp)}, own, "corp corp corp corp"},
		{"some", Signing{KubeletServing: filesOf(t, corp), APIServerClient: filesOf(t, edge)}, own, "corp - edge -"},
		{"the others", Signing{KubeletClient: filesOf(t, corp), LegacyUnknown: filesOf(t, edge)}, nil, "- corp - edge"},
	} {
		s, err := newSigners(&tt.c, tt.own)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, one := range tt.c.bySigner() {
			if by, key := s.Authority(one.signer); by != nil && key != nil {
				got = append(got, by.Subject.CommonName)
			} else if s.Any() {
				got = append(got, "-")
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if by, _ := s.Authority("example.com/signer"); by != nil && tt.own == nil {
			t.Errorf("%s: %v signs for a signer that is not configured", tt.name, by.Subject)
		}
	}
}

// TestSignerFiles checks the errors for invalid files of authorities.
func TestSignerFiles(t *testing.T) {
	a, b := pkitest.NewAuthority(t, "a"), pkitest.NewAuthority(t, "b")
	good, dir := filesOf(t, a), t.TempDir()
	two := pkitest.Write(t, filepath.Join(dir, "two.crt"), append(a.CertPEM, b.CertPEM...))
	for _, tt := range []struct {
		files AuthorityFiles
		want  string
	}{
		{good, ""},
		{AuthorityFiles{good.CertFile, "none"}, "open none: no such file or directory"},
		{AuthorityFiles{"none", good.KeyFile}, "open none: no such file or directory"},
		{AuthorityFiles{good.CertFile, filesOf(t, b).KeyFile}, "private key does not match public key"},
		{AuthorityFiles{two, good.KeyFile}, "expected 1 certificate, found 2"},
	} {
		_, err := newSigners(&Signing{All: tt.files}, nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v: got %v, want %q", tt.files, err, tt.want)
		}
	}
}

// TestSigningMistakes checks the errors about incomplete pairs, and about too many of them.
func TestSigningMistakes(t *testing.T) {
	whole := AuthorityFiles{"c", "k"}
	const both = "cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time"
	for _, tt := range []struct {
		c    Signing
		want string
	}{
		{Signing{}, ""},
		{Signing{All: whole, Longest: time.Hour}, ""},
		{Signing{KubeletServing: whole, LegacyUnknown: whole}, ""},
		{Signing{All: whole, KubeletClient: whole}, both},
		{Signing{All: AuthorityFiles{CertFile: "c"}}, `"cluster-signing": cannot specify cert without key`},
		{Signing{APIServerClient: AuthorityFiles{KeyFile: "k"}}, `"cluster-signing-kube-apiserver-client": cannot specify key without cert`},
		{Signing{Longest: -1}, "the longest life of signed certificates (--cluster-signing-duration) is negative: -1ns"},
	} {
		got := ""
		if err := tt.c.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.c, got, tt.want)
		}
	}
	if c := (Signing{}).Complete(); c.Longest != 365*24*time.Hour {
		t.Errorf("by default certificates are valid for %v", c.Longest)
	}
}

// TestSignerReload replaces the files of an authority. A broken certificate leaves the old
// authority in force.
func TestSignerReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := pkitest.NewAuthority(t, "first"), pkitest.NewAuthority(t, "second")
		files, other := filesOf(t, first), filesOf(t, second)
		s, err := newSigners(&Signing{All: files}, nil)
		if err != nil {
			t.Fatal(err)
		}
		replace := func(with AuthorityFiles) {
			t.Helper()
			if err := os.Rename(with.CertFile, files.CertFile); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(with.KeyFile, files.KeyFile); err != nil {
				t.Fatal(err)
			}
			time.Sleep(reload.CheckEvery)
			if err := os.Chtimes(files.CertFile, time.Now(), time.Now()); err != nil { // the modification time shows the change, because fake time differs at each replacement
				t.Fatal(err)
			}
		}
		is := func(want string) {
			t.Helper()
			if by, _ := s.Authority(certificatesv1.KubeletServingSignerName); by.Subject.CommonName != want {
				t.Errorf("%s signs, want %s", by.Subject.CommonName, want)
			}
		}
		is("first")
		replace(AuthorityFiles{pkitest.Write(t, filepath.Join(t.TempDir(), "broken"), []byte("x")), other.KeyFile})
		is("first")
		replace(filesOf(t, second))
		is("second")
	})
}
