package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/coracle-project/coracle/storage/standin"
)

// headerTimeout is how long a client of the stand-in may take to send a request's headers.
const headerTimeout = 10 * time.Second

// etcdName is a name by which this program is called in another's place.
const etcdName = "etcd"

// etcdCommand stands in for etcd, whose flags are not written as other commands' are.
func etcdCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                etcdName,
		Short:              "Stand in for etcd before a kube-apiserver of this program's, which keeps the data itself",
		DisableFlagParsing: true,
		SilenceUsage:       true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return standInForEtcd(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if _, err := parseEtcdFlags([]string{"-help"}, cmd.OutOrStdout()); err != nil {
			cmd.PrintErrln(err)
		}
	})
	return cmd
}

// standInForEtcd runs until ctx ends, or the process is told to.
func standInForEtcd(ctx context.Context, args []string, out, log io.Writer) error {
	ctx, stop := untilTold(ctx)
	defer stop()
	o, err := parseEtcdFlags(args, out)
	if err != nil || o == nil {
		return err
	}
	place, err := o.place()
	if err != nil {
		return err
	}
	ports, err := o.listen()
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: standin.Handler(place), ReadHeaderTimeout: headerTimeout, Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true) // for those who take it for an etcd
	failed := make(chan error, len(ports))
	var serving sync.WaitGroup
	for _, port := range ports {
		fmt.Fprintf(log, "coracle stands in for etcd at http://%s, for the data in %s\n", port.Addr(), place.Dir)
		serving.Go(func() { failed <- srv.Serve(port) })
	}
	notify(readyState)
	defer time.AfterFunc(startTime, forgetStart).Stop() // who waits for this one is answered first
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	notify(stoppingState)
	err = errors.Join(err, srv.Close())
	serving.Wait()
	return err
}

// place makes the data folder, for the one who will keep data there.
func (o *etcdOptions) place() (standin.Location, error) {
	dir := o.dataDir
	if dir == "" {
		dir = o.name + ".etcd"
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return standin.Location{Dir: dir, NoSync: o.noSync}, err
}

// listen opens the ports. Nobody else's machine may come: the data is here.
func (o *etcdOptions) listen() (ports []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, port := range ports {
				port.Close()
			}
		}
	}()
	for text := range strings.SplitSeq(o.clientURLs, ",") {
		u, err := url.Parse(strings.TrimSpace(text))
		switch {
		case err != nil:
			return ports, err
		case u.Scheme != "http" || u.Port() == "" || !standin.Loopback(u.Hostname()):
			return ports, fmt.Errorf("--listen-client-urls %q: what stands in for etcd listens at http://127.0.0.1:PORT, or another address of this machine alone", text)
		}
		port, err := net.Listen("tcp", u.Host)
		if err != nil {
			return ports, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// printEtcdVersion prints what etcd prints, as the data is that of such a version.
func printEtcdVersion(out io.Writer) error {
	_, err := fmt.Fprintf(out, "etcd Version: %s\nGit SHA: %s\nGo Version: %s\nGo OS/Arch: %s/%s\n",
		version.Version, version.GitSHA, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
