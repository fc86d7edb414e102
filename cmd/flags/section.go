package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
)

// section is the flags under one heading of the help.
type section struct {
	*pflag.FlagSet
	name string
}

// newSection returns a section without flags, whose help is sorted by name.
func newSection(name string) *section {
	s := &section{pflag.NewFlagSet(name, pflag.ContinueOnError), name}
	s.SortFlags = true
	return s
}

// The keys of a flag's annotations. Their values are sentences without a full stop, which
// docs/flags.md shows in the column "here". A flag has at most one of the three; a flag that has
// none is honoured as it is.
const (
	ignored   = "ignored"
	refused   = "refused"
	explained = "explained"
)

// ignore declares that flags of the section are ignored, and says so in their help. why completes
// the sentence "the flag makes no difference here:".
func (s *section) ignore(why string, names ...string) {
	s.annotate(ignored, why, names)
	s.addHelp("; makes no difference here", names)
}

// refuse declares that flags of the section must keep their default, and says so in their help. why
// completes the sentence "the flag is refused:".
func (s *section) refuse(why string, names ...string) {
	s.annotate(refused, why, names)
	s.addHelp("; any value but the default is refused here", names)
}

// addHelp adds text to the help of flags of the section.
func (s *section) addHelp(text string, names []string) {
	for _, name := range names {
		s.Lookup(name).Usage += text
	}
}

// explain adds to the documentation of honoured flags of the section: which values they take, or
// what they do.
func (s *section) explain(what string, names ...string) { s.annotate(explained, what, names) }

// annotate sets an annotation of flags of the section. It panics if one does not exist.
func (s *section) annotate(key, why string, names []string) {
	for _, name := range names {
		if err := s.SetAnnotation(name, key, []string{why}); err != nil {
			panic(err) // a mistake in this package: the section has no flag of that name
		}
	}
}

// deprecate has pflag print text whenever the flag is given. The help still shows the flag.
func (s *section) deprecate(name, text string) {
	s.hide(name, text)
	s.Lookup(name).Hidden = false
}

// hide has pflag print text whenever the flag is given, and leaves the flag out of the help.
func (s *section) hide(name, text string) {
	if err := s.MarkDeprecated(name, text); err != nil {
		panic(err) // a mistake in this package: the section has no flag of that name, or text is empty
	}
}

// dashes is pflag's normalization of flag names: --data_dir is --data-dir.
func dashes(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// annotation returns the text of an annotation, or "" if the flag does not have it.
func annotation(f *pflag.Flag, key string) string {
	if a := f.Annotations[key]; len(a) > 0 {
		return a[0]
	}
	return ""
}

// differs reports whether a flag was given on the command line with another value than its default.
// A flag that repeats its default asks for nothing that this server lacks.
func differs(f *pflag.Flag) bool { return f.Changed && f.Value.String() != f.DefValue }

// refusal returns an error about the first refused flag of the section, by name, that has another
// value than its default.
func (s *section) refusal() (err error) {
	s.VisitAll(func(f *pflag.Flag) {
		if why := annotation(f, refused); why != "" && differs(f) && err == nil {
			err = fmt.Errorf("--%s is refused: %s", f.Name, why)
		}
	})
	return err
}

// ignoredFlags returns a line for the log about each ignored flag of the section that has another
// value than its default.
func (s *section) ignoredFlags() (lines []warning) {
	s.VisitAll(func(f *pflag.Flag) {
		if why := annotation(f, ignored); why != "" && differs(f) {
			lines = append(lines, warning{"flag has no effect", []zap.Field{
				zap.String("flag", "--"+f.Name), zap.String("reason", why),
			}})
		}
	})
	return lines
}
