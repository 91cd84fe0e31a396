package intercept

import "github.com/hs2proxy/hs2proxy/thrift"

// Rerouted is to be called when the set of servers has grown. HTTP connections made while there was one server go on to it with all
// their requests; now that sessions may be on others, each ends as soon as its client waits for nothing. Clients pool their
// connections and make another.
func (s *Server) Rerouted() {
	if !s.routed() {
		return
	}
	for _, r := range s.relays() {
		if r.watch.seen().Transport != thrift.HTTP || r.routed() {
			continue
		}
		r.retired.Store(true)
		if r.idle() {
			r.cut()
		}
	}
}

// routed reports whether each request of the connection finds its own server.
func (r *relay) routed() bool {
	r.mu.Lock()
	p, ok := r.mu.carrier.(*pumped)
	r.mu.Unlock()
	if !ok {
		return false
	}
	p.conns.Lock()
	defer p.conns.Unlock()
	return p.conns.route != nil
}
