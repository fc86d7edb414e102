package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
)

const qualified = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
	`(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`

func TestStorageClass(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"provisioner":"Example.com/P","parameters":{"a":""},"reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer"}`, ``},
		{`{"provisioner":"p","reclaimPolicy":""}`, ``},
		{`{}`, `provisioner: Required value`},
		{`{"provisioner":"A_","parameters":{"":"a"},"reclaimPolicy":"Recycle","volumeBindingMode":"Odd"}`, `
provisioner: Invalid value: "a_": ` + qualified + `
parameters: Invalid value: "": field can not be empty.
reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"
volumeBindingMode: Unsupported value: "Odd": supported values: "Immediate", "WaitForFirstConsumer"`},
	} {
		checktest.Want(t, write(t, "storageclasses", checktest.Decode[storagev1.StorageClass](t, tt.in), nil), tt.want)
	}
}

func TestParameters(t *testing.T) {
	c := checktest.Decode[storagev1.StorageClass](t, `{"provisioner":"p"}`)
	c.Parameters = map[string]string{"k": strings.Repeat("v", maxParameterSize-1)}
	checktest.Want(t, checkStorageClass(c, nil), ``)
	c.Parameters["l"] = ""
	checktest.Want(t, checkStorageClass(c, nil), `parameters: Too long: may not be more than 262144 bytes`)
	c.Parameters = map[string]string{}
	for i := range maxParameters {
		c.Parameters[fmt.Sprint(i)] = ""
	}
	checktest.Want(t, checkStorageClass(c, nil), ``)
	c.Parameters[""] = ""
	checktest.Want(t, checkStorageClass(c, nil), `parameters: Too long: may not be more than 512 bytes`)
}

// TestTopologies checks the validation of topology terms. In want, $ is the path of the first
// term's expressions.
func TestTopologies(t *testing.T) {
	for _, tt := range []struct{ terms, want string }{
		{`{"matchLabelExpressions":[{"key":"a","values":["1","2"]},{"key":"b","values":["1"]}]},{"matchLabelExpressions":[{"key":"a","values":["1"]}]}`, ``},
		{`{"matchLabelExpressions":[{"key":"a b"},{"key":"a","values":["1","1"]},{"key":"a","values":["2"]}]}`, `
$[0].values: Required value
$[0].key: Invalid value: "a b": ` + qualified + `
$[1].values[1]: Duplicate value: "1"
$[2].key: Duplicate value: "a"`},
		{`{"matchLabelExpressions":[{"key":"a","values":["1","2"]}]},{"matchLabelExpressions":[{"key":"a","values":["2","1"]}]},{"matchLabelExpressions":[{"key":"a","values":["1","2"]}]}`, `
allowedTopologies[1].matchLabelExpressions: Duplicate value: ""
allowedTopologies[2].matchLabelExpressions: Duplicate value: ""
allowedTopologies[2].matchLabelExpressions: Duplicate value: ""`},
		{`{"matchLabelExpressions":[{"key":"a","values":["1"]}]},{}`, `
allowedTopologies[1].matchLabelExpressions: Duplicate value: ""
allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`},
	} {
		c := checktest.Decode[storagev1.StorageClass](t, `{"provisioner":"p","allowedTopologies":[`+tt.terms+`]}`)
		checktest.Want(t, write(t, "storageclasses", c, nil), strings.ReplaceAll(tt.want, "$", "allowedTopologies[0].matchLabelExpressions"))
	}
}

func TestStorageClassUpdate(t *testing.T) {
	const old = `{"metadata":{"resourceVersion":"1"},"provisioner":"p","parameters":{"a":"b"}}`
	for _, tt := range []struct{ in, want string }{
		{`{"metadata":{"resourceVersion":"1"},"provisioner":"p","parameters":{"a":"b"},"allowVolumeExpansion":true,"mountOptions":["ro"],
			"allowedTopologies":[{"matchLabelExpressions":[{"key":"a","values":["1"]}]}]}`, ``},
		{`{"metadata":{"resourceVersion":"1","labels":{"a":"b c"},"finalizers":["plain"]},"provisioner":"q","parameters":{},"reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer"}`, `
metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified
parameters: Invalid value: {}: field is immutable
provisioner: Invalid value: "q": field is immutable
reclaimPolicy: Invalid value: "Retain": field is immutable
volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable`},
	} {
		checktest.Want(t, write(t, "storageclasses", checktest.Decode[storagev1.StorageClass](t, tt.in), checktest.Decode[storagev1.StorageClass](t, old)), tt.want)
	}
}

func TestStorageClassWarnings(t *testing.T) {
	c := checktest.Decode[storagev1.StorageClass](t, `{"allowedTopologies":[{"matchLabelExpressions":[{"key":"a"},{"key":"failure-domain.beta.kubernetes.io/zone"}]}]}`)
	wantWarnings(t, storageClassWarnings(c, nil),
		`allowedTopologies[0].matchLabelExpressions[1].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead`)
}

func TestVolumeAttributesClass(t *testing.T) {
	const old = `{"metadata":{"resourceVersion":"1"},"driverName":"d","parameters":{"a":"b"}}`
	for _, tt := range []struct{ old, in, want string }{
		{``, old, ``},
		{``, `{}`, `
driverName: Required value
parameters: Required value: must contain at least one key/value pair`},
		{``, `{"driverName":"D_","parameters":{"":""}}`, `
driverName: Invalid value: "d_": ` + qualified + `
parameters: Invalid value: "": field can not be empty.`},
		{old, old, ``},
		{old, `{"metadata":{"resourceVersion":"1","finalizers":["plain"]},"driverName":"e"}`, `
driverName: Forbidden: updates to driverName are forbidden.
parameters: Forbidden: updates to parameters are forbidden.
metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified
parameters: Required value: must contain at least one key/value pair`},
	} {
		var was *storagev1.VolumeAttributesClass
		if tt.old != "" {
			was = checktest.Decode[storagev1.VolumeAttributesClass](t, tt.old)
		}
		checktest.Want(t, write(t, "volumeattributesclasses", checktest.Decode[storagev1.VolumeAttributesClass](t, tt.in), was), tt.want)
	}
}
