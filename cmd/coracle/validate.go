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
	var files, definitions []string
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Check objects as the server would, without a server",
		Long: "Check objects as the server would check them when they are created. Custom resources are checked by\n" +
			"their definitions, which must be in the same files or in those of --definitions, all other objects\n" +
			"by the rules for built-in kinds. Unknown fields are mistakes. Rules that need other objects, such as\n" +
			"admission, are not checked. A file may have up to 16 MiB, and all files together up to 100,000\n" +
			"objects.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := &validation{stdin: cmd.InOrStdin(), out: cmd.OutOrStdout(), errors: cmd.ErrOrStderr()}
			return v.run(cmd.Context(), files, definitions)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil,
		"YAML or JSON files of objects, or folders of such files, separated by commas; - for standard input")
	cmd.Flags().StringSliceVarP(&definitions, "definitions", "d", nil, "YAML or JSON files of CustomResourceDefinitions, or folders of such files, separated by commas")
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

// run checks the objects in files. It reads all files before it checks anything, and adds the
// definitions first: an object may stand before its definition.
func (v *validation) run(ctx context.Context, files, definitions []string) (err error) {
	if v.validator, err = server.NewValidator(ctx, server.APIConfig{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.validator.Close()) }()
	objects := slices.Concat(v.read(definitions), v.read(files))
	slices.SortStableFunc(objects, func(a, b manifest.Object) int { return rank(&a) - rank(&b) })
	for i := range objects {
		v.check(ctx, &objects[i])
	}
	if v.bad > 0 {
		return fmt.Errorf("%d objects were checked: %d of the objects and files have mistakes", len(objects), v.bad)
	}
	_, err = fmt.Fprintf(v.out, "%d objects are valid\n", len(objects))
	return err
}

// rank sorts definitions before all other objects.
func rank(o *manifest.Object) int {
	if o.Kind.Kind == "CustomResourceDefinition" {
		return 0
	}
	return 1
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
func (v *validation) check(ctx context.Context, o *manifest.Object) {
	about := fmt.Sprintf("%s: %s %q", o.File, o.Kind.Kind, o.Name)
	warnings, err := v.validator.Check(ctx, o)
	for _, w := range warnings {
		fmt.Fprintf(v.errors, "%s: Warning: %s\n", about, w)
	}
	if err == nil {
		return
	}
	v.bad++
	if details := meta.StatusOf(err).Details; meta.IsInvalid(err) && details != nil && len(details.Causes) > 0 {
		for _, c := range details.Causes {
			fmt.Fprintf(v.errors, "%s: %s: %s\n", about, c.Field, c.Message)
		}
		return
	}
	fmt.Fprintf(v.errors, "%s: %v\n", about, err)
}
