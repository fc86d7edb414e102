package podspec

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func decode(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	return checktest.Decode[corev1.Pod](t, text)
}

// checkContainer compares the errors of a container that has a name, an image and more JSON. Its
// pod has three volumes: an emptyDir e, a claim p and a config map m. In want, $ is the path of the
// container.
func checkContainer(t *testing.T, more, want string) {
	t.Helper()
	pod := decode(t, `{"spec":{"volumes":[{"name":"e"},{"name":"p","persistentVolumeClaim":{"claimName":"c"}},{"name":"m","configMap":{"name":"m"}}],
		"containers":[{"name":"c","image":"i",`+more+`}]}}`)
	checktest.Want(t, Rules{AllowPrivileged: true}.Pod(pod), strings.ReplaceAll(want, "$", "spec.containers[0]"))
}

// checkSpec compares the errors of the spec of a pod. In want, $ is the path of the spec.
func checkSpec(t *testing.T, spec, want string) {
	t.Helper()
	checktest.Want(t, Rules{}.Pod(decode(t, `{"spec":{`+spec+`}}`)), strings.ReplaceAll(want, "$", "spec"))
}

// The messages about a qualified name, the value of a label and the name of a variable.
const (
	qualified  = checktest.Qualified
	labelValue = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an ` +
		`alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
	variable = `a valid environment variable name must consist only of printable ASCII characters other than '='`
)
