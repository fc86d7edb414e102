package encryption

import "time"

// told hears of a value that was encrypted or decrypted: how long that took, and what went wrong.
type told func(took time.Duration, err error)

// meter hears of the values of a resource that a provider writes and reads. That of nobody is nil.
type meter struct {
	read, written []told
	unknown       told // values that no provider can read; the same for all providers of a resource
}

// unknownProvider is the name of the provider of values that there is none for.
const unknownProvider = "unknown"

// metered returns the chain with meters for the values of a resource.
func (c Chain) metered(h *Hooks, group, resource string) Chain {
	if len(c) == 0 {
		return nil
	}
	if group != "" {
		resource += "." + group
	}
	metered := make(Chain, len(c))
	unknown := told(h.Transforms(resource, unknownProvider, false))
	for i, p := range c {
		p.meter = &meter{unknown: unknown}
		for _, name := range p.names(false) {
			p.meter.read = append(p.meter.read, h.Transforms(resource, name, false))
		}
		for _, name := range p.names(true) {
			p.meter.written = append(p.meter.written, h.Transforms(resource, name, true))
		}
		metered[i] = p
	}
	return metered
}

// names are those by which kube-apiserver counts what a provider does: its method and its key. That of no method depends on what it does.
func (p *Provider) names(written bool) []string {
	switch method := len(p.prefix) - p.key; {
	case method == 0 && written:
		return []string{""}
	case method == 0:
		return []string{"identity"}
	case p.key == 0:
		return []string{string(p.prefix)}
	default:
		return []string{string(p.prefix[:method]), string(p.prefix[method:])}
	}
}

// decrypted tells of a value that the provider has read since began, or could not.
func (p *Provider) decrypted(began time.Time, err error) {
	if p.meter != nil {
		tell(p.meter.read, began, err)
	}
}

// encrypted tells of a value that the provider has written since began, or could not.
func (p *Provider) encrypted(began time.Time, err error) {
	if p.meter != nil {
		tell(p.meter.written, began, err)
	}
}

func tell(all []told, began time.Time, err error) {
	took := time.Since(began)
	for _, f := range all {
		f(took, err)
	}
}
