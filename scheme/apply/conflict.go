package apply

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	limits "github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// conflict is a field that an application would change though it is another manager's.
type conflict struct {
	with manager
	path Path
}

// newConflict says what the conflicts are, those with one manager after the other. What is beyond maxConflicts is only
// counted.
func newConflict(conflicts []conflict) *meta.StatusError {
	const maxConflicts = 1000
	count := len(conflicts)
	shown := conflicts[:min(count, maxConflicts)]

	causes := make([]meta.StatusCause, len(shown))
	var list []string
	for i, c := range shown {
		path := limits.Cut(c.path.String(), limits.MaxText)
		causes[i] = meta.StatusCause{Type: meta.CauseTypeFieldManagerConflict, Message: "conflict with " + c.with.String(), Field: path}
		if i == 0 || c.with != shown[i-1].with {
			list = append(list, "conflicts with "+c.with.String()+":")
		}
		list = append(list, "- "+path)
	}
	message := fmt.Sprintf("Apply failed with %d conflicts: %s", count, strings.Join(list, "\n"))
	if count == 1 {
		message = "Apply failed with 1 conflict: " + causes[0].Message + ": " + causes[0].Field
	}
	return meta.NewApplyConflict(causes, message)
}

// String returns the manager as messages name it.
func (m manager) String() string {
	text := strconv.Quote(meta.Excerpt(m.name))
	if m.subresource != "" {
		text += " with subresource " + strconv.Quote(meta.Excerpt(m.subresource))
	}
	if m.operation == meta.ManagedFieldsOperationUpdate {
		text += " using " + m.apiVersion
	}
	return text
}

// conflicts returns what of others' fields the write changes or adds, manager by manager.
func (w *write) conflicts(owners []owner, self manager) ([]conflict, error) {
	type loss struct {
		owner
		id string
	}
	var losses []loss
	for _, o := range owners {
		if o.manager == self {
			continue
		}
		d, err := w.difference(o.version)
		if err != nil {
			return nil, err
		}
		if o.own(o.fields.Intersect(d.changed)); !o.fields.Empty() {
			losses = append(losses, loss{o, o.id()})
		}
	}
	slices.SortFunc(losses, func(a, b loss) int { return strings.Compare(a.id, b.id) })

	var out []conflict
	for _, l := range losses {
		for path := range l.fields.All() {
			out = append(out, conflict{l.manager, slices.Clone(path)})
		}
	}
	return out, nil
}
