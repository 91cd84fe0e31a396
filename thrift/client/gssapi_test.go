package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	krb5 "github.com/jcmturner/gokrb5/v8/client"
	krb5config "github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

const testRealm = "EXAMPLE.TEST"

// acceptor is HiveServer2's side of the mechanism, as Java speaks it, with what may be wrong about it.
type acceptor struct {
	t      *testing.T
	keys   *keytab.Keytab
	layers byte
	subkey bool
	// proofKey seals the proof in place of the ticket's key; late is added to the time it repeats.
	proofKey *types.EncryptionKey
	late     time.Duration
	rotate   int
	// mangle changes the token that offers the layers.
	mangle func([]byte) []byte

	key  types.EncryptionKey
	auth types.Authenticator
}

// testKeys are the keys of both sides. Making keys of passwords is slow on purpose, so it is done once.
var testKeys = sync.OnceValue(func() *keytab.Keytab {
	keys := keytab.New()
	for _, name := range []string{"hs2proxy", "hive/localhost"} {
		if err := keys.AddEntry(name, testRealm, "secret", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
			panic(err)
		}
	}
	return keys
})

// newLogin makes the client's side with a ticket for hive/localhost, and the server's.
func newLogin(t *testing.T) (*gssapiLogin, *acceptor) {
	t.Helper()
	server := types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, "hive/localhost")
	now := time.Now().UTC()
	keys := testKeys()
	client := krb5.NewWithPassword("hs2proxy", testRealm, "secret", krb5config.New())
	ticket, key, err := messages.NewTicket(client.Credentials.CName(), testRealm, server, testRealm, types.NewKrbFlags(), keys,
		etypeID.AES256_CTS_HMAC_SHA1_96, 1, now, now, now.Add(time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	request, err := spnego.NewKRB5TokenAPREQ(client, ticket, key, []int{gssapi.ContextFlagMutual}, []int{flags.APOptionMutualRequired})
	if err != nil {
		t.Fatal(err)
	}
	if err := request.APReq.DecryptAuthenticator(key); err != nil {
		t.Fatal(err)
	}
	return &gssapiLogin{request: request, key: key}, &acceptor{t: t, keys: keys, layers: layerNone | layerIntegrity}
}

// prove answers the request with an AP-REP.
func (a *acceptor) prove(request []byte) []byte {
	a.t.Helper()
	var token spnego.KRB5Token
	if err := token.Unmarshal(request); err != nil {
		a.t.Fatal(err)
	}
	if ok, err := token.APReq.Verify(a.keys, time.Minute, types.HostAddress{}, nil); !ok {
		a.t.Fatal(err)
	}
	if !types.IsFlagSet(&token.APReq.APOptions, flags.APOptionMutualRequired) {
		a.t.Error("the request does not ask for a proof")
	}
	a.key, a.auth = token.APReq.Ticket.DecryptedEncPart.Key, token.APReq.Authenticator
	sealing := a.key
	if a.proofKey != nil {
		sealing = *a.proofKey
	}
	proof := messages.EncAPRepPart{CTime: a.auth.CTime.Add(a.late), Cusec: a.auth.Cusec, SequenceNumber: 7}
	if a.subkey {
		a.key = randomKey(a.t)
		proof.Subkey = a.key
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(marshalled(a.t, proof), asnAppTag.EncAPRepPart), sealing, keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	reply := marshalled(a.t, messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	return token200(a.t, asn1tools.AddASNAppTag(reply, asnAppTag.APREP), 2)
}

// token200 puts a Kerberos message into a GSS token of the kind id, 00.
func token200(t *testing.T, message []byte, id byte) []byte {
	t.Helper()
	return asn1tools.AddASNAppTag(slices.Concat(marshalled(t, gssapi.OIDKRB5.OID()), []byte{id, 0}, message), 0)
}

// offer is the wrap token with the security layers.
func (a *acceptor) offer() []byte {
	a.t.Helper()
	token := gssapi.WrapToken{Flags: 1, EC: 12, SndSeqNum: 7, Payload: []byte{a.layers, 1, 0, 0}}
	if a.subkey {
		token.Flags |= wrapAcceptorSubkey
	}
	if err := token.SetCheckSum(a.key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
		a.t.Fatal(err)
	}
	b, err := token.Marshal()
	if err != nil {
		a.t.Fatal(err)
	}
	if a.rotate > 0 {
		binary.BigEndian.PutUint16(b[6:], uint16(a.rotate))
		body := b[gssapi.HdrLen:]
		cut := len(body) - a.rotate%len(body)
		b = slices.Concat(b[:gssapi.HdrLen], body[cut:], body[:cut])
	}
	if a.mangle != nil {
		b = a.mangle(b)
	}
	return b
}

// chosen reads the client's answer to the offer.
func (a *acceptor) chosen(answer []byte) []byte {
	a.t.Helper()
	var token gssapi.WrapToken
	if err := token.Unmarshal(answer, false); err != nil {
		a.t.Fatal(err)
	}
	if ok, err := token.Verify(a.key, keyusage.GSSAPI_INITIATOR_SEAL); !ok {
		a.t.Fatal(err)
	}
	if token.SndSeqNum != uint64(a.auth.SeqNumber) || token.Flags&wrapAcceptorSubkey != 0 != a.subkey {
		a.t.Errorf("sequence number %d, flags %#x; the authenticator's is %d, subkey %v", token.SndSeqNum, token.Flags, a.auth.SeqNumber, a.subkey)
	}
	return token.Payload
}

func marshalled(t *testing.T, value any) []byte {
	t.Helper()
	b, err := asn1.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func randomKey(t *testing.T) types.EncryptionKey {
	t.Helper()
	etype, err := crypto.GetEtype(etypeID.AES128_CTS_HMAC_SHA1_96)
	if err != nil {
		t.Fatal(err)
	}
	key, err := types.GenerateEncryptionKey(etype)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestGSSAPI(t *testing.T) {
	stranger := randomKey(t)
	tests := map[string]struct {
		change func(*acceptor)
		want   string // part of the error
	}{
		"as Java":             {func(*acceptor) {}, ""},
		"a key of the server": {func(a *acceptor) { a.subkey = true }, ""},
		"rotated":             {func(a *acceptor) { a.rotate = 12 }, ""},
		"rotated all around":  {func(a *acceptor) { a.rotate = 16 + 3 }, ""},
		"another server":      {func(a *acceptor) { a.proofKey = &stranger }, "HiveServer2's proof"},
		"an old proof":        {func(a *acceptor) { a.late = -time.Second }, "does not repeat our time"},
		"auth-int only":       {func(a *acceptor) { a.layers = layerIntegrity }, "insists on auth-int, but"},
		"auth-conf only":      {func(a *acceptor) { a.layers = layerConfidentiality }, "insists on auth-conf, but"},
		"no auth":             {func(a *acceptor) { a.layers = 6 }, "insists on auth-int or auth-conf, but"},
		"tampered":            {func(a *acceptor) { a.mangle = func(b []byte) []byte { b[gssapi.HdrLen] ^= 2; return b } }, "checksum mismatch"},
		"encrypted":           {func(a *acceptor) { a.mangle = func(b []byte) []byte { b[2] |= wrapSealed; return b } }, "an encrypted wrap token"},
		"cut short":           {func(a *acceptor) { a.mangle = func(b []byte) []byte { return b[:10] } }, "security layers"},
		"empty":               {func(a *acceptor) { a.mangle = func([]byte) []byte { return nil } }, "security layers"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			login, server := newLogin(t)
			tt.change(server)
			request, err := login.step(nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := login.step(server.prove(request))
			if err == nil {
				if len(answer) != 0 || login.done() {
					t.Errorf("answer %x to the proof, done %v", answer, login.done())
				}
				answer, err = login.step(server.offer())
			}
			switch {
			case tt.want != "":
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
			case err != nil:
				t.Error(err)
			case !login.done() || !bytes.Equal(server.chosen(answer), []byte{layerNone, 0, 0, 0}):
				t.Errorf("done %v, answer %x", login.done(), answer)
			}
			if _, err := login.step(nil); err == nil && tt.want == "" {
				t.Error("a challenge too many: want an error")
			}
		})
	}
}

// The server may also answer the request with an error, or with nonsense, or leave the proof out.
func TestGSSAPIWithoutProof(t *testing.T) {
	name := types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, "hive/localhost")
	skewed := messages.NewKRBError(name, testRealm, 37, "")
	refused, err := skewed.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ reply, want string }{
		"an error":      {saslMessage(saslOK, string(token200(t, refused, 3))), "KRB_AP_ERR_SKEW"},
		"nonsense":      {saslMessage(saslOK, "nonsense"), "HiveServer2's proof"},
		"nothing":       {saslMessage(saslOK, ""), "HiveServer2's proof"},
		"ends too soon": {saslMessage(saslComplete, ""), "before it was complete"},
		"refused":       {saslMessage(saslBad, "GSS initiate failed"), "GSS initiate failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			login, _ := newLogin(t)
			err := negotiate(&readWriter{Reader: strings.NewReader(tt.reply)}, login)
			if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// Whatever HiveServer2 sends in place of the proof and the offer, the login fails and does not panic.
func FuzzGSSAPI(f *testing.F) {
	f.Add([]byte("nonsense"), []byte{5, 4, 1, 0xff, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, proof, offer []byte) {
		login, server := newLogin(t)
		request, err := login.step(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := login.step(proof); err == nil {
			t.Errorf("%x is taken for a proof", proof)
		}
		login, _ = newLogin(t)
		_, _ = request, server
		login.stage = 2
		if _, err := login.step(offer); err == nil {
			t.Errorf("%x is taken for an offer", offer)
		}
	})
}
