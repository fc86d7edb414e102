package batch

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // machines without time zones know them, too

	"github.com/robfig/cron/v3"

	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// zoneInSchedule is in a schedule that names a time zone: as TZ= or CRON_TZ=.
const zoneInSchedule = "TZ"

// checkSchedule checks when jobs are made. A schedule that has named a time zone may go on doing so.
func checkSchedule(p *field.Path, c, old *batchv1.CronJob) field.ErrorList {
	schedule := c.Spec.Schedule
	if schedule == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	if err := readSchedule(schedule); err != nil {
		errs = append(errs, field.Invalid(p, schedule, err.Error()))
	}
	if !strings.Contains(schedule, zoneInSchedule) {
		return errs
	}
	if old == nil || !strings.Contains(old.Spec.Schedule, zoneInSchedule) {
		return append(errs, field.Invalid(p, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
	if c.Spec.TimeZone != nil {
		errs = append(errs, field.Invalid(p, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	}
	return errs
}

// readSchedule says what is wrong with a schedule. The parser panics about some.
func readSchedule(schedule string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

// zonePart is what stands between slashes in the name of a time zone.
var zonePart = regexp.MustCompile(`^[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}$`)

// checkTimeZone checks the name of a time zone, which must be one that this machine knows.
func checkTimeZone(p *field.Path, zone *string) field.ErrorList {
	if zone == nil {
		return nil
	}
	if *zone == "" {
		return field.ErrorList{field.Invalid(p, *zone, "timeZone must be nil or non-empty string")}
	}
	for part := range strings.SplitSeq(*zone, "/") {
		if part == "." || part == ".." || !zonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(p, *zone, "unknown time zone "+*zone)}
		}
	}
	var errs field.ErrorList
	if strings.EqualFold(*zone, "Local") {
		errs = append(errs, field.Invalid(p, *zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		errs = append(errs, field.Invalid(p, *zone, err.Error()))
	}
	return errs
}
