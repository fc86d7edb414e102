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

// kubeconfig is the part of a kubeconfig file that says how to reach one server.
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

type cluster struct {
	Server     string `json:"server"`
	CAFile     string `json:"certificate-authority"`
	CAData     []byte `json:"certificate-authority-data"`
	ServerName string `json:"tls-server-name"`
	Insecure   bool   `json:"insecure-skip-tls-verify"`
	Proxy      string `json:"proxy-url"`
}

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

// ReadKubeconfig returns the Target that the current context of a kubeconfig file points to. Files that it names are
// relative to its own folder. Those with a token or the client's certificate are read again for each call or connection,
// as they may change; all are read once now, so that a mistake is found. What the file asks for and cannot be had
// (exec, auth-provider, impersonation, proxy-url) is an error.
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

func parseKubeconfig(data []byte, folder string) (Target, error) {
	text, _, err := codec.YAMLToJSON(data, false, nil)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "yaml: line ") { // others quote what stands in the file
			err = errors.New("the file is no YAML object")
		}
		return Target{}, err
	}
	var k kubeconfig
	if err := json.Unmarshal(text, &k); err != nil {
		return Target{}, err
	}
	cluster, user, err := k.current()
	if err != nil {
		return Target{}, err
	}
	for _, file := range []*string{&cluster.CAFile, &user.CertFile, &user.KeyFile, &user.TokenFile} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(folder, *file)
		}
	}
	t := Target{plain: true}
	if err := errors.Join(cluster.fill(&t), user.fill(&t)); err != nil {
		return Target{}, err
	}
	return t, nil
}

// current follows the current context. One without a user has no credentials.
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

func (k *kubeconfig) cluster(name string) (*cluster, error) {
	for i := range k.Clusters {
		if k.Clusters[i].Name == name {
			return &k.Clusters[i].Cluster, nil
		}
	}
	return nil, fmt.Errorf("there is no cluster %q", name)
}

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

// fillCertificate sets the client's certificate; as with everything in such a file, data goes before a file.
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

// fillHeader sets what goes into the Authorization header. A token file goes before a token.
func (u *user) fillHeader(t *Target) error {
	token, basic := u.Token != "" || u.TokenFile != "", u.Username != "" || u.Password != ""
	switch {
	case token && basic:
		return errors.New("there are both a token and a password")
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

// checkToken refuses what cannot stand in a header before net/http does, whose error would show it.
func checkToken(token string) (string, error) {
	if token == "" {
		return "", errors.New("the token is empty")
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return "", errors.New("the token holds a character that no token has")
		}
	}
	return token, nil
}
