package aggregator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file hands one request to a server behind, and the answer to the client. The Handler of a
// remote calls handOn when the request has a seat (filters.Separate).

// discoveryTime bounds how long a server behind may take for the discovery document of a group
// version, which every client asks for.
const discoveryTime = 5 * time.Second

// lasts reports whether a request has no time limit: an upgrade or a long-running request.
func lasts(r *http.Request) bool {
	return callout.Upgrades(r.Header) || filters.LongRunning(request.From(r.Context()))
}

// handOn relays a request to the server behind, on behalf of its user, and relays the answer to the
// client. Both bodies stream. If the APIService is not available or the server cannot be reached,
// handOn answers in the words of kube-aggregator, in plain text.
func (r *remote) handOn(w http.ResponseWriter, req *http.Request) {
	info := request.From(req.Context())
	refuse := func(why string, code int) {
		filters.Terminated(req)
		http.Error(w, why, code)
	}
	if !r.available {
		refuse("service unavailable", http.StatusServiceUnavailable)
		return
	}
	c := r.connect()
	if c.err != nil {
		refuse(c.err.Error(), http.StatusInternalServerError)
		return
	}
	if info.User == nil {
		refuse("missing user", http.StatusInternalServerError)
		return
	}
	host, err := r.address(req.Context())
	if err != nil {
		r.log.Warn("cannot resolve the Service of an APIService",
			zap.String("name", r.service.Name), zap.Error(err))
		refuse("service unavailable", http.StatusServiceUnavailable)
		return
	}
	h := &handover{
		remote: r, info: info, host: host, writer: w, in: req, upgrades: callout.Upgrades(req.Header),
	}
	h.serve(c)
}

// handover is one request on its way to a server behind.
type handover struct {
	*remote
	info     *request.Info
	host     string
	writer   http.ResponseWriter // its header already holds what the filters have set
	in       *http.Request
	upgrades bool
}

// serve relays the request over to. A long-running request that is no upgrade streams without
// deadlines; the discovery document of a group version must come within discoveryTime.
func (h *handover) serve(to *connection) {
	relay := callout.Relay{
		To: to, Rewrite: h.rewrite, Answered: h.answered, Failed: h.failed,
		Lasts: filters.LongRunning(h.info), Ends: h.ends,
	}
	w, in := h.writer, h.in
	switch {
	case h.upgrades:
	case relay.Lasts:
		var end func()
		w, end = router.Stream(in.Context(), w)
		defer end()
		_ = http.NewResponseController(h.writer).SetReadDeadline(time.Time{}) // of the body, if there is one
	case !h.info.IsResource && strings.Count(strings.Trim(h.info.Path, "/"), "/") == 2:
		ctx, cancel := context.WithTimeout(in.Context(), discoveryTime)
		defer cancel()
		in = in.WithContext(ctx)
	}
	relay.Serve(w, in)
}

// rewrite makes the request that the server behind gets. The Relay has removed the hop-by-hop
// headers (RFC 9110, 7.6.1), Forwarded and the X-Forwarded- headers.
func (h *handover) rewrite(p *httputil.ProxyRequest) {
	out, header := p.Out, p.Out.Header
	// The path is encoded anew from the decoded path, because the decoded path was authorized.
	out.URL = &url.URL{Scheme: "https", Host: h.host, Path: h.in.URL.Path, RawQuery: h.in.URL.Query().Encode()}
	out.Host, out.Trailer = h.host, nil
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			delete(header, name)
		}
	}
	for _, name := range [...]string{"Authorization", "Cookie", "Expect"} { // headers for this server alone
		delete(header, name)
	}
	speakFor(header, h.info.User, !h.NoUIDs)
	header.Set("Audit-Id", h.info.AuditID)
	if hops := h.in.Header["Forwarded"]; hops != nil { // of proxies in front of this server
		header["Forwarded"] = hops
	}
	from := h.in.Header["X-Forwarded-For"]
	if ip, _, err := net.SplitHostPort(h.in.RemoteAddr); err == nil {
		from = append(from[:len(from):len(from)], ip)
	}
	if len(from) > 0 {
		header.Set("X-Forwarded-For", strings.Join(from, ", "))
	}
	uri := path.Clean("/" + out.URL.EscapedPath())
	if strings.HasSuffix(out.URL.Path, "/") {
		uri += "/"
	}
	header.Set("X-Forwarded-Uri", uri)
	// As in kube-aggregator, these are of the server behind, not of the client's request.
	header.Set("X-Forwarded-Host", h.host)
	header.Set("X-Forwarded-Proto", "https")
}

// speakFor sets the headers that name the user of a request (X-Remote-User and so on), and deletes
// all X-Remote- headers that the client sent.
func speakFor(header http.Header, u *request.User, uid bool) {
	names := &authn.StandardHeaders
	for name := range header {
		if strings.HasPrefix(strings.ToLower(name), "x-remote-") {
			delete(header, name)
		}
	}
	header.Set(names.Names[0], u.Name)
	if uid && u.UID != "" {
		header.Set(names.UIDs[0], u.UID)
	}
	for _, group := range u.Groups {
		header.Add(names.Groups[0], group)
	}
	for key, values := range u.Extra {
		for _, value := range values {
			header.Add(names.ExtraPrefixes[0]+escapeKey(key), value)
		}
	}
}

// escapeKey makes a key usable in the name of a header: a byte that cannot stand there becomes a
// percent sign and its two hexadecimal digits.
func escapeKey(key string) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if letter || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// answered changes the head of an answer before it goes to the client: it refuses redirects, unless
// they are allowed, and removes headers that only this server may set.
func (h *handover) answered(resp *http.Response) error {
	code, location := resp.StatusCode, resp.Header.Get("Location")
	to, err := url.Parse(location)
	switch {
	case h.upgrades: // the server behind has refused to switch protocols; Location stays
	case err != nil:
		return callout.HeadError{
			Err: meta.NewInternalError(fmt.Errorf("error trying to parse Location header: %w", err)),
		}
	case location != "" && code >= 300 && code < 400 && !h.ForwardRedirects:
		const why = "the backend attempted to redirect this request, which is not permitted"
		resp.Body.Close()
		*resp = http.Response{
			StatusCode: http.StatusBadGateway, Header: http.Header{}, Request: resp.Request,
			Body: io.NopCloser(strings.NewReader(why)), ContentLength: int64(len(why)),
		}
	case location != "":
		if strings.HasPrefix(to.Path, "/") && (to.Host == "" || to.Host == h.host) {
			to.Scheme, to.Host = "https", h.host
		}
		resp.Header.Set("Location", to.String())
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-Allow-") { // CORS is decided by this server
			delete(resp.Header, name)
		}
	}
	// This server has set the same Audit-Id already. The client gets one value of Cache-Control and
	// Server: that of the server behind, if there is one.
	resp.Header.Del("Audit-Id")
	for _, name := range [...]string{"Cache-Control", "Server"} {
		if resp.Header[name] != nil {
			delete(h.writer.Header(), name)
		}
	}
	return nil
}

// failed answers with 503 if the server behind has not answered. It writes nothing if the context
// of the request has ended: the client is gone, or the filter of timeouts answers.
func (h *handover) failed(w http.ResponseWriter, _ *http.Request, err error) {
	if h.in.Context().Err() != nil {
		return
	}
	why := "error trying to reach service: "
	if h.upgrades {
		why = "error dialing backend: "
	}
	if errors.As(err, new(callout.HeadError)) {
		why = ""
	}
	http.Error(w, why+err.Error(), http.StatusServiceUnavailable)
}
