package callout

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/configfile"
)

// This file reads the kubeconfig files by which operators configure webhooks
// (--authentication-token-webhook-config-file and others).

// kubeconfig is the part of a kubeconfig file that is used here: where one server is and how to
// authenticate.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User user   `json:"user"`
	} `json:"users"`
}

// cluster is the server in a kubeconfig file.
type cluster struct {
	Server     string `json:"server"`
	CAFile     string `json:"certificate-authority"`
	CAData     []byte `json:"certificate-authority-data"`
	ServerName string `json:"tls-server-name"`
	Insecure   bool   `json:"insecure-skip-tls-verify"`
	Proxy      string `json:"proxy-url"`
}

// user has the credentials in a kubeconfig file.
type user struct {
	CertFile     string    `json:"client-certificate"`
	CertData     []byte    `json:"client-certificate-data"`
	KeyFile      string    `json:"client-key"`
	KeyData      []byte    `json:"client-key-data"`
	Token        string    `json:"token"`
	TokenFile    string    `json:"tokenFile"`
	Username     string    `json:"username"`
	Password     string    `json:"password"`
	Impersonate  string    `json:"as"`
	Exec         *struct{} `json:"exec"`
	AuthProvider *struct{} `json:"auth-provider"`
}

// ReadKubeconfig returns the Target of the current context of a kubeconfig file. Paths in the file
// are relative to its folder. Files with tokens or client certificates are read again for each call
// or connection, because they may change; all of them are also read now, so that mistakes are
// found. exec, auth-provider, impersonation and proxy-url are not supported and return an error.
func ReadKubeconfig(path string) (Target, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return Target{}, fmt.Errorf("kubeconfig: %w", err)
	}
	t, err := parseKubeconfig(data, filepath.Dir(path))
	if err != nil {
		return Target{}, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return t, nil
}

// parseKubeconfig returns the Target of a kubeconfig. Its errors do not quote the file, which has
// secrets.
func parseKubeconfig(data []byte, folder string) (Target, error) {
	k, err := decodeKubeconfig(data)
	if err != nil {
		return Target{}, err
	}
	cluster, user, err := k.current()
	if err != nil {
		return Target{}, err
	}
	resolve(&cluster.CAFile, folder)
	user.resolve(folder)
	t := Target{plain: true}
	if err := errors.Join(cluster.fill(&t), user.fill(&t)); err != nil {
		return Target{}, err
	}
	return t, nil
}

// decodeKubeconfig decodes a kubeconfig. Its errors do not quote the file.
func decodeKubeconfig(data []byte) (*kubeconfig, error) {
	text, _, err := codec.YAMLToJSON(data, false, nil)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "yaml: line ") { // other errors may quote the file
			err = errors.New("the file is not a YAML object")
		}
		return nil, err
	}
	var k kubeconfig
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, err
	}
	return &k, nil
}

// resolve makes the name of a file absolute, if there is one.
func resolve(file *string, folder string) {
	if *file != "" && !filepath.IsAbs(*file) {
		*file = filepath.Join(folder, *file)
	}
}

// resolve makes the names of the user's files absolute.
func (u *user) resolve(folder string) {
	for _, file := range []*string{&u.CertFile, &u.KeyFile, &u.TokenFile} {
		resolve(file, folder)
	}
}

// current returns cluster and user of the current context. A context without a user has no
// credentials.
func (k *kubeconfig) current() (*cluster, *user, error) {
	if k.CurrentContext == "" {
		return nil, nil, errors.New("there is no current-context")
	}
	for _, c := range k.Contexts {
		if c.Name != k.CurrentContext {
			continue
		}
		cluster, err := k.cluster(c.Context.Cluster)
		if err != nil {
			return nil, nil, err
		}
		user, err := k.user(c.Context.User)
		return cluster, user, err
	}
	return nil, nil, fmt.Errorf("there is no context %q", k.CurrentContext)
}

// cluster returns the cluster called name.
func (k *kubeconfig) cluster(name string) (*cluster, error) {
	for i := range k.Clusters {
		if k.Clusters[i].Name == name {
			return &k.Clusters[i].Cluster, nil
		}
	}
	return nil, fmt.Errorf("there is no cluster %q", name)
}

// user returns the user called name. If name is "", the user has no credentials.
func (k *kubeconfig) user(name string) (*user, error) {
	if name == "" {
		return new(user), nil
	}
	for i := range k.Users {
		if k.Users[i].Name == name {
			return &k.Users[i].User, nil
		}
	}
	return nil, fmt.Errorf("there is no user %q", name)
}

// fill sets t's fields about the server, and checks them.
func (c *cluster) fill(t *Target) error {
	if c.Proxy != "" {
		return errors.New("proxy-url is not supported")
	}
	t.URL, t.ServerName, t.Insecure, t.CABundle = c.Server, c.ServerName, c.Insecure, c.CAData
	if len(c.CAData) == 0 && c.CAFile != "" {
		var err error
		if t.CABundle, err = configfile.Read(c.CAFile); err != nil {
			return err
		}
	}
	if _, err := t.address(); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	_, err := t.tls()
	return err
}

// fill sets t's fields about credentials, and checks them.
func (u *user) fill(t *Target) error {
	var errs []error
	for name, unsupported := range map[string]bool{
		"exec": u.Exec != nil, "auth-provider": u.AuthProvider != nil, "as": u.Impersonate != "",
	} {
		if unsupported {
			errs = append(errs, fmt.Errorf("%s is not supported", name))
		}
	}
	return errors.Join(append(errs, u.fillCertificate(t), u.fillHeader(t))...)
}

// fillCertificate sets the client certificate. Data in the kubeconfig itself takes precedence over
// a file, as for certificate-authority-data.
func (u *user) fillCertificate(t *Target) error {
	hasCert, hasKey := len(u.CertData) > 0 || u.CertFile != "", len(u.KeyData) > 0 || u.KeyFile != ""
	if !hasCert && !hasKey {
		return nil
	}
	if !hasCert || !hasKey {
		return errors.New("a client certificate and its key must be given together")
	}
	read := func(data []byte, file string) ([]byte, error) {
		if len(data) > 0 {
			return data, nil
		}
		return configfile.Read(file)
	}
	t.Certificate = func() (*tls.Certificate, error) {
		cert, certErr := read(u.CertData, u.CertFile)
		key, keyErr := read(u.KeyData, u.KeyFile)
		if err := errors.Join(certErr, keyErr); err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		return &pair, nil
	}
	_, err := t.Certificate()
	return err
}

// fillHeader sets the Authorization header. A token file takes precedence over a token.
func (u *user) fillHeader(t *Target) error {
	token, basic := u.Token != "" || u.TokenFile != "", u.Username != "" || u.Password != ""
	switch {
	case token && basic:
		return errors.New("a token and a password must not be given together")
	case basic:
		header := "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username+":"+u.Password))
		t.Authorize = func(h http.Header) error {
			h.Set("Authorization", header)
			return nil
		}
	case token:
		t.Authorize = func(h http.Header) error {
			token, err := u.bearer()
			if err == nil {
				h.Set("Authorization", "Bearer "+token)
			}
			return err
		}
		return t.Authorize(http.Header{})
	}
	return nil
}

// bearer returns the bearer token. A token file is read at each call.
func (u *user) bearer() (string, error) {
	if u.TokenFile == "" {
		return checkToken(u.Token)
	}
	data, err := configfile.Read(u.TokenFile)
	if err != nil {
		return "", err
	}
	return checkToken(strings.TrimSpace(string(data)))
}

// checkToken returns an error for a token that cannot stand in a header. net/http would check it as
// well, but its error quotes the token.
func checkToken(token string) (string, error) {
	if token == "" {
		return "", errors.New("the token is empty")
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", errors.New("the token contains a character that is not allowed in a token")
		}
	}
	return token, nil
}
