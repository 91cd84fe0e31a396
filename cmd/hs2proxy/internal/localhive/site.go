package localhive

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// host is the only address a local server listens on.
const host = "127.0.0.1"

// HTTPPath is where a server with Options.HTTP serves.
const HTTPPath = "/cliservice"

//go:embed templates/hive-log4j2.properties.tmpl
var log4j2Text string

//go:embed templates/log4j.properties
var log4j1 []byte

var log4j2 = template.Must(template.New("log4j2").Parse(log4j2Text))

// layout names the files and folders below Options.Dir.
type layout struct{ dir string }

func (l layout) in(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func (l layout) conf() string     { return l.in("conf") }
func (l layout) log() string      { return l.in("hiveserver2.log") }
func (l layout) output() string   { return l.in("hiveserver2.out") }
func (l layout) pidFile() string  { return l.in("hiveserver2.pid") }
func (l layout) lockFile() string { return l.in(".lock") }

// What follows is made anew at each start.
func (l layout) users() string       { return l.in("conf", "users.properties") }
func (l layout) keyStore() string    { return l.in("conf", "keys.p12") }
func (l layout) trustStore() string  { return l.in("conf", "trust.p12") }
func (l layout) certificate() string { return l.in("conf", "certificate.pem") }

// scratch is emptied at each start; tables and metastore stay.
func (l layout) scratch() string   { return l.in("scratch") }
func (l layout) tables() []string  { return []string{l.in("warehouse"), l.in("external")} }
func (l layout) metastore() string { return l.in("metastore") }

// metastoreSchema says which script made the metastore; there is none where DataNucleus did.
func (l layout) metastoreSchema() string { return l.in("metastore-schema") }

// ports are where a server listens; http is 0 without the HTTP transport.
type ports struct{ binary, http int }

// site is what hive-site.xml says. Options.Conf wins.
func site(o Options, p ports) map[string]string {
	l := layout{o.Dir}
	scratch := func(name string) string { return filepath.Join(l.scratch(), name) }
	conf := map[string]string{
		// The metastore lives in this process. A blank transformer lets CREATE TABLE make a plain managed table rather
		// than a transactional or an external one.
		"javax.jdo.option.ConnectionURL":                "jdbc:derby:;databaseName=" + l.metastore() + ";create=true",
		"datanucleus.schema.autoCreateAll":              "true",
		"hive.metastore.schema.verification":            "false",
		"hive.metastore.warehouse.dir":                  l.tables()[0],
		"hive.metastore.warehouse.external.dir":         l.tables()[1],
		"metastore.metadata.transformer.class":          " ",
		"hive.metastore.event.db.notification.api.auth": "false",
		"hive.notification.event.poll.interval":         "0",

		"fs.defaultFS":                                "file:///",
		"hive.exec.scratchdir":                        scratch("hive"),
		"hive.exec.local.scratchdir":                  scratch("local"),
		"hive.user.install.directory":                 scratch("install"),
		"hive.downloaded.resources.dir":               scratch("resources"),
		"hive.querylog.location":                      scratch("querylog"),
		"hive.query.results.cache.directory":          scratch("results"),
		"hive.server2.logging.operation.log.location": scratch("operation-logs"),
		"tez.staging-dir":                             scratch("tez"),

		// Tez runs inside the server. With its network off, a running query could not be cancelled.
		"hive.execution.engine":            "tez",
		"hive.execution.mode":              "container",
		"tez.local.mode":                   "true",
		"tez.local.mode.without.network":   "false",
		"tez.ignore.lib.uris":              "true",
		"tez.runtime.optimize.local.fetch": "true",
		"mapreduce.framework.name":         "local",

		// One Tez for all sessions: queries wait for each other. Two at a time in one process can mix up their inputs, and
		// a Tez of its own would cost every session a second or two. It stays while idle.
		"hive.server2.tez.initialize.default.sessions": "true",
		"hive.server2.tez.default.queues":              "default",
		"hive.server2.tez.sessions.per.default.queue":  "1",
		"tez.session.am.dag.submit.timeout.secs":       "-1",

		"hive.server2.transport.mode":         "binary",
		"hive.server2.thrift.bind.host":       host,
		"hive.server2.thrift.port":            strconv.Itoa(p.binary),
		"hive.server2.authentication":         string(o.Auth),
		"hive.server2.enable.doAs":            "false",
		"hive.server2.webui.port":             "0",
		"hive.server2.max.start.attempts":     "1",
		"hive.server2.graceful.stop.timeout":  "1s",
		"hive.security.authorization.enabled": "false",
		"hive.support.concurrency":            "false",

		// Operation logs and the counters of every vertex in them are what the proxy reads; a line is there before the
		// client has its answer.
		"hive.server2.logging.operation.enabled": "true",
		"hive.tez.exec.print.summary":            "true",
		"hive.async.log.enabled":                 "false",
		"hive.stats.autogather":                  "true",
		"hive.stats.column.autogather":           "true",

		// Services of no use here that cost time at the start.
		"hive.server2.materializedviews.registry.impl": "DUMMY",
		"hive.scheduled.queries.executor.enabled":      "false",
		"hive.compactor.initiator.on":                  "false",
		"hive.compactor.worker.threads":                "0",
	}
	if o.HTTP {
		conf["hive.server2.transport.mode"] = "all"
		conf["hive.server2.thrift.http.port"] = strconv.Itoa(p.http)
		conf["hive.server2.thrift.http.path"] = strings.Trim(HTTPPath, "/")
	}
	if o.Auth == AuthCustom {
		conf["hive.server2.custom.authentication.class"] = usersClass
	}
	if o.TLS {
		conf["hive.server2.use.SSL"] = "true"
		conf["hive.server2.keystore.path"] = l.keyStore()
		conf["hive.server2.keystore.type"] = "PKCS12"
		conf["hive.server2.keystore.password"] = StorePassword
	}
	if o.Transactions {
		maps.Copy(conf, transactionsConf(l))
	}
	maps.Copy(conf, o.release().conf)
	maps.Copy(conf, o.Conf)
	return conf
}

type property struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

// siteXML renders properties as Hadoop reads them, sorted by name.
func siteXML(conf map[string]string) ([]byte, error) {
	doc := struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}{}
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		doc.Properties = append(doc.Properties, property{name, conf[name]})
	}
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render hive-site.xml: %w", err)
	}
	return append([]byte(xml.Header), out...), nil
}

// writeConf makes the folders of a server and its configuration anew.
func writeConf(o Options, p ports) error {
	l := layout{o.Dir}
	remove := []string{l.scratch(), l.conf(), l.log(), l.output()}
	if o.Fresh {
		remove = append(remove, l.metastore(), l.metastoreSchema())
		remove = append(remove, l.tables()...)
	}
	for _, path := range remove {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clear what an earlier HiveServer2 left: %w", err)
		}
	}
	for _, path := range append(l.tables(), l.conf(), l.scratch(), filepath.Join(l.scratch(), "work"), filepath.Join(l.scratch(), "operation-logs")) {
		if err := os.MkdirAll(path, 0o750); err != nil {
			return fmt.Errorf("make HiveServer2's folders: %w", err)
		}
	}
	siteFile, err := siteXML(site(o, p))
	if err != nil {
		return err
	}
	var logFile bytes.Buffer
	if err := log4j2.Execute(&logFile, struct{ Log string }{l.log()}); err != nil {
		return fmt.Errorf("render hive-log4j2.properties: %w", err)
	}
	coreFile, err := siteXML(o.CoreSite)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"core-site.xml":          coreFile,
		"hive-site.xml":          siteFile,
		"hive-log4j2.properties": logFile.Bytes(), // the name under which Hive looks for it
		"log4j.properties":       log4j1,
	} {
		if err := os.WriteFile(filepath.Join(l.conf(), name), content, 0o600); err != nil {
			return fmt.Errorf("write HiveServer2's configuration: %w", err)
		}
	}
	return nil
}
