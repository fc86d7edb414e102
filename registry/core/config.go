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

// maxData is the most that a config map or secret may hold, in bytes.
const maxData = 1 << 20

// configMaps makes the resource configmaps.
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

// configMapColumns carry descriptions that clients have always been sent.
var configMapColumns = []meta.TableColumnDefinition{
	registry.NameColumn,
	registry.Column("Data",
		"Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_'"+
			" or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in "+
			"Data must not overlap with the keys in the BinaryData field, this is enforced during validation "+
			"process.", 0),
	registry.AgeColumn,
}

// changed reports whether data are not what they were. To kube-apiserver, which compares Go values
// here, no map is another than an empty one.
func dataChanged[M map[string]V, V any](now, was M) bool {
	return (now == nil) != (was == nil) || !scheme.Equal(&now, &was)
}

// sealed reports changes of an object that was marked immutable: of the mark itself, and of the
// fields listed.
func immutableChanges(mark *bool, data ...check.Setting) field.ErrorList {
	data = append([]check.Setting{{"immutable", !scheme.OrZero(mark)}}, data...)
	return check.Forbidden(nil, "field is immutable when `immutable` is set", data)
}

// checkConfigMap tells of the seal before the rest.
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
		errs = append(errs, field.TooLong(field.NewPath(""), "", maxData))
	}
	return errs
}

// secrets makes the resource secrets.
func secrets() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Secret]{
		GroupResource: meta.GroupResource{Resource: "secrets"},
		Kind:          "Secret",
		Namespaced:    true,
		Strategy: registry.StrategyOf[*corev1.Secret]{
			Metadata: registry.MetaWhole,
			Prepare: func(_ *registry.Request, s, old *corev1.Secret) {
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

// Keys that typed secrets must have.
const (
	tlsCertKey          = "tls.crt"
	tlsKeyKey           = "tls.key"
	sshKeyKey           = "ssh-privatekey"
	dockercfgKey        = ".dockercfg"
	dockerConfigJSONKey = ".dockerconfigjson"
)

// checkSecret tells of the type and the seal before the rest.
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
			if _, ok := s.Data["password"]; !ok { // one of them will do
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

// secretWarnings tells of certificates that will not work.
func secretWarnings(s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[tlsCertKey], s.Data[tlsKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}
