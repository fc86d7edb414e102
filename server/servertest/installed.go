package servertest

import (
	"encoding/json"
	"fmt"

	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file reads the objects that an Environment installs, and redirects their webhooks to the
// suite. complete (environment.go) calls installed; the server creates the objects at its start.

// The kinds of objects that are installed.
var (
	definitionKind = meta.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	}
	mutatingKind   = meta.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}
	validatingKind = meta.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}
)

// tree is a JSON object whose fields are decoded only where they are needed. All other fields stay
// byte for byte as they were written.
type tree = map[string]json.RawMessage

// installed returns the objects to install: those of paths, then definitions. If hooks is not nil,
// the objects call the suite's webhooks.
func installed(paths []string, definitions []any, hooks *Webhooks) ([]manifest.Object, error) {
	var objects []manifest.Object
	for _, path := range paths {
		found, err := manifest.ReadPath(path, definitionKind.GroupKind(), mutatingKind, validatingKind)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	for i, d := range definitions {
		o, err := definition(d)
		if err != nil {
			//lint:ignore ST1005 so the field is called
			return nil, fmt.Errorf("Definitions: document %d: %w", i+1, err)
		}
		o.File, o.Document = "Definitions", i+1
		objects = append(objects, o)
	}
	for i := range objects {
		if hooks == nil {
			break
		}
		text, err := hooks.call(&objects[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", objects[i].Position(), err)
		}
		objects[i].JSON = text
	}
	return withoutRepetitions(objects), nil
}

// withoutRepetitions returns objects without repetitions: of several objects with the same kind and
// name it keeps the last, at the position of the first.
func withoutRepetitions(objects []manifest.Object) []manifest.Object {
	type key struct {
		meta.GroupKind
		name string
	}
	at := map[key]int{}
	var kept []manifest.Object
	for _, o := range objects {
		k := key{o.Kind.GroupKind(), o.Name}
		if i, again := at[k]; again {
			kept[i] = o
			continue
		}
		at[k] = len(kept)
		kept = append(kept, o)
	}
	return kept
}

// definition encodes an element of Environment.Definitions, and sets its apiVersion and kind. It
// fails if they are set to something else.
func definition(d any) (o manifest.Object, err error) {
	text, err := json.Marshal(d)
	if err != nil {
		return o, err
	}
	var t tree
	if err := json.Unmarshal(text, &t); err != nil {
		return o, err
	}
	var head struct {
		meta.TypeMeta `json:",inline"`
		Metadata      struct{ Name string }
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return o, err
	}
	for field, want := range map[string]string{
		"apiVersion": definitionKind.GroupVersion().String(), "kind": definitionKind.Kind,
	} {
		var said string
		if err := get(t, field, &said); err != nil {
			return o, err
		}
		if said != "" && said != want {
			return o, fmt.Errorf("its %s is %q, and not %q", field, said, want)
		}
		set(t, field, want)
	}
	// Kubernetes' Go type always encodes a status, which only a server may write.
	delete(t, "status")
	if text, err = json.Marshal(t); err != nil {
		return o, err
	}
	return manifest.Object{Kind: definitionKind, Name: head.Metadata.Name, JSON: text}, nil
}

// call returns the JSON of o, with its webhooks replaced by those of w.
func (w *Webhooks) call(o *manifest.Object) ([]byte, error) {
	var t tree
	if err := json.Unmarshal(o.JSON, &t); err != nil {
		return nil, err
	}
	var err error
	if o.Kind.GroupKind() == definitionKind.GroupKind() {
		err = w.callForDefinition(t)
	} else {
		err = w.callForAdmission(t)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

// callForDefinition replaces spec.conversion of a definition. If w.Converts says so, the webhook of
// w converts the objects; otherwise nothing converts them. The path of the webhook stays.
func (w *Webhooks) callForDefinition(definition tree) error {
	var spec tree
	var group string
	var names struct{ Kind string }
	var conversion struct {
		Strategy string
		Webhook  struct{ ClientConfig clientConfig }
	}
	if err := get(definition, "spec", &spec); err != nil {
		return err
	}
	for field, to := range map[string]any{"group": &group, "names": &names, "conversion": &conversion} {
		if err := get(spec, field, to); err != nil {
			return err
		}
	}
	converts := conversion.Strategy == "Webhook"
	if w.Converts != nil {
		converts = w.Converts(group, names.Kind)
	}
	delete(spec, "conversion")
	if converts {
		path := "/convert"
		if service := conversion.Webhook.ClientConfig.Service; service != nil && service.Path != nil {
			path = *service.Path
		}
		set(spec, "conversion", map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []string{"v1", "v1beta1"},
			"clientConfig":             clientConfig{URL: w.url(path), CABundle: w.CAData},
		}})
	}
	set(definition, "spec", spec)
	return nil
}

// callForAdmission replaces the service of each webhook of a configuration by the URL of w; the
// path stays. A webhook that has a URL keeps it. All get the CA bundle of w.
func (w *Webhooks) callForAdmission(configuration tree) error {
	var hooks []tree
	if err := get(configuration, "webhooks", &hooks); err != nil {
		return err
	}
	for _, hook := range hooks {
		var c clientConfig
		if err := get(hook, "clientConfig", &c); err != nil {
			return err
		}
		if c.Service != nil {
			var path string
			if c.Service.Path != nil {
				path = *c.Service.Path
			}
			c.URL, c.Service = w.url(path), nil
		}
		c.CABundle = w.CAData
		set(hook, "clientConfig", c)
	}
	if hooks != nil {
		set(configuration, "webhooks", hooks)
	}
	return nil
}

// clientConfig has the fields of a WebhookClientConfig that are read or written here.
type clientConfig struct {
	URL      string            `json:"url,omitempty"`
	Service  *serviceReference `json:"service,omitempty"`
	CABundle []byte            `json:"caBundle,omitempty"`
}

// serviceReference has the one field of a ServiceReference that is read here.
type serviceReference struct {
	Path *string `json:"path,omitempty"`
}

// get decodes a field of t into to. If t does not have the field, to stays as it is.
func get(t tree, field string, to any) error {
	text, ok := t[field]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// set sets a field of t. encoding/json must be able to encode value.
func set(t tree, field string, value any) { t[field], _ = json.Marshal(value) }
