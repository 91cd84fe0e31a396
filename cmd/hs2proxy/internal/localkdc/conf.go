package localkdc

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeConf writes krb5.conf, which every client takes too, and kdc.conf. Only AES keys are made, and nothing is looked
// up in DNS. Java would prefer UDP and wait long for it; with the limit 1 it asks by TCP.
func (k *KDC) writeConf() error {
	in := func(name string) string { return filepath.Join(k.dir, name) }
	client := fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  ticket_lifetime = 1h
  renew_lifetime = 1d
  forwardable = true
[realms]
  %[1]s = {
    kdc = %[2]s
  }
[domain_realm]
  localhost = %[1]s
  127.0.0.1 = %[1]s
[logging]
  kdc = FILE:%[3]s
  default = FILE:%[3]s
`, k.realm, k.address, in("kdc.log"))
	server := fmt.Sprintf(`[kdcdefaults]
  kdc_listen = %[2]s
  kdc_tcp_listen = %[2]s
[realms]
  %[1]s = {
    database_name = %[3]s
    key_stash_file = %[4]s
    acl_file = %[5]s
    max_life = 1h
    max_renewable_life = 1d
    master_key_type = aes256-cts-hmac-sha1-96
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
    default_principal_flags = +preauth
  }
`, k.realm, k.address, in("principal"), in("stash"), in("kadm5.acl"))
	for name, text := range map[string]string{k.Krb5Conf(): client, in("kdc.conf"): server} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the KDC's configuration: %w", err)
		}
	}
	return nil
}
