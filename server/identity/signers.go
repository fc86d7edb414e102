package identity

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/scheme/api/certificatesv1"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/server/reload"
)

// This file has the authorities that sign the certificates which clients request by
// CertificateSigningRequests. The server reads them when it starts, and the loop Signer
// (server/loops/csr) asks Signers.Authority for each request.

// DefaultSigningLife is the longest life of requested certificates if Signing.Longest is 0: 365
// days.
const DefaultSigningLife = certLife

// Signing names the authorities that sign requested certificates. If it names none, the server's
// own authority signs for all signers; a server without an authority of its own then signs for
// none. Only one of the servers on a store signs at a time, so all of them should name the same
// authorities: each server accepts client certificates of its own authority and of
// Config.ClientCAFile, and of no other. A comment gives in brackets the flags of
// kube-controller-manager that set the same thing.
type Signing struct {
	// All signs for all signers. It excludes the other fields.
	// (--cluster-signing-cert-file, --cluster-signing-key-file)
	All AuthorityFiles
	// Each of these signs for one signer. If one is set, the server signs for no signer whose field
	// is not set. (--cluster-signing-kubelet-serving-cert-file,
	// --cluster-signing-kubelet-client-cert-file,
	// --cluster-signing-kube-apiserver-client-cert-file,
	// --cluster-signing-legacy-unknown-cert-file, each with its -key-file)
	KubeletServing, KubeletClient, APIServerClient, LegacyUnknown AuthorityFiles
	// Longest is the longest life of such a certificate, default DefaultSigningLife. A client may
	// ask for a shorter one. (--cluster-signing-duration)
	Longest time.Duration
}

// AuthorityFiles are the files of a certificate authority: one certificate and its key, as PEM.
// They are read again when they change.
type AuthorityFiles struct {
	CertFile, KeyFile string
}

// set reports whether a file is named.
func (f AuthorityFiles) set() bool { return f != AuthorityFiles{} }

// Complete returns the configuration with its defaults.
func (s Signing) Complete() Signing {
	if s.Longest == 0 {
		s.Longest = DefaultSigningLife
	}
	return s
}

// signerFiles are the files of the authority of one signer.
type signerFiles struct {
	signer, flags string // the signer's name; what the names of its flags begin with
	AuthorityFiles
}

// bySigner returns the fields that are for one signer.
func (s *Signing) bySigner() []signerFiles {
	return []signerFiles{
		{certificatesv1.KubeletServingSignerName, "cluster-signing-kubelet-serving", s.KubeletServing},
		{certificatesv1.KubeAPIServerClientKubeletSignerName, "cluster-signing-kubelet-client", s.KubeletClient},
		{certificatesv1.KubeAPIServerClientSignerName, "cluster-signing-kube-apiserver-client", s.APIServerClient},
		{certificatesv1.LegacyUnknownSignerName, "cluster-signing-legacy-unknown", s.LegacyUnknown},
	}
}

// Validate returns all mistakes in the configuration. Its errors have the full names of flags;
// kube-controller-manager shortens some of them.
func (s *Signing) Validate() error {
	errs := []error{s.All.validate("cluster-signing")}
	some := false
	for _, one := range s.bySigner() {
		errs = append(errs, one.validate(one.flags))
		some = some || one.set()
	}
	if some && s.All.set() {
		errs = append(errs, errors.New("cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time"))
	}
	if s.Longest < 0 {
		errs = append(errs, fmt.Errorf("the longest life of signed certificates (--cluster-signing-duration) is negative: %v", s.Longest))
	}
	return errors.Join(errs...)
}

// validate returns an error if one of the two files is missing.
func (f AuthorityFiles) validate(flags string) error {
	switch {
	case f.CertFile == "" && f.KeyFile != "":
		return fmt.Errorf("%q: cannot specify key without cert", flags)
	case f.CertFile != "" && f.KeyFile == "":
		return fmt.Errorf("%q: cannot specify cert without key", flags)
	}
	return nil
}

// Signers are the authorities that sign requested certificates, by the names of Kubernetes'
// standard signers. All methods may be called at once.
type Signers struct {
	// Longest is the longest life of a certificate.
	Longest time.Duration

	own   *pki.Pair // signs for all signers; nil if the configuration names others, or there is none
	given map[string]*reload.Value[pki.Pair]
}

// newSigners reads the authorities of a configuration. own is the server's own authority, nil if it
// has none.
func newSigners(c *Signing, own *authority) (*Signers, error) {
	s := &Signers{Longest: c.Longest, given: map[string]*reload.Value[pki.Pair]{}}
	var all *reload.Value[pki.Pair]
	if c.All.set() {
		var err error
		if all, err = readSigner(c.All); err != nil {
			return nil, fmt.Errorf("authority of all signers: %w", err)
		}
	}
	for _, one := range c.bySigner() {
		switch {
		case all != nil:
			s.given[one.signer] = all
		case one.set():
			given, err := readSigner(one.AuthorityFiles)
			if err != nil {
				return nil, fmt.Errorf("authority of the signer %s: %w", one.signer, err)
			}
			s.given[one.signer] = given
		}
	}
	if len(s.given) == 0 && own != nil {
		s.own = own.ca
	}
	return s, nil
}

// readSigner reads an authority. A file with several certificates is refused, because it would not
// be clear which of them signs.
func readSigner(f AuthorityFiles) (*reload.Value[pki.Pair], error) {
	return reload.NewValue([]string{f.CertFile, f.KeyFile}, func() (*pki.Pair, error) {
		certPEM, err := configfile.Read(f.CertFile)
		if err != nil {
			return nil, err
		}
		keyPEM, err := configfile.Read(f.KeyFile)
		if err != nil {
			return nil, err
		}
		pair, err := pki.ParsePair(certPEM, keyPEM)
		if err != nil {
			return nil, fmt.Errorf("%s with %s: %w", f.CertFile, f.KeyFile, err)
		}
		if all, err := pki.ParseCertificates(certPEM); err != nil || len(all) != 1 {
			return nil, errors.Join(err, fmt.Errorf("error reading CA cert file %q: expected 1 certificate, found %d", f.CertFile, len(all)))
		}
		return pair, nil
	})
}

// Any reports whether there is an authority for at least one signer.
func (s *Signers) Any() bool { return s.own != nil || len(s.given) > 0 }

// Authority returns the certificate and the key of the authority that signs for a signer, nil if
// there is none.
func (s *Signers) Authority(signer string) (*x509.Certificate, crypto.Signer) {
	pair := s.own
	if given := s.given[signer]; given != nil {
		pair = given.Get()
	}
	if pair == nil {
		return nil, nil
	}
	return pair.Cert, pair.Key
}
