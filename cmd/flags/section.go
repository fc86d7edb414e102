package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// section is the flags under one heading of the help.
type section struct {
	*pflag.FlagSet
	name string
}

func newSection(name string) *section {
	s := &section{pflag.NewFlagSet(name, pflag.ContinueOnError), name}
	s.SortFlags = true
	return s
}

// The annotations of a flag: why it is not honoured, or, of one that is, what there is to say of
// its values.
const (
	ignored   = "ignored"
	refused   = "refused"
	explained = "explained"
)

// ignore declares that flags of the section make no difference here, and why.
func (s *section) ignore(why string, names ...string) { s.annotate(ignored, why, names) }

// refuse declares that flags of the section must not be given another value than their default, and
// why.
func (s *section) refuse(why string, names ...string) { s.annotate(refused, why, names) }

// explain says of flags of the section that are honoured which values are taken, or what they do.
func (s *section) explain(what string, names ...string) { s.annotate(explained, what, names) }

func (s *section) annotate(key, why string, names []string) {
	for _, name := range names {
		if err := s.SetAnnotation(name, key, []string{why}); err != nil {
			panic(err) // there is no such flag in the section: a mistake in this package
		}
	}
}

// deprecate declares that a flag is told to be on its way out, whenever it is given. The help still
// has it.
func (s *section) deprecate(name, text string) {
	s.hide(name, text)
	s.Lookup(name).Hidden = false
}

// hide declares a flag that is deprecated, and that the help does not have any more.
func (s *section) hide(name, text string) {
	if err := s.MarkDeprecated(name, text); err != nil {
		panic(err) // there is no such flag in the section, or no text: a mistake in this package
	}
}

// dashes reads underscores in the names of flags as dashes.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// note returns the reason in an annotation, or "".
func note(f *pflag.Flag, key string) string {
	if a := f.Annotations[key]; len(a) > 0 {
		return a[0]
	}
	return ""
}

// differs reports whether a flag has been given another value than its default.
func differs(f *pflag.Flag) bool { return f.Changed && f.Value.String() != f.DefValue }

// refusal returns the error of the first flag that cannot be what it has been given.
func (s *section) refusal() (err error) {
	s.VisitAll(func(f *pflag.Flag) {
		if why := note(f, refused); why != "" && differs(f) && err == nil {
			err = fmt.Errorf("--%s is refused: %s", f.Name, why)
		}
	})
	return err
}

// without says of the flags that make no difference why that is, if they were given another value
// than their default.
func (s *section) without() (lines []string) {
	s.VisitAll(func(f *pflag.Flag) {
		if why := note(f, ignored); why != "" && differs(f) {
			lines = append(lines, fmt.Sprintf("--%s makes no difference here: %s", f.Name, why))
		}
	})
	return lines
}
