package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// assetsVariable names the folder in which envtest looks for programs.
const assetsVariable = "KUBEBUILDER_ASSETS"

func envtestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "envtest DIR",
		Short: "Lay out the programs that controller-runtime's envtest starts: kube-apiserver, etcd and kubectl",
		Long: "Lay out the programs that controller-runtime's envtest starts, in a folder: kube-apiserver and etcd, which are this\n" +
			"program by other names, and kubectl if there is one in the PATH. What it prints is for the shell:\n\n" +
			"  eval \"$(coracle envtest DIR)\" && go test ./...\n\n" +
			"It may be done again, with the same folder too.",
		Args: oneArgument("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err == nil {
				err = layOut(dir, cmd.ErrOrStderr())
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "export %s=%s\n", assetsVariable, shellQuoted(dir))
			return err
		},
	}
}

// layOut makes the folder be what envtest needs.
func layOut(dir string, log io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	for _, name := range []string{kubeAPIServer, etcdName} {
		if err := place(self, filepath.Join(dir, name+suffix)); err != nil {
			return err
		}
	}
	kubectl, err := findKubectl(dir)
	if err != nil {
		fmt.Fprintln(log, "there is no kubectl in the PATH: envtest can do without, and tests that call it cannot")
		return nil
	}
	return place(kubectl, filepath.Join(dir, filepath.Base(kubectl)))
}

// findKubectl looks where envtest has looked so far, in the PATH, and in the folder itself, in this
// order.
func findKubectl(dir string) (string, error) {
	for _, at := range []string{os.Getenv(assetsVariable), "", dir} {
		if path, err := exec.LookPath(filepath.Join(at, "kubectl")); err == nil {
			return filepath.EvalSymlinks(path)
		}
	}
	return "", fs.ErrNotExist
}

// place makes a file be another program, under its own name: by a link, or as a copy where the two
// cannot be one file.
func place(program, file string) error {
	want, err := os.Stat(program)
	if err != nil {
		return err
	}
	if have, err := os.Lstat(file); err == nil && os.SameFile(want, have) {
		return nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, filepath.Base(file))
	if os.Link(program, made) != nil {
		if err := copyProgram(program, made); err != nil {
			return err
		}
	}
	return os.Rename(made, file) // whoever runs the old one goes on doing so
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// shellQuoted is one word for a shell.
func shellQuoted(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+=:,@%", r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
