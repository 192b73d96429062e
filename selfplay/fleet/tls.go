package fleet

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"kirin/dataset/whole"
)

// Certificates hold for long and begin long before they were made, since the
// clocks of workers may be wrong; who may join is decided by keys.
const (
	validBefore = 90 * 24 * time.Hour
	validAfter  = 20 * 365 * 24 * time.Hour
)

// serverName is the name in the trainer's certificate, whatever the address
// under which it is reached: the certificate's authority serves this run alone.
const serverName = "kirin-fleet"

// Authority is the certificate authority of one run: authority.pem holds its
// certificate, authority.key its key.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// OpenAuthority reads the authority in a run's fleet folder, and makes one
// when there is none.
func OpenAuthority(dir string, now time.Time) (*Authority, error) {
	certFile, keyFile := filepath.Join(dir, "authority.pem"), filepath.Join(dir, "authority.key")
	certText, err := os.ReadFile(certFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeAuthority(dir, certFile, keyFile, now); err != nil {
			return nil, err
		}
		certText, err = os.ReadFile(certFile)
	}
	if err != nil {
		return nil, err
	}
	keyText, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: not a key that kirin made", keyFile)
	}
	return &Authority{cert: pair.Leaf, key: key, pem: certText}, nil
}

func makeAuthority(dir, certFile, keyFile string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := template("kirin fleet", now)
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return err
	}
	keyText, err := pemKey(key)
	if err != nil {
		return err
	}
	// The key is written first and private from the start.
	f, err := os.OpenFile(keyFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(keyText)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return whole.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func template(name string, now time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	rand.Read(serial)
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-validBefore), NotAfter: now.Add(validAfter),
	}
}

func pemKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return bytes.Clone(a.pem) }

// Server makes the trainer's TLS side for one start. hosts are further names
// or addresses in the certificate, for other programs than kirin.
func (a *Authority) Server(now time.Time, hosts ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("kirin trainer", now)
	t.DNSNames = []string{serverName, "localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if h != "" {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
	}, nil
}

// clientTLS is a worker's TLS side: it trusts the invitation's authority alone.
func (inv *Invitation) clientTLS() (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(inv.CA)) {
		return nil, fmt.Errorf("the invitation of %s holds no certificate", inv.Name)
	}
	return &tls.Config{RootCAs: pool, ServerName: serverName, MinVersion: tls.VersionTLS13}, nil
}
