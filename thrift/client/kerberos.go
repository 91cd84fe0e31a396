package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	krb5 "github.com/jcmturner/gokrb5/v8/client"
	krb5config "github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/krberror"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// kerberos gets tickets for one HiveServer2. gokrb5 renews the ticket-granting ticket as long as destroy is not called.
type kerberos struct {
	client  *krb5.Client
	service string // the server's principal without the realm, _HOST replaced
	config  Config
	turn    chan struct{} // holds one value while nobody uses client
}

// newKerberos reads krb5.conf and keytab; it does not ask the KDC yet.
func newKerberos(c Config) (*kerberos, error) {
	conf, err := krb5config.Load(c.Krb5Conf)
	if unsupported := (krb5config.UnsupportedDirective{}); err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("kerberos: read %s: %w", c.Krb5Conf, err)
	}
	name, realm, _ := splitPrincipal(c.Principal) // Validate has read both principals
	if realm == "" {
		realm = conf.LibDefaults.DefaultRealm
	}
	if realm == "" {
		return nil, fmt.Errorf("kerberos: principal %q has no realm, and %s no default_realm", c.Principal, c.Krb5Conf)
	}
	keys, err := keytab.Load(c.KeytabFile)
	if err != nil {
		return nil, fmt.Errorf("kerberos: read keytab %s: %w", c.KeytabFile, err)
	}
	if err := holds(keys, name+"@"+realm); err != nil {
		return nil, fmt.Errorf("kerberos: keytab %s: %w", c.KeytabFile, err)
	}
	service, serverRealm, _ := splitPrincipal(strings.ReplaceAll(c.ServerPrincipal, "_HOST", strings.ToLower(c.host())))
	if serverRealm != "" {
		// gokrb5 finds the realm of a server by its host.
		conf.DomainRealm[service[strings.LastIndexByte(service, '/')+1:]] = serverRealm
	}
	k := &kerberos{
		client:  krb5.NewWithKeytab(name, realm, keys, conf),
		service: service,
		config:  c,
		turn:    make(chan struct{}, 1),
	}
	k.turn <- struct{}{}
	return k, nil
}

// holds reports which principals a keytab has in place of the one wanted.
func holds(keys *keytab.Keytab, principal string) error {
	var others []string
	for _, entry := range keys.Entries {
		name := entry.Principal.String()
		if name == principal {
			return nil
		}
		if len(others) == 0 || others[len(others)-1] != name {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return errors.New("holds no keys")
	}
	return fmt.Errorf("holds no key of %s, but of %s", principal, strings.Join(others, ", "))
}

// serviceTicket is a ticket for the server and its session key.
type serviceTicket struct {
	messages.Ticket
	key types.EncryptionKey
}

// ticket asks for a service ticket, or takes one that still holds.
func (k *kerberos) ticket(ctx context.Context) (serviceTicket, error) {
	return exchange(ctx, k, func() (serviceTicket, error) {
		ticket, key, err := k.client.GetServiceTicket(k.service)
		return serviceTicket{ticket, key}, err
	})
}

// negotiateHeader is the value of an HTTP Authorization header: a ticket, wrapped in SPNEGO.
func (k *kerberos) negotiateHeader(ctx context.Context) (string, error) {
	return exchange(ctx, k, func() (string, error) {
		token, err := spnego.SPNEGOClient(k.client, k.service).InitSecContext()
		if err != nil {
			return "", err
		}
		b, err := token.Marshal()
		return "Negotiate " + base64.StdEncoding.EncodeToString(b), err
	})
}

// exchange runs f, which may talk to the KDC, and leaves it when ctx ends: gokrb5 knows no context, but gives up by itself
// after 5 seconds for each KDC and protocol.
func exchange[T any](ctx context.Context, k *kerberos, f func() (T, error)) (T, error) {
	var none T
	select {
	case <-k.turn:
	case <-ctx.Done():
		return none, fmt.Errorf("kerberos: wait for the KDC: %w", context.Cause(ctx))
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		if err != nil && codeOf(err) == errorcode.KRB_AP_ERR_TKT_EXPIRED {
			// The KDC was away when the ticket was to be renewed, and gokrb5 would go on trying to renew it.
			if err = k.client.Login(); err == nil {
				value, err = f()
			}
		}
		k.turn <- struct{}{}
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return none, k.explain(o.err)
		}
		return o.value, nil
	case <-ctx.Done():
		return none, fmt.Errorf("kerberos: no answer of a KDC yet: %w", context.Cause(ctx))
	}
}

// destroy ends the renewal of tickets, as soon as no exchange is under way.
func (k *kerberos) destroy() {
	select {
	case <-k.turn:
		k.client.Destroy()
	default:
		go func() {
			<-k.turn
			k.client.Destroy()
		}()
	}
}

// kdcCode finds the code in the text of gokrb5's errors, which keep it nowhere else.
var kdcCode = regexp.MustCompile(`KRB Error: \((\d+)\)`)

// explain says in front of gokrb5's error what failed and where to look.
func (k *kerberos) explain(err error) error {
	c := k.config
	what := "get a ticket for " + k.service
	kind := krberror.Krberror{}
	switch code := codeOf(err); {
	case code == errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		what = fmt.Sprintf("the KDC does not know principal %s", c.Principal)
	case code == errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		what = fmt.Sprintf("the KDC does not know the server principal %s: is it hive.server2.authentication.kerberos.principal of the server?", k.service)
	case code == errorcode.KDC_ERR_PREAUTH_FAILED, code == errorcode.KRB_AP_ERR_BAD_INTEGRITY:
		what = fmt.Sprintf("keytab %s holds outdated keys of %s: make it anew", c.KeytabFile, c.Principal)
	case code == errorcode.KRB_AP_ERR_SKEW, strings.Contains(err.Error(), "clock skew"):
		what = "the clocks of this machine and of the KDC differ too much"
	case code == errorcode.KDC_ERR_CLIENT_REVOKED, code == errorcode.KDC_ERR_KEY_EXPIRED, code == errorcode.KDC_ERR_NAME_EXP:
		what = fmt.Sprintf("principal %s is locked or has expired", c.Principal)
	case code == errorcode.KDC_ERR_ETYPE_NOSUPP, strings.Contains(err.Error(), "matching key not found in keytab"):
		what = fmt.Sprintf("keytab %s holds no key of %s of an encryption type that the KDC takes: make it anew", c.KeytabFile, c.Principal)
	case strings.Contains(err.Error(), "no KDCs defined"):
		what = fmt.Sprintf("%s names no KDC of the realm", c.Krb5Conf)
	case errors.As(err, &kind) && kind.RootCause == krberror.NetworkingError:
		what = fmt.Sprintf("no KDC that %s names can be reached", c.Krb5Conf)
	}
	return fmt.Errorf("kerberos: %s: %w", what, err)
}

// codeOf is the KDC's error code, 0 where it sent none.
func codeOf(err error) int32 {
	m := kdcCode.FindStringSubmatch(err.Error())
	if m == nil {
		return 0
	}
	code, _ := strconv.ParseInt(m[1], 10, 32) // digits
	return int32(code)
}
