package metrics

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// wsaAddrInUse and wsaAccess are the numbers of Windows for a port in use and
// a port that is not permitted; no other system uses them.
const (
	wsaAddrInUse = syscall.Errno(10048)
	wsaAccess    = syscall.Errno(10013)
)

// listen opens a port. Its errors name the setting to change.
func listen(addr, key string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("%s: %q is not HOST:PORT, for example 127.0.0.1:5474: %w", key, addr, err)
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddrInUse):
		return nil, fmt.Errorf("%s: %s is taken by another program, perhaps another run; set %s to a free address, or to 127.0.0.1:0 for any free port: %w", key, addr, key, err)
	case errors.Is(err, syscall.EACCES) || errors.Is(err, wsaAccess):
		return nil, fmt.Errorf("%s: the system does not let this user listen on %s; set %s to a port above 1023: %w", key, addr, key, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: %s is not an address of this machine; set %s to 127.0.0.1:5474 for this machine alone or to 0.0.0.0:5474 for the network: %w", key, addr, key, err)
	}
	return nil, fmt.Errorf("%s: listening on %s: %w", key, addr, err)
}

// limitListener lets at most cap(slots) connections be open: a further one is
// closed at once, so that a crowd or a scan takes no memory from the run.
type limitListener struct {
	net.Listener
	slots chan struct{}
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &limitConn{Conn: c, slots: l.slots}, nil
		default:
			c.Close()
		}
	}
}

// limitConn gives its slot back when it is closed.
type limitConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *limitConn) Close() error {
	c.once.Do(func() { <-c.slots })
	return c.Conn.Close()
}
