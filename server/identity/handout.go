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

// Handout makes kubeconfigs for others than the administrator, from what a server keeps in its data
// directory. Whoever may read that may be anybody.
type Handout struct {
	// DataDir is that of the server, which has written the administrator's kubeconfig there: where
	// it is, is taken from that.
	DataDir string
	// URL is where clients find the server, if that is not what the administrator's kubeconfig
	// says.
	URL string
	// Lasts is how long the credentials are to be good, which nobody can take back before.
	Lasts time.Duration
}

// User returns a kubeconfig with a certificate of a user, who is a member of some groups, signed by
// the server's own authority. It asks nobody.
func (h Handout) User(name string, groups []string) ([]byte, error) {
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

// ServiceAccount returns a kubeconfig with a token of a service account, which must exist. It asks
// the server, which may be anywhere, as the administrator.
func (h Handout) ServiceAccount(ctx context.Context, namespace, name string) ([]byte, error) {
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

func (h Handout) adminKubeconfig() string { return filepath.Join(h.DataDir, "admin.kubeconfig") }

// cluster returns where the server is, and whom clients must trust to reach it.
func (h Handout) cluster() (url string, trusted []byte, err error) {
	target, err := callout.ReadKubeconfig(h.adminKubeconfig())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no server with a secure port has run with the data directory %s: %w", h.DataDir, err)
	}
	return cmp.Or(h.URL, target.URL), target.CABundle, err
}

// client is a way to the server for its administrator.
func (h Handout) client() (*client.Client, func(), error) {
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
