package thrift

// maxUser bounds the user name kept of a PLAIN response, in bytes; RFC 4616 allows 255 characters.
const maxUser = 1024

// plain reads a PLAIN response in pieces: authorization name NUL user NUL password. Only the user is kept; the password's
// bytes are not even looked at.
type plain struct {
	nuls uint8
	user []byte
}

func (p *plain) feed(b []byte) {
	for _, c := range b {
		switch {
		case p.nuls == 2:
			return
		case c == 0:
			p.nuls++
		case p.nuls == 1 && len(p.user) < maxUser:
			p.user = append(p.user, c)
		}
	}
}

// name is the user, empty when the response was not complete.
func (p *plain) name() string {
	if p.nuls < 2 {
		return ""
	}
	return string(p.user)
}
