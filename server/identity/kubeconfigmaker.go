package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// KubeconfigMaker makes kubeconfigs for users and service accounts from the files in a server's
// data folder. Anybody who can read that folder can become any user, so a KubeconfigMaker checks no
// permissions. The command kubeconfig uses it.
type KubeconfigMaker struct {
	// DataDir is the data folder of the server. The server must have written the administrator's
	// kubeconfig into it, from which KubeconfigMaker takes the server's address and CAs.
	DataDir string
	// URL is the URL of the server in the kubeconfigs that are made; "" takes the URL of the
	// administrator's kubeconfig.
	URL string
	// Lasts is the lifetime of the credentials, for a token at least 10 minutes. A certificate
	// cannot be revoked before its end. A token also ends when its service account is deleted, and
	// the server may shorten its lifetime.
	Lasts time.Duration
}

// User returns a kubeconfig with a client certificate for a user who is a member of groups. It
// signs with the key of the server's own authority; the server need not run.
func (h KubeconfigMaker) User(name string, groups []string) ([]byte, error) {
	if h.Lasts <= 0 {
		return nil, fmt.Errorf("credentials cannot last for %v", h.Lasts)
	}
	url, trusted, err := h.cluster()
	if err != nil {
		return nil, err
	}
	p := &authority{dir: filepath.Join(h.DataDir, "pki")}
	if p.ca, err = p.read("ca"); err != nil {
		return nil, err
	}
	pair, err := p.client(name, groups, time.Now().Add(h.Lasts))
	if err != nil {
		return nil, err
	}
	credentials := Credentials{Host: url, CAData: trusted, CertData: pair.CertPEM, KeyData: pair.KeyPEM, user: name}
	return credentials.Kubeconfig(), nil
}

// ServiceAccount returns a kubeconfig with a token of a service account. It requests the token from
// the running server, as the administrator. The service account must exist.
func (h KubeconfigMaker) ServiceAccount(ctx context.Context, namespace, name string) ([]byte, error) {
	url, trusted, err := h.cluster()
	if err != nil {
		return nil, err
	}
	c, closeClient, err := h.client()
	if err != nil {
		return nil, err
	}
	defer closeClient()
	seconds := int64(h.Lasts / time.Second)
	accounts := client.For[*authenticationv1.TokenRequest](c,
		corev1.GroupVersion.WithResource("serviceaccounts")).In(namespace)
	r, err := accounts.Sub("token").Create(ctx, &authenticationv1.TokenRequest{
		TypeMeta:   meta.TypeMeta{APIVersion: authenticationv1.GroupVersion.String(), Kind: "TokenRequest"},
		ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, meta.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return kubeconfigText(url, trusted, namespace+"/"+name, namespace,
		"    token: "+strconv.Quote(r.Status.Token)+"\n"), nil
}

// adminKubeconfig returns the path of the kubeconfig that the server has written.
func (h KubeconfigMaker) adminKubeconfig() string {
	return filepath.Join(h.DataDir, "admin.kubeconfig")
}

// cluster returns the URL of the server and the CAs, as PEM, that clients must trust to reach it.
func (h KubeconfigMaker) cluster() (url string, trusted []byte, err error) {
	target, err := callout.ReadKubeconfig(h.adminKubeconfig())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no server with a secure port has run with the data directory %s: %w", h.DataDir, err)
	}
	return cmp.Or(h.URL, target.URL), target.CABundle, err
}

// client returns a client of the server, as its administrator, and the function that closes its
// connections.
func (h KubeconfigMaker) client() (*client.Client, func(), error) {
	target, err := callout.ReadKubeconfig(h.adminKubeconfig())
	if err != nil {
		return nil, nil, err
	}
	way, err := callout.New(callout.Config{Name: "kubeconfig", Target: target})
	if err != nil {
		return nil, nil, err
	}
	s := scheme.New()
	authenticationv1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		return nil, nil, err
	}
	c, err := client.New(client.Config{
		URL:       target.URL,
		Transport: way,
		Codecs:    codec.NewFactory(s),
		UserAgent: "coracle-kubeconfig",
	})
	return c, way.Close, err
}
