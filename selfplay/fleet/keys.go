package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kirin/dataset/whole"

	"github.com/nats-io/nkeys"
)

// Key is one invited worker or guest.
type Key struct {
	Name    string    `json:"name"`
	Guest   bool      `json:"guest,omitempty"` // may use the HTTP side only
	Nkey    string    `json:"nkey,omitempty"`  // public
	Token   string    `json:"token"`           // sha256 of the token for HTTP, hex
	Created time.Time `json:"created"`
	Revoked bool      `json:"revoked,omitempty"`
}

// Invitation is what an invited worker gets as a file: it is secret.
type Invitation struct {
	Name  string `json:"name"`
	Queue string `json:"queue"`
	URL   string `json:"url"`            // of the queue; empty for a guest
	Web   string `json:"web"`            // of the HTTP side
	CA    string `json:"ca"`             // certificate that signs the trainer's, PEM
	Seed  string `json:"seed,omitempty"` // of the nkey
	Token string `json:"token"`
}

// ReadInvitation reads the file that "kirin fleet invite" wrote.
func ReadInvitation(file string) (*Invitation, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	inv := &Invitation{}
	if err := json.Unmarshal(b, inv); err != nil || CheckName(inv.Name) != nil || CheckQueue(inv.Queue) != nil || inv.Token == "" || inv.Web == "" {
		return nil, fmt.Errorf("%s is not an invitation that kirin fleet invite wrote", file)
	}
	return inv, nil
}

// Keys is the list of a run's keys, a file that is read again whenever it has
// changed. A Keys may be used from several goroutines, and the file by several
// processes that do not write at the same time.
type Keys struct {
	file string

	mu   sync.Mutex
	read string // what was read last
	list []Key
}

// OpenKeys reads the keys of the run whose fleet folder is dir; there need not
// be any.
func OpenKeys(dir string) (*Keys, error) {
	k := &Keys{file: filepath.Join(dir, "keys.json")}
	_, err := k.Refresh()
	return k, err
}

// Refresh reads the file again if it has changed, and tells whether it had.
func (k *Keys) Refresh() (changed bool, err error) {
	b, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if string(b) == k.read {
		return false, nil
	}
	var list []Key
	if len(b) > 0 {
		if err := json.Unmarshal(b, &list); err != nil {
			return false, fmt.Errorf("%s: damaged: %w", k.file, err)
		}
	}
	k.read, k.list = string(b), list
	return true, nil
}

// List returns all keys, the oldest first.
func (k *Keys) List() []Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

// Any tells whether there are keys at all: without any everyone may play.
func (k *Keys) Any() bool { return len(k.List()) > 0 }

func (k *Keys) find(match func(Key) bool) (Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.list, match)
	if i < 0 {
		return Key{}, false
	}
	return k.list[i], true
}

// byNkey finds the key with a public nkey.
func (k *Keys) byNkey(public string) (Key, bool) {
	return k.find(func(x Key) bool { return x.Nkey != "" && x.Nkey == public })
}

// byToken finds the key with a token.
func (k *Keys) byToken(token string) (Key, bool) {
	sum := tokenSum(token)
	return k.find(func(x Key) bool { return subtle.ConstantTimeCompare([]byte(x.Token), []byte(sum)) == 1 })
}

// byName finds the newest key of a name.
func (k *Keys) byName(name string) (Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, x := range slices.Backward(k.list) {
		if x.Name == name {
			return x, true
		}
	}
	return Key{}, false
}

func tokenSum(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Invite makes a key and stores its public part. The caller completes the
// invitation by the URLs and the certificate.
func (k *Keys) Invite(name string, guest bool, now time.Time) (*Invitation, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if _, err := k.Refresh(); err != nil {
		return nil, err
	}
	if old, ok := k.byName(name); ok && !old.Revoked {
		return nil, fmt.Errorf("%s is invited already: revoke it first, or choose another name", name)
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	inv := &Invitation{Name: name, Token: base64.RawURLEncoding.EncodeToString(secret)}
	key := Key{Name: name, Guest: guest, Token: tokenSum(inv.Token), Created: now.UTC().Truncate(time.Second)}
	if !guest {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		seed, err := pair.Seed()
		if err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		if key.Nkey, err = pair.PublicKey(); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		inv.Seed = string(seed)
	}
	return inv, k.write(append(k.List(), key))
}

// Revoke ends a key. A trainer that runs shuts its connections within a second.
func (k *Keys) Revoke(name string) error {
	if _, err := k.Refresh(); err != nil {
		return err
	}
	list := k.List()
	for i, x := range slices.Backward(list) {
		if x.Name == name && !x.Revoked {
			list[i].Revoked = true
			return k.write(list)
		}
	}
	return fmt.Errorf("there is no key of %s that could be revoked (kirin fleet list shows all)", name)
}

func (k *Keys) write(list []Key) error {
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o755); err != nil {
		return err
	}
	if err := whole.WriteFile(k.file, append(b, '\n')); err != nil {
		return err
	}
	_, err = k.Refresh()
	return err
}
