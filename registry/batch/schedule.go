package batch

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones are the same on all machines

	"github.com/robfig/cron/v3"

	"github.com/coracle-project/coracle/scheme/field"
)

// hasZone reports whether a schedule has a time zone in it (TZ=... or CRON_TZ=...). Before timeZone
// became a field (KEP-3140) such a zone worked, although the API did not define it; cron jobs that
// have one may keep it.
func hasZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

// checkSchedule checks a schedule and its time zone. mayHaveZone allows a zone inside the schedule,
// unless the field zone is set, too.
func checkSchedule(p *field.Path, schedule string, zone *string, mayHaveZone bool) field.ErrorList {
	var errs field.ErrorList
	if err := parseSchedule(schedule); err != nil {
		errs = append(errs, field.Invalid(p, schedule, err.Error()))
	}
	switch {
	case !hasZone(schedule):
	case !mayHaveZone:
		errs = append(errs, field.Invalid(p, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	case zone != nil:
		errs = append(errs, field.Invalid(p, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

// parseSchedule returns an error if a schedule cannot be read: five fields, or a descriptor such as
// @daily. The parser panics if nothing follows a zone.
func parseSchedule(schedule string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

// zonePart matches what is between the slashes of a time zone's name, as in the tz database.
var zonePart = regexp.MustCompile(`^[A-Za-z.\-_0-9+]{1,14}$`)

// checkTimeZone checks the name of a time zone, which must be in the tz database of the server. The
// name must not lead out of its directory. Local is refused, because it would depend on the
// machine. Messages show the name in quotes of JSON, as kube-apiserver shows pointers.
func checkTimeZone(p *field.Path, name *string) field.ErrorList {
	zone := *name
	if zone == "" {
		return field.ErrorList{field.Invalid(p, name, "timeZone must be nil or non-empty string")}
	}
	for part := range strings.SplitSeq(zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(p, name, "unknown time zone "+zone)}
		}
	}
	var errs field.ErrorList
	if strings.EqualFold(zone, "Local") {
		errs = append(errs, field.Invalid(p, name, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(zone); err != nil {
		errs = append(errs, field.Invalid(p, name, err.Error()))
	}
	return errs
}
