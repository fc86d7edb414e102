package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
)

// validateCommand returns the command that checks objects without a server.
func validateCommand() *cobra.Command {
	var files, definitions, policies []string
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Check objects as the server would, without a server",
		Long: "Check objects as the server would check them when they are created. Custom resources are checked by\n" +
			"their definitions, which must be in the same files or in those of --definitions, all other objects\n" +
			"by the rules for built-in kinds. Unknown fields are mistakes. A file may have up to 16 MiB, and all\n" +
			"files together up to 100,000 objects.\n\n" +
			"With --policies, the mutating and validating admission policies in those files change and judge the\n" +
			"objects, in the order of admission. A denial is a mistake, with the text that the server would\n" +
			"answer. The files must also have the bindings and the params of the policies. Policies see a\n" +
			"namespace with the labels that a Namespace in any of the files has, and the user system:anonymous,\n" +
			"for whom every check of the authorizer is false. Other admission plugins, and other rules that need\n" +
			"objects of a cluster, are not checked.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := &validation{stdin: cmd.InOrStdin(), out: cmd.OutOrStdout(), errors: cmd.ErrOrStderr()}
			return v.run(cmd.Context(), files, definitions, policies)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil,
		"YAML or JSON files of objects, or folders of such files, separated by commas; - for standard input")
	cmd.Flags().StringSliceVarP(&definitions, "definitions", "d", nil, "YAML or JSON files of CustomResourceDefinitions, or folders of such files, separated by commas")
	cmd.Flags().StringSliceVar(&policies, "policies", nil, "YAML or JSON files of admission policies, their bindings, their params and Namespaces, or folders of such files, separated by commas")
	if err := cmd.MarkFlagRequired("filename"); err != nil {
		panic(err) // a mistake above: the command has no flag of that name
	}
	return cmd
}

// validation is one run of the command validate.
type validation struct {
	stdin       io.Reader
	out, errors io.Writer

	validator *server.Validator
	bad       int // objects with mistakes, and files that cannot be read
}

// checked is an object to check.
type checked struct {
	manifest.Object
	policies bool // it is from a file of --policies
}

// run checks the objects in files. It reads all files before it checks anything, because an object
// may stand before its definition.
func (v *validation) run(ctx context.Context, files, definitions, policies []string) (err error) {
	if v.validator, err = server.NewValidator(ctx, server.APIConfig{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.validator.Close()) }()
	var objects []checked
	for _, o := range v.read(definitions) {
		objects = append(objects, checked{o, false})
	}
	for _, o := range v.read(policies) {
		objects = append(objects, checked{o, true})
	}
	v.warnOfIdle(objects)
	for _, o := range v.read(files) {
		objects = append(objects, checked{o, false})
	}
	slices.SortStableFunc(objects, func(a, b checked) int { return a.rank() - b.rank() })
	for i := range objects {
		v.check(ctx, &objects[i])
	}
	if v.bad > 0 {
		return fmt.Errorf("%d objects were checked: %d of the objects and files have mistakes", len(objects), v.bad)
	}
	_, err = fmt.Fprintf(v.out, "%d objects are valid\n", len(objects))
	return err
}

// about names the object and its file, for messages.
func (c *checked) about() string { return fmt.Sprintf("%s: %s %q", c.File, c.Kind.Kind, c.Name) }

// rank sorts the objects by what others need: definitions first, then the files of --policies, then
// namespaces.
func (c *checked) rank() int {
	switch {
	case c.Kind.Kind == "CustomResourceDefinition":
		return 0
	case c.policies:
		return 1
	case c.Kind.Kind == "Namespace":
		return 2
	}
	return 3
}

// read returns the objects in files. It prints an error for each file that cannot be read, and
// counts it in v.bad.
func (v *validation) read(files []string) []manifest.Object {
	var objects []manifest.Object
	for _, name := range files {
		var found []manifest.Object
		var err error
		if name == "-" {
			found, err = v.readStdin()
		} else {
			found, err = manifest.ReadPath(name)
		}
		if objects = append(objects, found...); err != nil {
			v.bad++
			fmt.Fprintln(v.errors, err)
		}
		if len(objects) > manifest.Max {
			v.bad++
			fmt.Fprintf(v.errors, "there are more than %d objects: the others are not checked; validate fewer files at once\n",
				manifest.Max)
			return objects[:manifest.Max]
		}
	}
	return objects
}

// readStdin returns the objects in the standard input, up to configfile.Max bytes.
func (v *validation) readStdin() ([]manifest.Object, error) {
	const name = "-"
	data, err := io.ReadAll(io.LimitReader(v.stdin, configfile.Max+1))
	if err != nil {
		return nil, err
	}
	if len(data) > configfile.Max {
		return nil, fmt.Errorf("%s: the standard input is larger than %d bytes; validate a part of it at a time", name, configfile.Max)
	}
	return manifest.Read(name, data)
}

// check checks an object, and prints its warnings and mistakes: a line for each field that is
// wrong, or one line for an error that is not about fields.
func (v *validation) check(ctx context.Context, o *checked) {
	about := o.about()
	check := v.validator.Check
	if o.policies && o.rank() > 0 {
		check = v.validator.Add
	}
	warnings, err := check(ctx, &o.Object)
	for _, w := range warnings {
		fmt.Fprintf(v.errors, "%s: Warning: %s\n", about, w)
	}
	if err == nil {
		return
	}
	v.bad++
	for _, c := range fieldCauses(err) {
		fmt.Fprintf(v.errors, "%s: %s: %s\n", about, c.Field, c.Message)
	}
	if len(fieldCauses(err)) == 0 {
		fmt.Fprintf(v.errors, "%s: %v\n", about, err)
	}
}

// fieldCauses returns what an error says about fields: nothing if it is about something else, such
// as the denial of a policy.
func fieldCauses(err error) []meta.StatusCause {
	details := meta.StatusOf(err).Details
	if !meta.IsInvalid(err) || details == nil ||
		slices.ContainsFunc(details.Causes, func(c meta.StatusCause) bool { return c.Field == "" }) {
		return nil
	}
	return details.Causes
}
