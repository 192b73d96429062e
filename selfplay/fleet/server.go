package fleet

import (
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Reasons why connections and messages are turned away by the embedded queue.
const (
	RefusedUnknownKey = "unknown_key"
	RefusedRevokedKey = "revoked_key"
	RefusedSignature  = "bad_signature"
	RefusedSubject    = "foreign_subject" // a publication or subscription beyond the key's rights
	RefusedOversized  = "oversized"
	RefusedSlow       = "slow_reader"
)

// ServerConfig is what an embedded queue needs.
type ServerConfig struct {
	Address string // HOST:PORT; port 0 takes any free one
	Dir     string // where the queue lies
	Names   Names
	Keys    *Keys       // nil, or without keys: everyone may play
	TLS     *tls.Config // with keys
	Say     func(format string, a ...any)
}

// Server is the queue inside the trainer's process. JetStream gives up writing
// when its disk is full, and does not begin again by itself: then it is started
// anew as soon as there is room.
type Server struct {
	c      ServerConfig
	secret string // of the trainer's own connection
	stop   chan struct{}
	wg     sync.WaitGroup
	broken atomic.Bool // it could not write, and will not before it is started again

	mu      sync.Mutex
	nats    *server.Server
	address string

	refusals []string // not taken yet
	counted  int64    // slow readers; of watch
}

// How long clients may take.
const (
	writeDeadline = 5 * time.Second
	authTimeout   = 20 // seconds, to prove a key: a crowd that reconnects takes a while
	startDeadline = 30 * time.Second
	maxPending    = 16 << 20               // bytes that wait for a slow reader before it is cut off
	watchEvery    = 300 * time.Millisecond // between looks at lists that other processes change
	roomProbe     = 1 << 20                // bytes that a disk must take before a queue that could not write is tried again
)

// StartServer starts the queue.
func StartServer(c ServerConfig) (*Server, error) {
	secret := make([]byte, 32)
	rand.Read(secret)
	s := &Server{c: c, secret: hex.EncodeToString(secret), stop: make(chan struct{}), address: c.Address}
	if s.c.Say == nil {
		s.c.Say = func(string, ...any) {}
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	s.wg.Go(s.watch)
	return s, nil
}

func (s *Server) start() error {
	host, portText, err := net.SplitHostPort(s.address)
	if err != nil {
		return fmt.Errorf("--listen: %q is not HOST:PORT, for example 127.0.0.1:5475: %w", s.address, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return fmt.Errorf("--listen: %q is not a port", portText)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	// A port in use makes the queue's own listener end the process.
	if port > 0 {
		l, err := net.Listen("tcp", s.address)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		l.Close()
	}
	o := &server.Options{
		ServerName: "kirin", Host: host, Port: port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: s.c.Dir, SyncAlways: true, DisableJetStreamBanner: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 40, // the streams have limits of their own
		MaxPayload: MaxRecord, MaxPending: maxPending, WriteDeadline: writeDeadline, MaxConn: 1 << 17, MaxSubs: 1024,
		MaxControlLine: 4096, AuthTimeout: authTimeout, PingInterval: 30 * time.Second, MaxPingsOut: 3,
		CustomClientAuthentication: (*gate)(s), AlwaysEnableNonce: true,
	}
	if s.secured() {
		o.TLSConfig, o.TLSTimeout, o.TLS = s.c.TLS.Clone(), 10, true
	}
	ns, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("embedded queue: %w", err)
	}
	ns.SetLoggerV2(&ears{s: s}, false, false, false)
	go ns.Start()
	if !ns.ReadyForConnections(startDeadline) {
		ns.Shutdown()
		return fmt.Errorf("embedded queue: it did not start within %v", startDeadline)
	}
	if !ns.JetStreamEnabled() {
		ns.Shutdown()
		return fmt.Errorf("embedded queue: its store in %s cannot be used", s.c.Dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nats = ns
	s.address = ns.Addr().String()
	return nil
}

func (s *Server) secured() bool { return s.c.Keys != nil && s.c.TLS != nil }

// refused notes what was turned away, for takeRefusals.
func (s *Server) refused(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refusals) < 1<<16 { // a flood between two looks counts as this many
		s.refusals = append(s.refusals, reason)
	}
}

func (s *Server) takeRefusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.refusals
	s.refusals = nil
	return list
}

// Address is where the queue listens.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

func (s *Server) now() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats
}

// InProcessConn connects without the network, to whichever server runs now.
func (s *Server) InProcessConn() (net.Conn, error) { return s.now().InProcessConn() }

// options connect the trainer itself.
func (s *Server) options() []nats.Option {
	return []nats.Option{nats.InProcessServer(s), nats.UserInfo(trainerUser, s.secret)}
}

// Connections counts the open connections but the trainer's own two, intake
// and committer.
func (s *Server) Connections() int { return max(s.now().NumClients()-2, 0) }

// watch starts the queue again when it has given up, and shuts the connections
// of revoked keys.
func (s *Server) watch() {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
		ns := s.now()
		if !ns.JetStreamEnabled() || s.broken.Load() && s.hasRoom() {
			s.restart(ns)
			continue
		}
		if n := ns.NumSlowConsumers(); n > s.counted {
			for range n - s.counted {
				s.refused(RefusedSlow)
			}
			s.counted = n
		}
		if s.secured() {
			if _, err := s.c.Keys.Refresh(); err != nil {
				s.c.Say("keys stay as they were: %v", err)
			}
			s.expel(ns)
		}
	}
}

// hasRoom tries whether the disk takes something again.
func (s *Server) hasRoom() bool {
	name := filepath.Join(s.c.Dir, "room.tmp")
	err := os.WriteFile(name, make([]byte, roomProbe), 0o600)
	return errors.Join(err, os.Remove(name)) == nil
}

// restart replaces a queue whose disk was full.
func (s *Server) restart(old *server.Server) {
	s.c.Say("the queue has stopped, most likely because its disk is full; it is started again")
	old.Shutdown()
	old.WaitForShutdown()
	s.counted = 0
	s.broken.Store(false)
	for {
		err := s.start()
		if err == nil {
			s.c.Say("the queue works again")
			return
		}
		select {
		case <-s.stop:
			return
		case <-time.After(time.Second):
		}
	}
}

// expel shuts the connections of revoked keys.
func (s *Server) expel(ns *server.Server) {
	for _, k := range s.c.Keys.List() {
		if !k.Revoked || k.Nkey == "" {
			continue
		}
		list, err := ns.Connz(&server.ConnzOptions{Username: true, User: k.Nkey, State: server.ConnOpen, Limit: 1024})
		if err != nil {
			continue // the next round tries again
		}
		for _, c := range list.Conns {
			if ns.DisconnectClientByID(c.Cid) == nil {
				s.refused(RefusedRevokedKey)
			}
		}
	}
}

// Close stops the queue; what is in it stays.
func (s *Server) Close() error {
	close(s.stop)
	s.wg.Wait()
	ns := s.now()
	ns.Shutdown()
	ns.WaitForShutdown()
	return nil
}

const trainerUser = "trainer"

// gate decides who may connect.
type gate Server

// Check is called for every connection.
func (g *gate) Check(c server.ClientAuthentication) bool {
	s := (*Server)(g)
	o := c.GetOpts()
	if o.Username == trainerUser && subtle.ConstantTimeCompare([]byte(o.Password), []byte(s.secret)) == 1 {
		c.RegisterUser(&server.User{Username: trainerUser})
		return true
	}
	if !s.secured() {
		c.RegisterUser(&server.User{Username: "worker", Permissions: permissions(s.c.Names, "*")})
		return true
	}
	key, ok := s.c.Keys.byNkey(o.Nkey)
	switch {
	case !ok:
		s.refused(RefusedUnknownKey)
		return false
	case key.Revoked:
		s.refused(RefusedRevokedKey)
		return false
	}
	if err := checkSignature(o.Nkey, o.Sig, c.GetNonce()); err != nil {
		s.refused(RefusedSignature)
		return false
	}
	c.RegisterUser(&server.User{Username: key.Nkey, Permissions: permissions(s.c.Names, key.Name)})
	return true
}

func checkSignature(public, sig string, nonce []byte) error {
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		if raw, err = base64.StdEncoding.DecodeString(sig); err != nil {
			return err
		}
	}
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		return err
	}
	if len(nonce) == 0 {
		return errors.New("no nonce was given")
	}
	return key.Verify(nonce, raw)
}

// permissions of a worker: its own games and signs of life, and reading what
// all workers read.
func permissions(n Names, key string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{n.games(key), n.beat(key), n.direct(keyWelcome), n.direct(keyState)}},
		Subscribe: &server.SubjectPermission{Allow: []string{n.state(), inbox(key) + ".>"}},
	}
}

// inbox is where a worker's answers arrive: nobody else may read there.
func inbox(key string) string { return "_INBOX." + key }

// ears listen to what the queue would log and count what clients were refused.
type ears struct{ s *Server }

func (e *ears) Noticef(string, ...any) {}
func (e *ears) Warnf(string, ...any)   {}
func (e *ears) Debugf(string, ...any)  {}
func (e *ears) Tracef(string, ...any)  {}

// Fatalf is called when the listener fails: the watch finds a queue that does
// not run.
func (e *ears) Fatalf(format string, v ...any) {
	e.s.c.Say("embedded queue: %s", fmt.Sprintf(format, v...))
}

// Errorf is called for faults of clients too.
func (e *ears) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	switch {
	case strings.Contains(text, "Publish Violation"), strings.Contains(text, "Subscription Violation"):
		e.s.refused(RefusedSubject)
	case strings.Contains(text, server.ErrMaxPayload.Error()):
		e.s.refused(RefusedOversized)
	case strings.Contains(text, "failed to store a msg"), strings.Contains(text, syscall.ENOSPC.Error()):
		e.s.broken.Store(true)
	}
}
