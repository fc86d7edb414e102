package addresses

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
)

// Self is this server as others reach it. Its fields are those of the configuration, and do not
// change. The address that the server listens at is a promise: it is not there before Listen was
// called, which the server does before its hooks run. All methods may be called at once.
type Self struct {
	// Bind is the IP address of all ports.
	Bind string
	// Advertise is the IP address that others are told; "" leaves it to Advertised.
	Advertise string
	// Hostname is how documents name the server in place of its address; "" names the address.
	Hostname string
	// Port is the configured port for HTTPS. Which one it is in truth is known with Listen.
	Port int
	// Secure says that the server has a port for HTTPS at all.
	Secure bool

	listens atomic.Pointer[net.TCPAddr]
}

// Listen says where the server listens for HTTPS.
func (s *Self) Listen(at net.Addr) {
	if tcp, ok := at.(*net.TCPAddr); ok {
		s.listens.Store(tcp)
	}
}

// Listens is where the server listens for HTTPS, or nil if it does not, or not yet.
func (s *Self) Listens() *net.TCPAddr { return s.listens.Load() }

// External is the host and port by which documents tell others to reach the port for HTTPS.
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

// errNoAddress says that others cannot reach the server, as far as it can tell.
var errNoAddress = errors.New("no address is known under which others reach the server")

// Advertised returns the address under which others are told to reach the server: the one that the
// configuration names, the one that it binds if that means something to others, or the one by which
// this machine would go to the Internet.
func (s *Self) Advertised() (netip.Addr, error) {
	for _, text := range []string{s.Advertise, s.Bind} {
		ip, err := netip.ParseAddr(text)
		named := text == s.Advertise // whoever names an address means it
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

// farAway are addresses that only the default route leads to: they are reserved for documentation.
var farAway = map[string]string{"udp4": "203.0.113.1:9", "udp6": "[2001:db8::1]:9"}

// outbound returns the source address of packets that leave by the default route. It sends none: a
// UDP socket gets its address when it is connected. The result is invalid if there is no such
// route, or if its address means nothing to others.
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
