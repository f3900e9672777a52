package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/picodata/go-picodata/options"
)

// server is a scripted server on loopback. It answers like Picodata: everything up to the
// ReadyForQuery in one write, status always I, no BackendKeyData.
type server struct {
	t  testing.TB
	ln net.Listener

	start    sync.Once // accepts once a test has said how
	accepted atomic.Int32
	wg       sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool

	// login replaces the login if it is set; false ends the connection.
	login func(*peer) bool
	// handle replaces what comes after the login.
	handle func(*peer)
	// run answers one execution of a statement; nil means answers by default.
	run func(p *peer, sql string, params [][]byte) result
	// refuse says what is wrong with a Parse or a Bind; nil = nothing.
	refuse func(p *peer, msg pgproto3.FrontendMessage, sql string) *pgproto3.ErrorResponse

	startup chan map[string]string
}

// result is what a statement gives.
type result struct {
	columns []pgproto3.FieldDescription
	rows    [][][]byte
	tag     string
	err     *pgproto3.ErrorResponse
}

// peer is one connection as its server sees it.
type peer struct {
	*server
	conn    net.Conn
	be      *pgproto3.Backend
	startup map[string]string
	stmts   map[string]string

	mu      sync.Mutex
	flights []string // message types of each burst of the client; names in parentheses
	burst   strings.Builder
}

// newServer starts a server that answers everything until a test says otherwise.
func newServer(t testing.TB) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, ln: ln, open: map[net.Conn]bool{}, startup: make(chan map[string]string, 100)}
	t.Cleanup(s.stop)
	return s
}

func (s *server) stop() {
	s.ln.Close()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.accepted.Add(1)
		s.mu.Lock()
		s.open[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				c.Close()
				s.mu.Lock()
				delete(s.open, c)
				s.mu.Unlock()
			}()
			s.serve(c)
		})
	}
}

// serve runs one connection to its end.
func (s *server) serve(c net.Conn) {
	p := &peer{server: s, conn: c, be: pgproto3.NewBackend(c, c), stmts: map[string]string{}}
	login := s.login
	if login == nil {
		login = (*peer).trust
	}
	if !login(p) {
		return
	}
	if s.handle != nil {
		s.handle(p)
		return
	}
	p.answer()
}

// trust logs anybody in.
func (p *peer) trust() bool {
	m, err := p.be.ReceiveStartupMessage()
	if err != nil {
		return false
	}
	if _, ok := m.(*pgproto3.SSLRequest); ok {
		if _, err := p.conn.Write([]byte{'N'}); err != nil {
			return false
		}
		return p.trust()
	}
	sm, ok := m.(*pgproto3.StartupMessage)
	if !ok {
		return false
	}
	p.startup = sm.Parameters
	select {
	case p.server.startup <- sm.Parameters:
	default:
	}
	return p.welcome()
}

// welcome ends a login.
func (p *peer) welcome() bool {
	p.be.Send(&pgproto3.AuthenticationOk{})
	p.be.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: "15.0"})
	p.be.Send(&pgproto3.ParameterStatus{Name: "TimeZone", Value: "UTC"})
	return p.ready()
}

// ready sends ReadyForQuery and everything before it.
func (p *peer) ready() bool {
	p.be.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return p.flush()
}

// flush ends the client's burst.
func (p *peer) flush() bool {
	p.mu.Lock()
	if p.burst.Len() > 0 {
		p.flights = append(p.flights, p.burst.String())
		p.burst.Reset()
	}
	p.mu.Unlock()
	return p.be.Flush() == nil
}

// log gives the client's bursts since the last call.
func (p *peer) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := strings.Join(p.flights, " ")
	p.flights = nil
	return s
}

// receive gets one message and notes it.
func (p *peer) receive() (pgproto3.FrontendMessage, error) {
	m, err := p.be.Receive()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	note := func(letter, name string) {
		p.burst.WriteString(letter)
		if name != "" {
			fmt.Fprintf(&p.burst, "(%s)", name)
		}
	}
	switch m := m.(type) {
	case *pgproto3.Query:
		note("Q", "")
	case *pgproto3.Parse:
		note("P", m.Name)
	case *pgproto3.Bind:
		note("B", m.PreparedStatement)
	case *pgproto3.Describe:
		note("D", m.Name)
	case *pgproto3.Execute:
		note("E", "")
	case *pgproto3.Close:
		note("C", m.Name)
	case *pgproto3.Sync:
		note("S", "")
	case *pgproto3.Terminate:
		note("X", "")
	default:
		note("?", fmt.Sprintf("%T", m))
	}
	return m, nil
}

// answer is the server's loop.
func (p *peer) answer() {
	var (
		failed bool // skip to the next Sync
		sql    string
		params [][]byte
		format []int16
	)
	fail := func(e *pgproto3.ErrorResponse) { p.be.Send(e); failed = true }
	for {
		m, err := p.receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Terminate:
			return
		case *pgproto3.Query:
			p.result(p.execute(m.String, nil), true, nil)
			if !p.ready() {
				return
			}
			continue
		case *pgproto3.Sync:
			failed = false
			if !p.ready() {
				return
			}
			continue
		}
		if failed {
			continue
		}
		switch m := m.(type) {
		case *pgproto3.Parse:
			if e := p.refused(m, m.Query); e != nil {
				fail(e)
				continue
			}
			if _, taken := p.stmts[m.Name]; taken && m.Name != "" {
				fail(serverError("42P05", "Statement '"+m.Name+"' for client 1 already exists"))
				continue
			}
			p.stmts[m.Name] = m.Query
			p.be.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			var ok bool
			if sql, ok = p.stmts[m.PreparedStatement]; !ok {
				fail(serverError("XX000", "Couldn't find statement '"+m.PreparedStatement+"'."))
				continue
			}
			if e := p.refused(m, sql); e != nil {
				fail(e)
				continue
			}
			params = nil
			for _, v := range m.Parameters {
				params = append(params, append([]byte(nil), v...))
			}
			format = append([]int16(nil), m.ResultFormatCodes...)
			p.be.Send(&pgproto3.BindComplete{})
		case *pgproto3.Describe:
			text := sql
			if m.ObjectType == 'S' {
				text = p.stmts[m.Name]
				p.be.Send(&pgproto3.ParameterDescription{ParameterOIDs: make([]uint32, strings.Count(text, "$"))})
			}
			if r := p.execute(text, nil); r.columns != nil {
				p.be.Send(&pgproto3.RowDescription{Fields: r.columns})
			} else {
				p.be.Send(&pgproto3.NoData{})
			}
		case *pgproto3.Execute:
			r := p.execute(sql, params)
			p.result(r, false, format)
			failed = r.err != nil
		case *pgproto3.Close:
			delete(p.stmts, m.Name)
			p.be.Send(&pgproto3.CloseComplete{})
		}
	}
}

func (p *peer) refused(m pgproto3.FrontendMessage, sql string) *pgproto3.ErrorResponse {
	if p.server.refuse == nil {
		return nil
	}
	return p.server.refuse(p, m, sql)
}

// execute gives a statement's result. By default a select has one row with one column, its
// first parameter or 1; everything else touches one row.
func (p *peer) execute(sql string, params [][]byte) result {
	if p.server.run != nil {
		if r := p.server.run(p, sql, params); r.columns != nil || r.tag != "" || r.err != nil {
			return r
		}
	}
	word, _, _ := strings.Cut(strings.ToLower(sql), " ")
	switch word {
	case "select":
		value := []byte("1")
		if len(params) > 0 {
			value = params[0]
		}
		return result{columns: []pgproto3.FieldDescription{column("c", 20)}, rows: [][][]byte{{value}}, tag: "SELECT 1"}
	case "insert":
		return result{tag: "INSERT 0 1"}
	case ";", "":
		return result{tag: "empty"}
	}
	return result{err: serverError("XX000", "sbroad: rule parsing error:  --> 1:1")}
}

// result sends what an execution gives.
func (p *peer) result(r result, simple bool, format []int16) {
	if r.err != nil {
		p.be.Send(r.err)
		return
	}
	if simple && r.columns != nil {
		p.be.Send(&pgproto3.RowDescription{Fields: r.columns})
	}
	for _, row := range r.rows {
		sent := make([][]byte, len(row))
		for i, v := range row {
			f := int16(0)
			if len(format) == 1 {
				f = format[0]
			} else if len(format) > i {
				f = format[i]
			}
			sent[i] = v
			if f == 1 && v != nil {
				sent[i] = toBinary(r.columns[i].DataTypeOID, v)
			}
		}
		p.be.Send(&pgproto3.DataRow{Values: sent})
	}
	if r.tag == "empty" {
		p.be.Send(&pgproto3.EmptyQueryResponse{})
		return
	}
	p.be.Send(&pgproto3.CommandComplete{CommandTag: []byte(r.tag)})
}

// column describes a column as Picodata does: no length, no modifier.
func column(name string, oid uint32) pgproto3.FieldDescription {
	return pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: oid, TypeModifier: -1}
}

func serverError(code, message string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: "ERROR", Code: code, Message: message}
}

// target is where the server listens.
func (s *server) target() Target {
	s.start.Do(func() { s.wg.Go(s.accept) })
	return Target{Address: s.ln.Addr().String(), NodeName: "i1"}
}

// newConfig is a configuration for the scripted server.
func newConfig() *Config {
	o := options.New()
	o.User = "admin"
	o.SSLMode = options.SSLDisable
	return &Config{Options: o}
}

// dial connects and gives both ends. The connection closes with the test.
func (s *server) dial(cfg *Config) (*Conn, *peer) {
	s.t.Helper()
	peers := make(chan *peer, 1)
	inner := s.handle
	s.handle = func(p *peer) {
		peers <- p
		if inner != nil {
			inner(p)
		} else {
			p.answer()
		}
	}
	c, err := Dial(context.Background(), cfg, s.target())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	p := <-peers
	s.handle = inner
	return c, p
}

// wireError asserts that err is an *Error.
func wireError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("not a *wire.Error: %v", err)
	}
	return e
}
