package apply

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	limits "github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// conflict returns the 409 that lists the fields which owners would lose, owner by owner; nil if
// there are none. At most maxConflicts fields are listed; the message counts all of them.
func (w *write) conflict(losses []owner) error {
	const maxConflicts = 1000
	count := 0
	var causes []meta.StatusCause
	var list []string
	for _, l := range losses {
		before, with := count, l.manager.String()
		for path := range l.fields.All() {
			if w.meter.Step(stepsPerValue) != nil {
				break
			}
			if count++; count > maxConflicts {
				continue
			}
			field := limits.Cut(path.String(), limits.MaxText)
			causes = append(causes,
				meta.StatusCause{Type: meta.CauseTypeFieldManagerConflict, Message: "conflict with " + with,
					Field: field})
			if count == before+1 {
				list = append(list, "conflicts with "+with+":")
			}
			list = append(list, "- "+field)
		}
	}
	if count == 0 {
		return nil
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

// losses returns the owners, other than self, of fields that the write changes or adds. Each has
// only these fields. They are sorted by id, as kube-apiserver sorts them.
func (w *write) losses(owners []owner, self manager) ([]owner, error) {
	var losses []owner
	for _, o := range owners {
		if o.manager == self {
			continue
		}
		d, err := w.difference(o.version)
		if err != nil {
			return nil, err
		}
		if o.setFields(o.fields.Intersect(&w.meter, d.changed)); !o.fields.Empty() {
			losses = append(losses, o)
		}
	}
	slices.SortFunc(losses, func(a, b owner) int { return strings.Compare(a.id(), b.id()) })
	return losses, nil
}
