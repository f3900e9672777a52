package picotest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/lib/pq"

	"github.com/picodata/go-picodata/picotest"
)

// code returns the SQLSTATE of what a client got.
func code(err error) string {
	var fromPgx *pgconn.PgError
	var fromPq *pq.Error
	switch {
	case errors.As(err, &fromPgx):
		return fromPgx.Code
	case errors.As(err, &fromPq):
		return string(fromPq.Code)
	}
	return ""
}

// connect logs in with pgx.
func connect(t *testing.T, dsn string) (*pgx.Conn, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

// TestMethods logs in by every method that the server has.
func TestMethods(t *testing.T) {
	c := picotest.Start(t, picotest.Config{Users: []picotest.User{
		{Name: "by_md5", Password: "Passw0rd"},
		{Name: "by_scram", Password: "Passw0rd", Method: "scram-sha-256"},
		{Name: "by_ldap", Password: "Passw0rd", Method: "ldap"},
		{Name: "by_nothing", Method: "none"},
		{Name: "by_chap", Password: "Passw0rd", Method: "chap-sha1"},
	}})
	n := c.Node("i1")
	for _, tc := range []struct{ user, password, code string }{
		{"by_md5", "Passw0rd", ""},
		{"by_md5", "wrong", "28P01"},
		{"by_scram", "Passw0rd", ""},
		{"by_scram", "wrong", "28P01"},
		{"by_ldap", "Passw0rd", ""},
		{"by_ldap", "wrong", "28P01"},
		{"by_nothing", "", ""},
		{"by_chap", "Passw0rd", "28P01"},
		{"nobody", "Passw0rd", "28P01"},
	} {
		dsn := strings.Replace(n.AdminDSN(), "admin:T0psecret", tc.user+":"+tc.password, 1)
		_, err := connect(t, dsn)
		if code(err) != tc.code || (err == nil) != (tc.code == "") {
			t.Errorf("%s with %q: %v, want code %q", tc.user, tc.password, err, tc.code)
		}
	}
	k := n.Counters()
	if k.Logins != 4 || k.LoginFailures != 5 {
		t.Errorf("%d logins and %d failures, want 4 and 5", k.Logins, k.LoginFailures)
	}
}

// TestAbandonedLogin: a client that leaves before it has shown a password hasn't failed, however often it does.
func TestAbandonedLogin(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	for range 10 {
		conn, err := net.Dial("tcp", n.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fe := pgproto3.NewFrontend(conn, conn)
		fe.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "app"}})
		if err := fe.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := fe.Receive(); err != nil { // the request for the password
			t.Fatal(err)
		}
		conn.Close()
	}
	if err := c.WaitConnections(t.Context(), "i1", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, n.DSN()); err != nil {
		t.Errorf("the user is locked out: %v", err)
	}
	if k := n.Counters(); k.LoginFailures != 0 {
		t.Errorf("%d failed logins", k.LoginFailures)
	}
}

// TestLockout fails four times in a row: then the right password doesn't help on that instance, but on others.
func TestLockout(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	wrong := strings.Replace(n.DSN(), "Passw0rd", "Wr0ngpass", 1)
	try := func(dsn string) string {
		_, err := connect(t, dsn)
		return code(err)
	}
	for range 3 {
		try(wrong)
	}
	if got := try(n.DSN()); got != "" {
		t.Fatalf("three failures lock out already: %s", got)
	}
	for range 4 {
		try(wrong)
	}
	if got := try(n.DSN()); got != "28P01" {
		t.Errorf("after four failures: %q, want 28P01", got)
	}
	if got := try(c.Node("i2").DSN()); got != "" {
		t.Errorf("on another instance: %s", got)
	}
	n.Unlock("app")
	if got := try(n.DSN()); got != "" {
		t.Errorf("unlocked: %s", got)
	}
}

// TestSilentEOF gives startup options that the server answers by closing.
func TestSilentEOF(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	for _, tc := range []struct {
		params map[string]string
		ok     bool
	}{
		{map[string]string{"options": "read_preference=Any"}, true},
		{map[string]string{"options": "read_preference=leader "}, false},
		{map[string]string{"options": ""}, false},
		{map[string]string{"options": "read_preference=any,"}, false},
		{map[string]string{"options": "forward=off"}, true},
		{map[string]string{"options": "forward=Off"}, false},
		{map[string]string{"options": "sql_motion_row_max=-1"}, false},
		{map[string]string{"pico_query_metadata": "bad"}, false},
		{map[string]string{"options": "pico_query_metadata=bad", "pico_query_metadata": "true"}, false},
		{map[string]string{"read_preference": "bad"}, true},
	} {
		w, err := openWire(c, "i1", "admin", "T0psecret")
		if err != nil {
			t.Fatal(err)
		}
		got, end, err := w.login(startupBody("admin", tc.params))
		w.close()
		if err != nil || (end == "ready") != tc.ok || !tc.ok && len(got) > 0 {
			t.Errorf("%v: %d messages, %s, %v; want success %v and silence otherwise", tc.params, len(got), end, err, tc.ok)
		}
	}
}

// TestOddPackets sends what isn't a startup: each is answered by closing.
func TestOddPackets(t *testing.T) {
	c := picotest.Start(t, picotest.Config{})
	n := c.Node("i1")
	for name, packet := range map[string]string{
		"cancel request": "\x00\x00\x00\x10\x04\xd2\x16\x2e\x00\x00\x00\x01\x00\x00\x00\x02",
		"GSSENC request": "\x00\x00\x00\x08\x04\xd2\x16\x30",
		"protocol 2.0":   "\x00\x00\x00\x08\x00\x02\x00\x00",
		"garbage":        "GET / HTTP/1.1\r\n\r\n",
		"no user":        "\x00\x00\x00\x09\x00\x03\x00\x00\x00",
	} {
		conn, err := c.DialContext(t.Context(), "tcp", n.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, packet)
		if got, err := io.ReadAll(conn); len(got) > 0 || err != nil && !isClosed(err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		_ = conn.Close()
	}
	if k := n.Counters(); k.Cancels != 1 || k.Logins != 0 {
		t.Errorf("%d cancels and %d logins, want 1 and 0", k.Cancels, k.Logins)
	}
}

// TestTLS demands TLS, and a client certificate.
func TestTLS(t *testing.T) {
	for _, network := range []picotest.Network{picotest.TCP, picotest.Memory} {
		c := picotest.Start(t, picotest.Config{TLS: picotest.TLSOn, Network: network})
		connector, err := pq.NewConnector(strings.Replace(c.Node("i1").DSN(), "verify-full", "verify-ca", 1))
		if err != nil {
			t.Fatal(err)
		}
		connector.Dialer(dialer{c})
		db := sql.OpenDB(connector)
		if err := db.Ping(); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	}
	c := picotest.Start(t, picotest.Config{TLS: picotest.TLSMutual})
	dsn := c.Node("i1").DSN()
	if conn, err := connect(t, dsn); err != nil {
		t.Error(err)
	} else if _, secure := conn.PgConn().Conn().(*tls.Conn); !secure {
		t.Error("the connection is in clear")
	}
	plain := strings.Replace(dsn, "sslmode=verify-full", "sslmode=disable", 1)
	if _, err := connect(t, plain); code(err) != "28000" {
		t.Errorf("without TLS: %v, want 28000", err)
	}
	nobody := regexp.MustCompile(`ssl(cert|key)=[^&]*&`).ReplaceAllString(dsn, "")
	if _, err := connect(t, nobody); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a client certificate: %v", err)
	}
}

// TestCertificates gives two nodes certificates of their own.
func TestCertificates(t *testing.T) {
	c := picotest.Start(t, picotest.Config{TLS: picotest.TLSOn})
	if err := c.Node("i1").SetCertificate("node-a", "127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Node("i2").SetCertificate("node-b"); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, c.Node("i1").DSN()); err != nil {
		t.Error(err)
	}
	var wrong x509.HostnameError
	if _, err := connect(t, c.Node("i2").DSN()); !errors.As(err, &wrong) {
		t.Errorf("a certificate for another name was taken: %v", err)
	}
}

// TestHost listens on IPv6's loopback where there is one.
func TestHost(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 loopback here; on a host with one this test runs")
	} else {
		_ = l.Close()
	}
	c := picotest.Start(t, picotest.Config{Host: "::1"})
	if _, err := connect(t, c.DSN()); err != nil {
		t.Error(err)
	}
	if got := column(t, c, "select address from _pico_peer_address where raft_id = 1 and connection_type = 'pgproto'"); !strings.HasPrefix(got, "[::1]:") {
		t.Errorf("advertised %s", got)
	}
}

// TestStarting accepts connections while the node starts, and lets nobody in before it is online.
func TestStarting(t *testing.T) {
	c := picotest.Start(t, picotest.Config{StartWindow: -1})
	n := c.Node("i2")
	n.Kill()
	if _, err := connect(t, n.DSN()); err == nil {
		t.Fatal("a dead node let us in")
	}
	up := n.Start()
	w, err := openWire(c, "i2", "app", "Passw0rd")
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	done := make(chan string, 1)
	go func() {
		_, end, err := w.login(startupBody("app", nil))
		if err != nil {
			end = err.Error()
		}
		done <- end
	}()
	select {
	case end := <-done:
		t.Fatalf("let in while starting: %s", end)
	case <-up:
		t.Fatal("online by itself")
	default:
	}
	n.Online()
	if end := <-done; end != "ready" {
		t.Errorf("after the start: %s", end)
	}
}
