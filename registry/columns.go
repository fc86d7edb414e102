package registry

import (
	"fmt"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// NameColumn is the first column of nearly every kind. Its texts, as all of Kubernetes' columns,
// are part of the API.
var NameColumn = meta.TableColumnDefinition{Name: "Name", Type: "string", Format: "name",
	Description: "Name must be unique within a namespace. Is required when creating resources, although some resources may " +
		"allow a client to request the generation of an appropriate name automatically. Name is primarily intended for " +
		"creation idempotence and configuration definition. Cannot be updated. More info: " +
		"https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"}

// AgeColumn shows how long ago an object was created; its cell is made by Age.
var AgeColumn = meta.TableColumnDefinition{Name: "Age", Type: "string",
	Description: "CreationTimestamp is a timestamp representing the server time when this object was created. It is not " +
		"guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is " +
		"represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: " +
		"https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"}

// Column makes a column of strings. Those with priority 1 are shown by wide listings only.
func Column(name, description string, priority int32) meta.TableColumnDefinition {
	return meta.TableColumnDefinition{Name: name, Type: "string", Description: description, Priority: priority}
}

// IntegerColumn is Column for numbers.
func IntegerColumn(name, description string, priority int32) meta.TableColumnDefinition {
	return meta.TableColumnDefinition{Name: name, Type: "integer", Description: description, Priority: priority}
}

// BooleanColumn is Column for booleans.
func BooleanColumn(name, description string, priority int32) meta.TableColumnDefinition {
	return meta.TableColumnDefinition{Name: name, Type: "boolean", Description: description, Priority: priority}
}

// Age returns how long ago the object was created, as HumanDuration prints it.
func Age(m *meta.ObjectMeta, now time.Time) string {
	if m.CreationTimestamp == nil {
		return Since(time.Time{}, now)
	}
	return Since(m.CreationTimestamp.Time, now)
}

// Since returns the time from then to now as HumanDuration prints it, and Unknown for the zero
// time.
func Since(then, now time.Time) string {
	if then.IsZero() {
		return Unknown
	}
	return HumanDuration(now.Sub(then))
}

// day and year ignore daylight saving and leap years.
const (
	day  = 24 * time.Hour
	year = 365 * day
)

// HumanDuration prints a duration with at most two units, and so few digits that it changes slowly:
// 5s, 3m20s, 4h, 2d5h, 400d. Clocks of servers differ, so a negative duration of less than two
// seconds is 0s; a longer one is "<invalid>".
func HumanDuration(d time.Duration) string {
	switch seconds := int(d.Seconds()); {
	case seconds < -1:
		return "<invalid>"
	case seconds < 0:
		return "0s"
	case seconds < 120:
		return fmt.Sprintf("%ds", seconds)
	}
	switch {
	case d < 10*time.Minute:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 8*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 8*day:
		return twoUnits(d, day, "d", time.Hour, "h")
	case d < 2*year:
		return fmt.Sprintf("%dd", d/day)
	case d < 8*year:
		return twoUnits(d, year, "y", day, "d")
	}
	return fmt.Sprintf("%dy", d/year)
}

// twoUnits prints d in large and small units; the small part is left out if it is zero.
func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d%s", d/large, largeName)
	if rest := d % large / small; rest > 0 {
		s += fmt.Sprintf("%d%s", rest, smallName)
	}
	return s
}
