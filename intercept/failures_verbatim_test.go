package intercept_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	athrift "github.com/apache/thrift/lib/go/thrift"
	"github.com/beltran/gohive/hiveserver"

	"github.com/hs2proxy/hs2proxy/intercept"
)

// field is a field of a struct in TBinaryProtocol: type, id, value.
func field(kind athrift.TType, id int16, value ...[]byte) []byte {
	return slices.Concat(binary.BigEndian.AppendUint16([]byte{byte(kind)}, uint16(id)), slices.Concat(value...))
}

func i32(n uint32) []byte     { return binary.BigEndian.AppendUint32(nil, n) }
func text(s string) []byte    { return append(i32(uint32(len(s))), s...) }
func stop(b ...[]byte) []byte { return append(slices.Concat(b...), 0) }

// unknownFields are one of every type, nested ones too, with ids that no version of TCLIService has.
func unknownFields() []byte {
	inner := stop(field(athrift.STRING, 1, text("inside")), field(athrift.BOOL, 2, []byte{1}))
	return slices.Concat(
		field(athrift.BOOL, 4242, []byte{1}), field(athrift.BYTE, 4243, []byte{0xff}), field(athrift.I16, 4244, []byte{1, 2}),
		field(athrift.I32, -1, i32(3)), field(athrift.I64, 4246, i32(0), i32(4)), field(athrift.DOUBLE, 4247, i32(0x7ff80000), i32(0)),
		field(athrift.STRING, 4248, text("\xff\xfe not UTF-8 \x00")), field(athrift.STRUCT, 4249, inner),
		field(athrift.LIST, 4250, []byte{byte(athrift.STRUCT)}, i32(2), inner, inner),
		field(athrift.SET, 4251, []byte{byte(athrift.I32)}, i32(1), i32(9)),
		field(athrift.MAP, 4252, []byte{byte(athrift.STRING), byte(athrift.LIST)}, i32(1), text("k"), []byte{byte(athrift.BYTE)}, i32(3), []byte{1, 2, 3}),
		field(athrift.STRING, 4252, text("the same id again")))
}

// with adds fields at the end of the first struct inside a message's own.
func with(m, fields []byte) []byte {
	return slices.Concat(m[:len(m)-2], fields, []byte{0, 0})
}

// TestFailureUnknownVersionsCallsFields: what nobody here knows passes as it is, both ways, and the connection is observed on.
func TestFailureUnknownVersionsCallsFields(t *testing.T) {
	version := func(v int32) []byte {
		return message("OpenSession", athrift.CALL, 1, &hiveserver.TCLIServiceOpenSessionArgs{Req: &hiveserver.TOpenSessionReq{
			ClientProtocol: hiveserver.TProtocolVersion(v),
		}})
	}
	refusal := message("OpenSession", athrift.EXCEPTION, 1, athrift.NewTApplicationException(athrift.PROTOCOL_ERROR, "Required field 'client_protocol' is unset!"))
	strange := func(name string, kind athrift.TMessageType, seq int32) []byte {
		return message(name, kind, seq, athrift.NewTApplicationException(17, "of any content"))
	}
	for name, tt := range map[string]struct{ call, reply []byte }{
		"protocol version 99":       {version(98), refusal},
		"negative protocol version": {version(-5), refusal},
		"unknown call":              {strange("DownloadData2030", athrift.CALL, 9), strange("DownloadData2030", athrift.REPLY, 9)},
		"negative sequence id":      {strange("GetInfo", athrift.CALL, -7), strange("GetInfo", athrift.REPLY, -7)},
		"name of another encoding":  {strange("Öffne\xff", athrift.CALL, 1), strange("Öffne\xff", athrift.EXCEPTION, 1)},
		"unknown fields": {
			with(executeCall(5, "select 1"), unknownFields()), with(executeReply(5), unknownFields()),
		},
		"unknown fields of a session": {with(openCall(5), unknownFields()), with(openReply(5), unknownFields())},
		"unknown field of a result":   {fetchCall(6), append(bytes.TrimSuffix(fetchReply(6, "x"), []byte{0}), stop(unknownFields())...)},
	} {
		t.Run(name, func(t *testing.T) {
			forEachWire(t, func(t *testing.T, tr transport) {
				hive := newTape(t)
				p := tr.proxy(t, hive.addr, intercept.Config{})
				client, server := hive.connect(t, p)
				pass(t, client, server, append(slices.Clone(tr.login), tr.call(tt.call), tr.reply(tt.reply),
					tr.call(openCall(90)), tr.reply(openReply(90)))...)
				end(t, client, server)
				p.observed(t)
				if got := p.events(t, len(tr.gone("opened"))); got[0] != "opened" {
					t.Errorf("events %q", got)
				}
			})
		})
	}
}

// TestFailureUnknownMessages: messages of other types and encodings pass; that the connection cannot be observed on is the
// proxy's own affair.
func TestFailureUnknownMessages(t *testing.T) {
	binaryCall, binaryReply := fetchCall(1), fetchReply(1, "x")
	for name, tt := range map[string]struct{ call, reply []byte }{
		"message type 99":     {message("FetchResults", 99, 1, aSession()), message("FetchResults", 77, 1, aSession())},
		"version 2":           {append([]byte{0x80, 2}, binaryCall[2:]...), append([]byte{0x80, 2}, binaryReply[2:]...)},
		"not strict":          {slices.Concat(text("FetchResults"), []byte{1}, i32(1), binaryCall[24:]), slices.Concat(text("FetchResults"), []byte{2}, i32(1), binaryReply[24:])},
		"compact protocol":    {[]byte("\x82\x21\x01\x0cFetchResults\x00"), []byte("\x82\x41\x01\x0cFetchResults\x00")},
		"reply before a call": {[]byte{}, binaryReply},
		"reply of another":    {binaryCall, fetchReply(8, "x")},
		"unknown field type":  {with(binaryCall, field(99, 1, []byte("what"))), with(binaryReply, field(99, 1, []byte("what")))},
		"no name":             {message("", athrift.CALL, 1, aSession()), message("", athrift.EXCEPTION, 1, aSession())},
		"JSON":                {[]byte(`[1,"FetchResults",1,1,{}]`), []byte(`[1,"FetchResults",2,1,{}]`)},
	} {
		t.Run(name, func(t *testing.T) {
			forEachWire(t, func(t *testing.T, tr transport) {
				hive := newTape(t)
				p := tr.proxy(t, hive.addr, intercept.Config{})
				client, server := hive.connect(t, p)
				lines := slices.Clone(tr.login)
				if tr.secure && len(lines)+len(tt.call) == 0 {
					t.Skip("within TLS the proxy connects with the client's first words")
				}
				if len(tt.call) > 0 {
					lines = append(lines, tr.call(tt.call))
				}
				pass(t, client, server, append(lines, tr.reply(tt.reply), tr.call(binaryCall), tr.reply(binaryReply))...)
				end(t, client, server)
			})
		})
	}
}
