package identity

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authn/pki"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// This file publishes which client CAs and front proxies to trust, for other servers of the
// cluster. Package server runs the Publisher as a loop after the start.

// The ConfigMap from which other servers of the cluster learn whose certificates to trust:
// kube-controller-manager, the scheduler and extension servers read it at their start.
const (
	trustNamespace = "kube-system"
	trustName      = "extension-apiserver-authentication"
	trustClients   = "client-ca-file"
	trustProxies   = "requestheader-client-ca-file"
	// trustEvery is the time between two checks of the ConfigMap: the CA files may change, and
	// certificates in it may expire.
	trustEvery = time.Minute
	// trustSoon is the time between two attempts while the namespace of the ConfigMap does not
	// exist.
	trustSoon = 100 * time.Millisecond
	// trustGrace is how long an expired certificate stays in the ConfigMap, because clocks differ.
	trustGrace = 5 * time.Minute
)

// trust is what one server adds to the ConfigMap.
type trust struct {
	clients, proxies []*x509.Certificate
	// lists are the names of front proxies and of their headers, by key of the ConfigMap.
	lists map[string][]string
}

// Publisher returns the loop that keeps the ConfigMap. Every server runs it, and adds its own CAs
// and names to the existing ones; no server removes the CAs and names of another. Publisher returns
// nil if the server has no serving certificate, so no secure port.
func (id *Identity) Publisher(c *FrontProxy, through *client.Client, log *zap.Logger) *controller.Loop {
	if id.serving == nil {
		return nil
	}
	objects := client.For[*corev1.ConfigMap](through, corev1.GroupVersion.WithResource("configmaps"))
	return &controller.Loop{
		Name:   "cluster_authentication_trust_controller",
		Source: controller.WatchOne(objects, controller.Name{Namespace: trustNamespace, Name: trustName}),
		Reconcile: func(ctx context.Context, _ controller.Name) (time.Duration, error) {
			mine, err := id.trust(c)
			if err != nil {
				return 0, err
			}
			err = publishTrust(ctx, objects.In(trustNamespace), mine)
			switch {
			case meta.IsNotFound(err): // the server has not created the namespace yet
				return trustSoon, nil
			case meta.IsConflict(err), meta.IsAlreadyExists(err): // another server wrote; the watch brings its state
				return 0, nil
			}
			return trustEvery, err
		},
		Log: log,
	}
}

// trust reads the CAs of this server and the names of its front proxies. A server that makes its
// own certificate for servers behind it names itself as front proxy.
func (id *Identity) trust(c *FrontProxy) (t trust, err error) {
	if t.clients, err = id.clientCAs(); err != nil {
		return t, err
	}
	names, headers := c.AllowedNames, &c.Headers
	switch {
	case id.proxyCA != nil:
		t.proxies, names, headers = []*x509.Certificate{id.proxyCA}, []string{frontProxyName}, &authn.StandardHeaders
	case id.proxyCAFile != "":
		if t.proxies, err = readCertificates(id.proxyCAFile); err != nil {
			return t, err
		}
	default:
		return t, nil
	}
	t.lists = map[string][]string{
		"requestheader-allowed-names":        names,
		"requestheader-username-headers":     headers.Names,
		"requestheader-group-headers":        headers.Groups,
		"requestheader-uid-headers":          headers.UIDs,
		"requestheader-extra-headers-prefix": headers.ExtraPrefixes,
	}
	return t, nil
}

// publishTrust adds mine to the ConfigMap, or creates it. If the ConfigMap becomes too large
// publishTrust deletes it, and every server adds its own part again.
func publishTrust(ctx context.Context, objects client.Resource[*corev1.ConfigMap], mine trust) error {
	have, err := objects.Get(ctx, trustName, meta.GetOptions{})
	if meta.IsNotFound(err) {
		if len(mine.clients) == 0 && len(mine.proxies) == 0 {
			return nil
		}
		_, err = objects.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: meta.ObjectMeta{Namespace: trustNamespace, Name: trustName}, Data: mine.data(nil, time.Now()),
		}, meta.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	data := mine.data(have.Data, time.Now())
	if maps.Equal(data, have.Data) {
		return nil
	}
	have.Data = data
	_, err = objects.Update(ctx, have, meta.UpdateOptions{})
	if meta.IsRequestEntityTooLarge(err) || meta.IsInvalid(err) {
		return errors.Join(err, objects.Delete(ctx, trustName, meta.DeleteOptions{}))
	}
	return err
}

// data returns the data of the ConfigMap after t has been added to have. Values that cannot be
// parsed and expired certificates are left out.
func (t *trust) data(have map[string]string, now time.Time) map[string]string {
	data := map[string]string{}
	if clients := mergeCertificates(have[trustClients], t.clients, now); clients != "" {
		data[trustClients] = clients
	}
	proxies := mergeCertificates(have[trustProxies], t.proxies, now)
	if proxies == "" {
		return data
	}
	data[trustProxies] = proxies
	for _, key := range []string{
		"requestheader-allowed-names", "requestheader-username-headers", "requestheader-group-headers",
		"requestheader-uid-headers", "requestheader-extra-headers-prefix",
	} {
		var list []string
		_ = json.Unmarshal([]byte(have[key]), &list) // a value that is no list counts as empty
		all := []string{}
		for _, name := range slices.Concat(list, t.lists[key]) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		if len(all) == 0 && key == "requestheader-uid-headers" { // older servers do not know this key
			continue
		}
		text, _ := json.Marshal(all) // strings, which always have JSON
		data[key] = string(text)
	}
	return data
}

// mergeCertificates returns the certificates of have and more, each once, as PEM, without those
// that expired more than trustGrace ago.
func mergeCertificates(have string, more []*x509.Certificate, now time.Time) string {
	all, _ := pki.ParseCertificates([]byte(have)) // a value that is no PEM counts as empty
	var seen []*x509.Certificate
	for _, c := range slices.Concat(all, more) {
		if c.NotAfter.After(now.Add(-trustGrace)) && !slices.ContainsFunc(seen, c.Equal) {
			seen = append(seen, c)
		}
	}
	return string(pki.EncodeCertificates(seen...))
}

// readCertificates reads the certificates in a PEM file.
func readCertificates(file string) ([]*x509.Certificate, error) {
	data, err := configfile.Read(file)
	if err != nil {
		return nil, err
	}
	return pki.ParseCertificates(data)
}
