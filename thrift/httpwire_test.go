package thrift

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// post is a request with headers (lines without their ends) and a body of a known length.
func post(body []byte, headers ...string) []byte {
	return headed("POST /cliservice HTTP/1.1", append(headers, "Content-Length: "+strconv.Itoa(len(body))), body)
}

// answer is a response with a body of a known length.
func answer(status int, body []byte, headers ...string) []byte {
	return headed(fmt.Sprintf("HTTP/1.1 %d Whatever", status), append(headers, "Content-Length: "+strconv.Itoa(len(body))), body)
}

func headed(first string, headers []string, body []byte) []byte {
	head := strings.Join(append([]string{first, "Host: hive"}, headers...), "\r\n") + "\r\n\r\n"
	return append([]byte(head), body...)
}

const (
	isThrift  = "Content-Type: application/x-thrift"
	isChunked = "Transfer-Encoding: chunked"
)

func chunked(first string, body []byte, size int, headers ...string) []byte {
	b := headed(first, append(headers, isChunked), nil)
	for part := range slices.Chunk(body, size) {
		b = fmt.Appendf(b, "%X;name=\"value\"\r\n%s\r\n", len(part), part)
	}
	return append(b, "0\r\nX-Trailer: 1\r\n\r\n"...)
}

func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func compressed(how coding, b []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch how {
	case codingGzip:
		w = gzip.NewWriter(&out)
	case codingDeflate:
		w = zlib.NewWriter(&out)
	default:
		w, _ = flate.NewWriter(&out, flate.DefaultCompression)
	}
	if _, err := w.Write(b); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// httpRecorder writes down what HTTP adds, too.
type httpRecorder struct{ recorder }

func (r *httpRecorder) Login(l Login) {
	r.logins = append(r.logins, l)
	r.say("login %q %q %q %q", l.Mechanism, l.User, l.DoAs, l.ForwardedFor)
}

func (r *httpRecorder) Reply(token any, reply Reply) {
	r.recorder.Reply(token, reply)
	if reply.Rejected {
		r.say("rejected %d", reply.HTTPStatus)
	} else {
		r.say("status %d", reply.HTTPStatus)
	}
	if reply.Operation != (GUID{}) {
		r.say("operation %x", reply.Operation)
	}
}
