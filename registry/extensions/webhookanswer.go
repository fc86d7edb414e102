package extensions

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The answer of a conversion webhook: converter.call (webhook.go) reads it with readAnswer,
// validates it as a whole with check, and takes each object over with adopt. The answer is not
// trusted, so it is scanned without decoding more than was asked for, and errors quote excerpts of
// it.

// conversionAnswer holds the fields of a ConversionReview that the converter reads. The texts share
// memory with the answer.
type conversionAnswer struct {
	meta.TypeMeta
	responded       bool // the field response is there and not null
	uid             meta.UID
	status, message string
	objects         []jsontext.Raw // undecoded; not more than were asked for
	count           int            // number of all objects in the answer, which may be more
}

// readAnswer reads a ConversionReview. It keeps at most the first most objects of it.
func readAnswer(data []byte, most int) (conversionAnswer, error) {
	var a conversionAnswer
	if len(data) == 0 {
		return a, errors.New("0-length response with status code: 200 and content type: application/json")
	}
	err := members(jsontext.RawOf(data), "the answer", func(key string, value jsontext.Raw) error {
		switch key {
		case "apiVersion":
			return text(value, key, &a.APIVersion)
		case "kind":
			return text(value, key, &a.Kind)
		case "response":
			a.responded = !value.IsNull()
			return a.readResponse(value, most)
		}
		return nil
	})
	return a, err
}

// readResponse reads the field response.
func (a *conversionAnswer) readResponse(response jsontext.Raw, most int) error {
	return members(response, "response", func(key string, value jsontext.Raw) error {
		switch key {
		case "uid":
			return text(value, "response.uid", (*string)(&a.uid))
		case "convertedObjects":
			return a.readObjects(value, most)
		case "result":
			return members(value, "response.result", func(key string, value jsontext.Raw) error {
				switch key {
				case "status":
					return text(value, "response.result.status", &a.status)
				case "message":
					return text(value, "response.result.message", &a.message)
				}
				return nil
			})
		}
		return nil
	})
}

// readObjects counts the objects of a response, and keeps the first most of them: a webhook may
// send any number.
func (a *conversionAnswer) readObjects(list jsontext.Raw, most int) error {
	if a.objects, a.count = nil, 0; list.IsNull() {
		return nil
	}
	malformed := errors.New("response.convertedObjects is not a list")
	s := jsontext.NewScanner([]byte(list), false, nil)
	if s.Next() != '[' || s.Open() != nil {
		return malformed
	}
	for first := true; ; first = false {
		more, err := s.More(']', first)
		if err != nil {
			return malformed
		}
		if !more {
			return nil
		}
		s.Next()
		start := s.Pos
		if s.Skip() != nil {
			return malformed
		}
		if a.count++; a.count <= most {
			a.objects = append(a.objects, jsontext.Raw(s.Text[start:s.Pos]))
		}
	}
}

// members calls read with each member of an object, in order, until read returns an error. null has
// no members. what names the object in errors.
func members(object jsontext.Raw, what string, read func(key string, value jsontext.Raw) error) error {
	if object.IsNull() {
		return nil
	}
	list, ok := object.Members(0, nil)
	if !ok {
		return fmt.Errorf("%s is not an object", what)
	}
	for i := range list {
		if err := read(list[i].Key, list[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// text sets *to to a string; null leaves it unchanged. what names the string in errors.
func text(value jsontext.Raw, what string, to *string) error {
	if value.IsNull() {
		return nil
	}
	s, ok := value.Str()
	if !ok {
		return fmt.Errorf("%s is not a string", what)
	}
	*to = s
	return nil
}

// check returns what is wrong with the answer as a whole, or the failure that the webhook reports.
// version is the version of ConversionReview that was sent, uid that of the request. In version
// v1beta1 kind and uid are not compared, as in kube-apiserver.
func (a *conversionAnswer) check(version string, uid meta.UID) error {
	want := v1.GroupVersion.WithKind(reviewKind)
	switch strict := version == want.Version; {
	case strict && a.GroupVersionKind() != want:
		return fmt.Errorf("expected webhook response of %v, got %v", want, meta.Excerpt(a.GroupVersionKind().String()))
	case !a.responded:
		return errors.New("no response provided")
	case strict && a.uid != uid:
		return fmt.Errorf("expected response.uid=%q, got %q", uid, meta.Excerpt(string(a.uid)))
	case a.status == meta.StatusSuccess:
		return nil
	case a.message != "":
		return errors.New(a.message)
	}
	return fmt.Errorf("response.result.status was '%s', not 'Success'", meta.Excerpt(a.status))
}

// adopt returns the object that the webhook made of u, in version to. Content, labels and
// annotations are those in data; the other metadata is that of u, with which the object shares
// memory. adopt returns an error if data is not an object in that version, if it has another kind,
// name, namespace or UID than u, or if its labels or annotations are invalid. Errors say "index 0"
// for every object of a call: they have the words of kube-apiserver for a single object.
func adopt(u *scheme.Unstructured, data jsontext.Raw, to meta.GroupVersion) (*scheme.Unstructured, error) {
	from := u.GroupVersionKind()
	tree, err := readObject(data)
	if err != nil {
		return nil, err
	}
	if got := str(tree, "apiVersion"); got != to.String() {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid groupVersion (expected %v, received %v)",
			from, to, meta.Excerpt(got))
	}
	if got := str(tree, "kind"); got != from.Kind {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object at index 0: invalid kind (expected %v, received %v)",
			from, from.Kind, meta.Excerpt(got))
	}
	head, _ := tree["metadata"].(map[string]any)
	for _, id := range []struct{ what, want, got string }{
		{"name", u.Name, str(head, "name")},
		{"namespace", u.Namespace, str(head, "namespace")},
		{"UID", string(u.UID), str(head, "uid")},
	} {
		if id.want != id.got {
			return nil, fmt.Errorf("conversion webhook for %v returned invalid object: must have the same %s: %v != %v",
				from, id.what, id.want, meta.Excerpt(id.got))
		}
	}
	made := &scheme.Unstructured{TypeMeta: meta.TypeMeta{Kind: from.Kind, APIVersion: to.String()},
		ObjectMeta: u.ObjectMeta, Content: tree}
	if err := relabel(&made.ObjectMeta, tree); err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid metadata: %v", from, err)
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(tree, name)
	}
	return made, nil
}

// readObject decodes an object, which must have a kind. Other JSON is an error in the words of Go's
// encoding/json.
func readObject(data jsontext.Raw) (map[string]any, error) {
	value, err := jsontext.Decode([]byte(data), nil)
	if err != nil {
		return nil, err
	}
	tree, ok := value.(map[string]any)
	if !ok {
		err := json.Unmarshal([]byte(meta.Excerpt(string(data))), new(map[string]any))
		if err == nil { // null
			err = errors.New("unexpected end of JSON input")
		}
		return nil, err
	}
	if str(tree, "kind") == "" {
		//lint:ignore ST1005 clients know kube-apiserver's wording
		return nil, fmt.Errorf("Object 'Kind' is missing in '%s'", meta.Excerpt(string(data)))
	}
	return tree, nil
}

// str returns the string called name in tree, "" if there is none. tree may be nil.
func str(tree map[string]any, name string) string {
	s, _ := tree[name].(string)
	return s
}

// relabel sets the labels and annotations of m to those in the metadata of tree. They are validated
// if they differ from those of m.
func relabel(m *meta.ObjectMeta, tree map[string]any) error {
	value, found := tree["metadata"]
	if !found {
		return errors.New("missing metadata in converted object")
	}
	head, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", value)
	}
	for _, f := range []struct {
		name  string
		to    *map[string]string
		check func(map[string]string, *field.Path) field.ErrorList
		path  *field.Path
	}{
		{"labels", &m.Labels, meta.ValidateLabels, field.NewPath("metadata", "labels")},
		{"annotations", &m.Annotations, meta.ValidateAnnotations, field.NewPath("metadata", "annotation")},
	} {
		after, err := stringMap(head[f.name], f.name)
		if err != nil {
			return err
		}
		if len(after) > 0 && !scheme.Equal(&after, f.to) {
			if errs := f.check(after, f.path); len(errs) > 0 {
				return errs.ToAggregate()
			}
		}
		*f.to = after
	}
	return nil
}

// stringMap returns a tree as a map of strings, nil if value is nil.
func stringMap(value any, name string) (map[string]string, error) {
	if value == nil {
		return nil, nil
	}
	tree, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid metadata.%s of type %T in converted object", name, value)
	}
	out := make(map[string]string, len(tree))
	for _, key := range jsontext.Keys(tree) {
		if out[key], ok = tree[key].(string); !ok {
			return nil, fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object",
				name, meta.Excerpt(key), tree[key])
		}
	}
	return out, nil
}
