package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Flags of a wrap token (RFC 4121, 4.2.2) and the security layers of RFC 4752, 3.3.
const (
	wrapSealed         = 1 << 1
	wrapAcceptorSubkey = 1 << 2

	layerNone            = 1 // Hive's qop "auth"
	layerIntegrity       = 2 // auth-int
	layerConfidentiality = 4 // auth-conf
)

// gssapiLogin is the mechanism GSSAPI (RFC 4752) for Kerberos, with mutual authentication and without a security layer:
// ticket and authenticator, the server's proof that it could read them, then the choice of the layer.
type gssapiLogin struct {
	request spnego.KRB5Token
	key     types.EncryptionKey // the ticket's; the server may choose another in its proof
	flags   byte                // of our wrap tokens
	stage   int
}

// newGSSAPI asks the KDC for the ticket.
func newGSSAPI(ctx context.Context, k *kerberos) (*gssapiLogin, error) {
	ticket, err := k.ticket(ctx)
	if err != nil {
		return nil, err
	}
	key := ticket.key
	switch key.KeyType {
	case etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA256_128, etypeID.AES256_CTS_HMAC_SHA384_192:
	default:
		return nil, fmt.Errorf("kerberos: the KDC's ticket for %s has a key of encryption type %d, but only AES can log in: put AES first in krb5.conf's default_tgs_enctypes", k.service, key.KeyType)
	}
	request, err := spnego.NewKRB5TokenAPREQ(k.client, ticket.Ticket, key,
		[]int{gssapi.ContextFlagMutual, gssapi.ContextFlagInteg}, []int{flags.APOptionMutualRequired})
	if err == nil {
		err = request.APReq.DecryptAuthenticator(key) // gokrb5 forgets it, but the server's proof is measured by it
	}
	if err != nil {
		return nil, fmt.Errorf("kerberos: make the request for %s: %w", k.service, err)
	}
	return &gssapiLogin{request: request, key: key}, nil
}

func (g *gssapiLogin) name() string { return "GSSAPI" }

func (g *gssapiLogin) done() bool { return g.stage == 3 }

func (g *gssapiLogin) step(challenge []byte) ([]byte, error) {
	g.stage++
	switch g.stage {
	case 1:
		return g.request.Marshal()
	case 2:
		if err := g.checkServer(challenge); err != nil {
			return nil, fmt.Errorf("kerberos: HiveServer2's proof: %w", err)
		}
		return nil, nil
	case 3:
		response, err := g.chooseLayer(challenge)
		if err != nil {
			return nil, fmt.Errorf("kerberos: HiveServer2's security layers: %w", err)
		}
		return response, nil
	}
	return nil, errors.New("kerberos: HiveServer2 asks for more than GSSAPI has")
}

// checkServer checks the AP-REP: only who holds the server principal's key can repeat the time we sent encrypted (RFC
// 4120, 3.2.5).
func (g *gssapiLogin) checkServer(token []byte) error {
	var reply spnego.KRB5Token
	if err := reply.Unmarshal(token); err != nil {
		return err
	}
	if reply.IsKRBError() {
		return reply.KRBError
	}
	if !reply.IsAPRep() {
		return errors.New("another token than an AP-REP")
	}
	plain, err := crypto.DecryptEncPart(reply.APRep.EncPart, g.key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return err
	}
	var proof messages.EncAPRepPart
	if err := proof.Unmarshal(plain); err != nil {
		return err
	}
	sent := g.request.APReq.Authenticator
	if proof.CTime.Unix() != sent.CTime.Unix() || proof.Cusec != sent.Cusec {
		return errors.New("it does not repeat our time")
	}
	if len(proof.Subkey.KeyValue) > 0 {
		g.key, g.flags = proof.Subkey, wrapAcceptorSubkey
	}
	return nil
}

// chooseLayer reads the layers the server offers and answers that there shall be none.
func (g *gssapiLogin) chooseLayer(token []byte) ([]byte, error) {
	offer, err := g.unwrap(token)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, fmt.Errorf("%d bytes, want 4", len(offer))
	}
	if offer[0]&layerNone == 0 {
		return nil, fmt.Errorf("it insists on %s, but our own connections know only auth: add auth to hive.server2.thrift.sasl.qop", layerNames(offer[0]))
	}
	return g.wrap([]byte{layerNone, 0, 0, 0})
}

func layerNames(layers byte) string {
	switch layers & (layerIntegrity | layerConfidentiality) {
	case layerIntegrity:
		return "auth-int"
	case layerConfidentiality:
		return "auth-conf"
	case layerIntegrity | layerConfidentiality:
		return "auth-int or auth-conf"
	}
	return fmt.Sprintf("layers %#x", layers)
}

// unwrap checks a wrap token of the server that is signed and not encrypted.
func (g *gssapiLogin) unwrap(token []byte) ([]byte, error) {
	var wrapped gssapi.WrapToken
	if err := wrapped.Unmarshal(unrotate(token), true); err != nil {
		return nil, err
	}
	if wrapped.Flags&wrapSealed != 0 {
		return nil, errors.New("an encrypted wrap token, RFC 4752 wants a signed one")
	}
	if ok, err := wrapped.Verify(g.key, keyusage.GSSAPI_ACCEPTOR_SEAL); !ok {
		return nil, err
	}
	return wrapped.Payload, nil
}

// unrotate undoes the right rotation of a wrap token (RFC 4121, 4.2.5), which gokrb5 does not know. Java rotates none.
func unrotate(token []byte) []byte {
	if len(token) <= gssapi.HdrLen {
		return token
	}
	header, body := token[:gssapi.HdrLen], token[gssapi.HdrLen:]
	by := (int(header[6])<<8 | int(header[7])) % len(body)
	out := append(make([]byte, 0, len(token)), header...)
	return append(append(out, body[by:]...), body[:by]...)
}

// wrap makes a signed wrap token. gokrb5's own constructor numbers all of them 0; the count starts with the number in
// our authenticator.
func (g *gssapiLogin) wrap(payload []byte) ([]byte, error) {
	etype, err := crypto.GetEtype(g.key.KeyType)
	if err != nil {
		return nil, err
	}
	token := gssapi.WrapToken{
		Flags:     g.flags,
		EC:        uint16(etype.GetHMACBitLength() / 8),            //nolint:gosec // at most 24
		SndSeqNum: uint64(g.request.APReq.Authenticator.SeqNumber), //nolint:gosec // gokrb5 makes it positive
		Payload:   payload,
	}
	if err := token.SetCheckSum(g.key, keyusage.GSSAPI_INITIATOR_SEAL); err != nil {
		return nil, err
	}
	return token.Marshal()
}
