package dataset

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart with errors.Is; each is wrapped with the file and the place.
var (
	// ErrDamaged: bytes are not what was written, or were never a valid game.
	ErrDamaged = errors.New("damaged data")
	// ErrResult: a game's result is not the one that its moves give. It comes with ErrDamaged.
	ErrResult = errors.New("wrong result")
	// ErrNewer: the data need a newer version of the program; they are left as they are.
	ErrNewer = errors.New("written by a newer version of the program")
	// ErrWrongGame: a game of another variant or other rules than the window's.
	ErrWrongGame = errors.New("game of another variant or other rules")
	// ErrLocked: another process writes under the same worker name.
	ErrLocked = errors.New("worker name in use by another process")
	// ErrMissing: games that a cursor names are no longer in the store.
	ErrMissing = errors.New("games missing from the store")
	// ErrNotFound: no game has this id.
	ErrNotFound = errors.New("no such game")
)

// Damage is one fault found in stored games.
type Damage struct {
	Path   string `json:"path"`            // relative to the store's folder
	Offset int64  `json:"offset"`          // where in the file it starts; 0 if the file as a whole is meant
	Bytes  int64  `json:"bytes,omitempty"` // how many bytes are affected, 0 if unknown
	Reason string `json:"reason"`          // one sentence
	Saved  string `json:"saved,omitempty"` // where the bytes were put aside, relative to the store's folder
}

// String returns for example "minishogi/journals/w0-000003.journal at byte 1204: the checksum is wrong".
func (d Damage) String() string {
	s := d.Path
	if d.Offset > 0 {
		s = fmt.Sprintf("%s at byte %d", s, d.Offset)
	}
	s += ": " + d.Reason
	if d.Saved != "" {
		s += " (put aside in " + d.Saved + ")"
	}
	return s
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// wrongResult is damaged for a result that the board does not show.
func wrongResult(format string, args ...any) error {
	return resultError{damaged(format, args...)}
}

type resultError struct{ error }

func (e resultError) Unwrap() []error { return []error{e.error, ErrResult} }
