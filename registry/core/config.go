package core

import (
	"crypto/tls"
	"encoding/json"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares configmaps and secrets. Both hold at most 1 MiB of data, and both can be
// marked immutable (KEP-1412). Resources calls configMaps and secrets.

// maxData is the most that the values of a config map or secret may hold together, in bytes. Keys
// do not count. An object of that size still fits into one request and one value of etcd.
const maxData = 1 << 20

// configMaps declares configmaps.
func configMaps() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.ConfigMap]{
		GroupResource: meta.GroupResource{Resource: "configmaps"},
		Kind:          "ConfigMap", ShortNames: []string{"cm"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*corev1.ConfigMap]{
			Metadata:                 registry.MetaWhole,
			Validate:                 checkConfigMap,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*corev1.ConfigMap]{
			Columns: configMapColumns,
			Cells: func(cm *corev1.ConfigMap, now time.Time) []any {
				return []any{cm.Name, int64(len(cm.Data) + len(cm.BinaryData)), registry.Age(&cm.ObjectMeta, now)}
			},
		},
	})
}

// configMapColumns have the descriptions of kube-apiserver, which clients see in each table.
var configMapColumns = []meta.TableColumnDefinition{
	registry.NameColumn,
	registry.Column("Data",
		"Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_'"+
			" or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in "+
			"Data must not overlap with the keys in the BinaryData field, this is enforced during validation "+
			"process.", 0),
	registry.AgeColumn,
}

// dataChanged reports whether the map now differs from the map was. A nil map differs from an empty
// map, because kube-apiserver compares Go values here.
func dataChanged[M map[string]V, V any](now, was M) bool {
	return (now == nil) != (was == nil) || !scheme.Equal(&now, &was)
}

// immutableChanges reports the changes of an object whose field immutable was true: clearing
// immutable, and each of the listed fields that has changed. A client can set immutable at any
// time, but never clear it; to change the data it must delete the object and create it again.
// Kubelets rely on that: they stop watching an immutable object.
func immutableChanges(mark *bool, data ...check.Setting) field.ErrorList {
	data = append([]check.Setting{{"immutable", !scheme.OrZero(mark)}}, data...)
	return check.Forbidden(nil, "field is immutable when `immutable` is set", data)
}

// checkConfigMap checks keys and size. It reports changes of an immutable object first.
func checkConfigMap(cm, old *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	if old != nil && scheme.OrZero(old.Immutable) {
		errs = immutableChanges(cm.Immutable, check.Setting{"data", dataChanged(cm.Data, old.Data)},
			check.Setting{"binaryData", dataChanged(cm.BinaryData, old.BinaryData)})
	}
	size := 0
	data, binary := field.NewPath("data"), field.NewPath("binaryData")
	for key, value := range field.Entries(&errs, cm.Data) {
		errs = append(errs, check.Invalid(data.Key(key), key, names.IsConfigMapKey(key))...)
		if _, ok := cm.BinaryData[key]; ok {
			errs = append(errs, field.Invalid(data.Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(value)
	}
	for key, value := range field.Entries(&errs, cm.BinaryData) {
		errs = append(errs, check.Invalid(binary.Key(key), key, names.IsConfigMapKey(key))...)
		size += len(value)
	}
	if size > maxData {
		// Data and binaryData share the limit, so the error belongs to no field.
		errs = append(errs, field.TooLong(field.NewPath(""), "", maxData))
	}
	return errs
}

// secrets declares secrets.
func secrets() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Secret]{
		GroupResource: meta.GroupResource{Resource: "secrets"},
		Kind:          "Secret",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*corev1.Secret]{
			Metadata: registry.MetaWhole,
			Prepare: func(_ *registry.Request, s, old *corev1.Secret) {
				// The type is immutable. An update that leaves it out keeps it.
				if old != nil && s.Type == "" {
					s.Type = old.Type
				}
			},
			Validate:                 checkSecret,
			Warnings:                 secretWarnings,
			AllowUnconditionalUpdate: true,
		},
		Fields: []registry.FieldValue{{Label: "type", Path: "type"}},
		Table: &registry.TableOf[*corev1.Secret]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Type", "Tells programs how to read the data.", 0),
				registry.Column("Data", "Number of keys in the data.", 0),
				registry.AgeColumn,
			},
			Cells: func(s *corev1.Secret, now time.Time) []any {
				return []any{s.Name, string(s.Type), int64(len(s.Data)), registry.Age(&s.ObjectMeta, now)}
			},
		},
	})
}

// The keys that a secret of a Kubernetes type must have.
const (
	tlsCertKey          = "tls.crt"
	tlsKeyKey           = "tls.key"
	sshKeyKey           = "ssh-privatekey"
	dockercfgKey        = ".dockercfg"
	dockerConfigJSONKey = ".dockerconfigjson"
)

// checkSecret checks keys, size, and the keys that the secret's type requires. It reports changes
// of the type and of an immutable object first. A type that Kubernetes does not define requires no
// keys. Errors never show the data.
func checkSecret(s, old *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = check.Immutable(field.NewPath("type"), &s.Type, &old.Type)
	}
	if old != nil && scheme.OrZero(old.Immutable) {
		errs = append(errs, immutableChanges(s.Immutable, check.Setting{"data", dataChanged(s.Data, old.Data)})...)
	}
	p := field.NewPath("data")
	size := 0
	for key, value := range field.Entries(&errs, s.Data) {
		errs = append(errs, check.Invalid(p.Key(key), key, names.IsConfigMapKey(key))...)
		size += len(value)
	}
	if size > maxData {
		errs = append(errs, field.TooLong(p, "", maxData))
	}
	// need requires keys; needJSON requires a key whose value is a JSON object.
	need := func(keys ...string) {
		for _, key := range keys {
			if _, ok := s.Data[key]; !ok {
				errs = append(errs, field.Required(p.Key(key), ""))
			}
		}
	}
	needJSON := func(key string) {
		need(key)
		if value, ok := s.Data[key]; ok {
			if err := json.Unmarshal(value, &map[string]any{}); err != nil {
				errs = append(errs, field.Invalid(p.Key(key), "<secret contents redacted>", err.Error()))
			}
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		// The token itself may be missing: a controller fills it in.
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(
				field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		needJSON(dockercfgKey)
	case corev1.SecretTypeDockerConfigJson:
		needJSON(dockerConfigJSONKey)
	case corev1.SecretTypeBasicAuth:
		if _, ok := s.Data["username"]; !ok {
			if _, ok := s.Data["password"]; !ok { // either of the two is enough
				need("username", "password")
			}
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[sshKeyKey]) == 0 {
			errs = append(errs, field.Required(p.Key(sshKeyKey), ""))
		}
	case corev1.SecretTypeTLS:
		need(tlsCertKey, tlsKeyKey)
	}
	return errs
}

// secretWarnings tells of a TLS secret whose certificate and private key do not belong together or
// cannot be parsed. Such a secret is stored all the same: some clients create it first and fill in
// the certificate later.
func secretWarnings(s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[tlsCertKey], s.Data[tlsKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}
