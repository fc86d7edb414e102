package addresses

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
)

// The Lease of this server in kube-system (KEP-1965), and what the Leases of other servers say
// about them. ServerHooks start it and PreShutdownHooks stop it, if other servers may share the
// store.

// identityLease tells the other servers on a store that this server lives, and finds out who they
// are. It keeps a Lease in kube-system, as each kube-apiserver does. Hooks make it when the server
// starts and delete it when the server stops; a loop renews it in between. A server that sees an
// expired Lease deletes it.
type identityLease struct {
	leases       client.Resource[*coordinationv1.Lease]
	name, holder string // set by start, when the server listens
	host         string
	self         *Self
	peers        *Peers
	log          *zap.Logger
	work         *generic.Work

	held *coordinationv1.Lease // the Lease as last written; nil: renew reads it first
}

const (
	identityLabel = "apiserver.kubernetes.io/identity"
	identityKind  = "kube-apiserver" // kube-apiserver selects the leases of its peers by this value
	hostnameLabel = "kubernetes.io/hostname"

	identityDuration = time.Hour
	identityRenewal  = 10 * time.Second
	// foreignLife is how long a kube-apiserver counts as alive after it has renewed its Lease.
	foreignLife = 4 * identityRenewal
	// ownMark is part of the holder identity of Coracle's Leases. Leases of kube-apiservers lack
	// it.
	ownMark = "_coracle-"
)

// newIdentityLease returns nil if the configuration wants no Lease, or if no other server may share
// the store.
func newIdentityLease(needs *Needs) *identityLease {
	r := needs.Resources
	if !needs.Shared || !needs.Lease || r.Store(leases) == nil || r.Store(namespaces) == nil {
		return nil
	}
	host, _ := os.Hostname() // if it is "" the address still distinguishes servers
	all := client.For[*coordinationv1.Lease](needs.Client, coordinationv1.GroupVersion.WithResource(leases.Resource))
	return &identityLease{
		leases: all.In("kube-system"), host: host, self: needs.Self, peers: needs.Peers,
		log: needs.loopLog("identity-lease"), work: needs.Loops.Part(),
	}
}

// identityName returns the name of a server's Lease. It hashes the address, too, because several
// servers may run on one host.
func identityName(host, address string) string {
	var data []byte
	for _, part := range []string{host, "coracle", address} {
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(part))), part...)
	}
	hash := sha256.Sum256(data)
	return "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:16]))
}

// start renews the Lease and looks at the other Leases once, then starts the loop. So Peers knows
// the other servers before this server is ready, and HeadStart applies from the first Service on.
func (l *identityLease) start(ctx context.Context) error {
	address := ""
	if at := l.self.Listens(); at != nil {
		address = at.String()
	}
	l.name = identityName(l.host, address)
	l.holder = l.name + ownMark + string(registry.NewUID())
	begin, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for l.pass(begin) != nil && begin.Err() == nil {
		_ = storage.Sleep(begin, 10*time.Millisecond) // another hook makes the namespace
	}
	l.work.Run(l.run)
	return nil
}

// run makes a pass every identityRenewal, until ctx ends.
func (l *identityLease) run(ctx context.Context) {
	for storage.Sleep(ctx, identityRenewal) == nil {
		if err := l.pass(ctx); err != nil && ctx.Err() == nil {
			l.log.Log(backing.Severity(err), "cannot renew the lease of this server", zap.Error(err))
		}
	}
}

// pass renews the Lease of this server, and looks at the Leases of others. One goroutine calls it
// at a time.
func (l *identityLease) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identityRenewal)
	defer cancel()
	if err := l.renew(ctx); err != nil {
		return err
	}
	return l.checkOthers(ctx)
}

// renew creates or updates the Lease. After an error it reads the Lease again at the next call.
func (l *identityLease) renew(ctx context.Context) (err error) {
	now := meta.MicroTime{Time: time.Now()}
	lease := l.held
	if l.held = nil; lease == nil {
		lease, err = l.leases.Get(ctx, l.name, meta.GetOptions{})
	}
	switch {
	case meta.IsNotFound(err):
		fresh := &coordinationv1.Lease{ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: l.name}}
		l.fill(fresh, now)
		l.held, err = l.leases.Create(ctx, fresh, meta.CreateOptions{})
	case err == nil:
		l.fill(lease, now)
		l.held, err = l.leases.Update(ctx, lease, meta.UpdateOptions{})
	}
	if err != nil {
		l.held = nil
	}
	return err
}

// fill sets the labels and the spec of a Lease.
func (l *identityLease) fill(lease *coordinationv1.Lease, now meta.MicroTime) {
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	lease.Labels[identityLabel] = identityKind
	if len(names.IsValidLabelValue(l.host)) == 0 {
		lease.Labels[hostnameLabel] = l.host
	}
	seconds := int32(identityDuration / time.Second)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &l.holder, &seconds, &now
}

// checkOthers finds out whether a kube-apiserver lives, and deletes expired Leases. A precondition
// keeps a Lease that was renewed meanwhile.
func (l *identityLease) checkOthers(ctx context.Context) error {
	list, err := l.leases.List(ctx, meta.ListOptions{LabelSelector: identityLabel + "=" + identityKind})
	if err != nil {
		return err
	}
	foreign := false
	for _, lease := range list.Items {
		age := identityDuration
		if lease.Spec.RenewTime != nil {
			age = time.Since(lease.Spec.RenewTime.Time)
		}
		if expired(lease, age) {
			same := &meta.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
			err := l.leases.Delete(ctx, lease.Name, meta.DeleteOptions{Preconditions: same})
			if err != nil && !meta.IsNotFound(err) && !meta.IsConflict(err) {
				return err
			}
			continue
		}
		foreign = foreign || age < foreignLife && !strings.Contains(scheme.OrZero(lease.Spec.HolderIdentity), ownMark)
	}
	l.peers.foreign.Store(foreign)
	return nil
}

// expired reports whether a Lease that was renewed age ago has outlived its duration. A Lease
// without a duration or a renew time is expired.
func expired(lease *coordinationv1.Lease, age time.Duration) bool {
	s := &lease.Spec
	return s.RenewTime == nil || s.LeaseDurationSeconds == nil ||
		age > time.Duration(*s.LeaseDurationSeconds)*time.Second
}

// stop ends the loop, and deletes the Lease.
func (l *identityLease) stop(ctx context.Context) error {
	l.work.Stop()
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	if err := l.leases.Delete(ctx, l.name, meta.DeleteOptions{}); err != nil && !meta.IsNotFound(err) {
		l.log.Warn("cannot delete the lease of this server", zap.Error(err))
	}
	return nil
}
