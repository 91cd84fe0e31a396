package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// serverURI begins the name of the znode of a HiveServer2 (HiveServer2.start). The namespace may hold others, such as the
// leader latch of the privilege synchronizer.
const serverURI = "serverUri="

// registered tells whether a child of the namespace is a HiveServer2. With Curator's protection, which guards against a creation
// whose answer was lost, "_c_", a UUID and "-" come before the name.
func registered(name string) bool {
	return strings.HasPrefix(unprotected(name), serverURI)
}

func unprotected(name string) string {
	const uuid = len("00000000-0000-0000-0000-000000000000")
	if rest, ok := strings.CutPrefix(name, "_c_"); ok && len(rest) > uuid && rest[uuid] == '-' {
		return rest[uuid+1:]
	}
	return name
}

// pairs are the name=value parts of the name or of the data of a znode.
func pairs(text string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(part, "="); ok {
			out[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return out
}

// parseNode reads a HiveServer2's znode and its sequence number. As for Hive's JDBC driver (ZooKeeperHiveClientHelper), the host
// and the ports are those in the data, which hold a port for each transport the server has (two in mode "all"). Data that is just
// host:port, with hive.server2.zookeeper.publish.configs false, does not tell the transport: it is taken for the one the client
// speaks.
func parseNode(name, data string) (Server, int64, error) {
	words := pairs(unprotected(name))
	uri := words["serverUri"]
	if _, _, err := splitURI(uri); err != nil {
		return Server{}, 0, err
	}
	sequence, err := strconv.ParseInt(words["sequence"], 10, 64)
	if err != nil {
		return Server{}, 0, fmt.Errorf("sequence %q: must be a number", words["sequence"])
	}
	v := Server{ID: uri, Published: Published{Version: words["version"]}}
	if !strings.Contains(data, "=") {
		address, err := join(splitURI(strings.TrimSpace(data)))
		v.Binary, v.HTTP = address, address
		return v, sequence, err
	}
	conf := pairs(data)
	v.Published = Published{
		Version:        words["version"],
		TransportMode:  conf["hive.server2.transport.mode"],
		Authentication: conf["hive.server2.authentication"],
		Principal:      conf["hive.server2.authentication.kerberos.principal"],
		SASLQOP:        conf["hive.server2.thrift.sasl.qop"],
		HTTPPath:       conf["hive.server2.thrift.http.path"],
		TLS:            strings.EqualFold(conf["hive.server2.use.SSL"], "true"),
	}
	host := conf["hive.server2.thrift.bind.host"]
	if host == "" {
		host, _, _ = splitURI(uri) // checked above
	}
	for setting, address := range map[string]*string{
		"hive.server2.thrift.port":      &v.Binary,
		"hive.server2.thrift.http.port": &v.HTTP,
	} {
		port, ok := conf[setting]
		if !ok {
			continue
		}
		if *address, err = join(host, port, nil); err != nil {
			return Server{}, 0, fmt.Errorf("%s: %w", setting, err)
		}
	}
	if v.Binary == "" && v.HTTP == "" {
		return Server{}, 0, errors.New("neither hive.server2.thrift.port nor hive.server2.thrift.http.port is published")
	}
	return v, sequence, nil
}

// splitURI cuts host:port at the last colon: Hive writes an IPv6 address without brackets.
func splitURI(uri string) (host, port string, err error) {
	i := strings.LastIndexByte(uri, ':')
	if i < 1 {
		return "", "", fmt.Errorf("server URI %q: must be host:port", uri)
	}
	return strings.Trim(uri[:i], "[]"), uri[i+1:], nil
}

// join makes host:port of what a server published. The unspecified address would lead to ourselves.
func join(host, port string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q: must be a number from 1 to 65535", port)
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		return "", fmt.Errorf("host %s can only be reached from its own machine: set hive.server2.thrift.bind.host there to a name or an address", host)
	}
	return net.JoinHostPort(host, port), nil
}
