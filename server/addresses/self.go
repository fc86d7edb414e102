package addresses

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
)

// Self holds the addresses by which others reach this server. Its fields come from the
// configuration, and do not change. The address at which the server listens is a promise: Listens
// returns nil until the server has called Listen, before its hooks run. All methods may be called
// at once.
type Self struct {
	// Bind is the IP address of all ports.
	Bind string
	// Advertise is the IP address that this server publishes; "" lets Advertised choose.
	Advertise string
	// Hostname stands in documents in place of the server's address; "" means the address.
	Hostname string
	// Port is the configured port for HTTPS. It may be a placeholder such as server.AnyPort;
	// Listens has the real one.
	Port int
	// Secure says that the server has a port for HTTPS.
	Secure bool

	listens atomic.Pointer[net.TCPAddr]
}

// Listen sets the address at which the server listens for HTTPS. It ignores an address that is not
// TCP's.
func (s *Self) Listen(at net.Addr) {
	if tcp, ok := at.(*net.TCPAddr); ok {
		s.listens.Store(tcp)
	}
}

// Listens returns the address at which the server listens for HTTPS, or nil if the server has no
// such port or does not listen yet.
func (s *Self) Listens() *net.TCPAddr { return s.listens.Load() }

// External returns the host and port for HTTPS that documents tell to clients.
func (s *Self) External() string {
	port := s.Port
	if at := s.Listens(); at != nil {
		port = at.Port
	}
	host := s.Bind
	if s.Hostname != "" {
		host = s.Hostname
	} else if ip, err := s.Advertised(); err == nil {
		host = ip.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// errNoAddress means that this machine has no address that others could reach.
var errNoAddress = errors.New("no address is known at which other machines reach this server")

// Advertised returns the IP address that this server publishes: Advertise if it is set; otherwise
// Bind, unless that is unspecified or a loopback address; otherwise the source address of the
// default route.
func (s *Self) Advertised() (netip.Addr, error) {
	for _, text := range []string{s.Advertise, s.Bind} {
		ip, err := netip.ParseAddr(text)
		named := text == s.Advertise // a configured loopback address is taken as it is
		if err == nil && !ip.IsUnspecified() && (named || !ip.IsLoopback()) {
			return ip.Unmap().WithZone(""), nil
		}
	}
	families := []string{"udp4", "udp6"}
	if bind, err := netip.ParseAddr(s.Bind); err == nil && bind.Unmap().Is6() {
		families = []string{"udp6", "udp4"}
	}
	for _, family := range families {
		if ip := outbound(family); ip.IsValid() {
			return ip, nil
		}
	}
	return netip.Addr{}, errNoAddress
}

// farAway are addresses that are reserved for documentation, so only the default route leads to
// them.
var farAway = map[string]string{"udp4": "203.0.113.1:9", "udp6": "[2001:db8::1]:9"}

// outbound returns the source address of packets that leave by the default route. It sends no
// packet: connecting a UDP socket chooses its address. The result is invalid if there is no such
// route, or if the address is not a global unicast address.
func outbound(family string) netip.Addr {
	conn, err := net.Dial(family, farAway[family])
	if err != nil {
		return netip.Addr{}
	}
	defer conn.Close()
	ip := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	if !ip.IsGlobalUnicast() {
		return netip.Addr{}
	}
	return ip.WithZone("")
}
