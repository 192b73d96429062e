package rules

import "fmt"

// Side is one of the two players.
type Side uint8

// The sides. Sente (Black) plays up the board and is uppercase in SFEN.
const (
	Sente Side = 0
	Gote  Side = 1
)

// Other returns the opponent.
func (s Side) Other() Side { return s ^ 1 }

// String returns "sente" or "gote".
func (s Side) String() string {
	if s == Sente {
		return "sente"
	}
	return "gote"
}

// Square is row*Width + column of a variant's board.
type Square uint8

// NoSquare is no square at all.
const NoSquare Square = 255

// Kind is a kind of piece: an index into the kinds of its variant, from 1. A promoted form is a kind of its own.
type Kind uint8

// NoKind is the kind of an empty square.
const NoKind Kind = 0

// Piece is a kind with its owner; 0 is an empty square.
type Piece uint8

// NoPiece is an empty square.
const NoPiece Piece = 0

// MakePiece returns side s's piece of kind k.
func MakePiece(k Kind, s Side) Piece { return Piece(k)<<1 | Piece(s) }

// Kind returns the piece's kind, NoKind for an empty square.
func (p Piece) Kind() Kind { return Kind(p >> 1) }

// Side returns the owner; it has no meaning for an empty square.
func (p Piece) Side() Side { return Side(p & 1) }

// Move is one action: from (8 bits), to (8), via (8), promotion (1), kind dropped (7).
//
// A drop has From NoSquare. A double move has Via, the square of its first capture; To may be From then (igui: capture
// without moving). A pass has From == To and no Via.
type Move uint32

// NoMove is not a move.
const NoMove Move = 0

const (
	moveNoVia   = Move(NoSquare) << 16
	movePromote = Move(1) << 24
)

// NewMove returns the move of the piece on from to the square to.
func NewMove(from, to Square, promote bool) Move {
	m := Move(from) | Move(to)<<8 | moveNoVia
	if promote {
		m |= movePromote
	}
	return m
}

// NewDouble returns the move that captures on via and goes on to the square to.
func NewDouble(from, via, to Square) Move {
	return Move(from) | Move(to)<<8 | Move(via)<<16
}

// NewPass returns the pass of the piece on from.
func NewPass(from Square) Move { return NewMove(from, from, false) }

// NewDrop returns the drop of a piece of kind k on to.
func NewDrop(k Kind, to Square) Move {
	return Move(NoSquare) | Move(to)<<8 | moveNoVia | Move(k)<<25
}

// From returns the square that the piece leaves, NoSquare for a drop.
func (m Move) From() Square { return Square(m) }

// To returns the square on which the piece ends.
func (m Move) To() Square { return Square(m >> 8) }

// Via returns the square of the first capture of a double move, else NoSquare.
func (m Move) Via() Square { return Square(m >> 16) }

// Promotes tells whether the piece promotes.
func (m Move) Promotes() bool { return m&movePromote != 0 }

// IsDrop tells whether the move is a drop.
func (m Move) IsDrop() bool { return m>>25 != 0 }

// DropKind returns the kind dropped, NoKind if the move is no drop.
func (m Move) DropKind() Kind { return Kind(m >> 25) }

// IsDouble tells whether the move captures on the way (Via is a square).
func (m Move) IsDouble() bool { return m != NoMove && m.Via() != NoSquare }

// IsPass tells whether the move leaves the board as it is.
func (m Move) IsPass() bool { return m != NoMove && m.From() == m.To() && m.Via() == NoSquare }

// Result is the result of a game.
type Result uint8

// The results.
const (
	Ongoing Result = iota
	SenteWins
	GoteWins
	Draw
)

var resultNames = [...]string{"ongoing", "sente", "gote", "draw"}

// String returns "ongoing", "sente", "gote" or "draw".
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("result %d", uint8(r))
}

// ParseResult is the inverse of Result.String.
func ParseResult(s string) (Result, error) {
	for i, n := range resultNames {
		if n == s {
			return Result(i), nil
		}
	}
	return Ongoing, fmt.Errorf("unknown result %q (ongoing, sente, gote, draw)", s)
}

// Winner returns the result in which s has won.
func Winner(s Side) Result { return SenteWins + Result(s) }

// Reason tells why a game ended.
type Reason uint8

// The reasons. Those up to BareKing come from Position.Outcome, the others from whoever runs the game.
const (
	None Reason = iota
	Checkmate
	NoMoves
	Repetition
	PerpetualCheck
	PlyLimit
	Declaration
	RoyalCaptured
	BareKing
	Resignation
	MateProven
	Adjudicated
	Time
	IllegalMove
)

var reasonNames = [...]string{
	"none", "checkmate", "no_moves", "repetition", "perpetual_check", "ply_limit", "declaration", "royal_captured",
	"bare_king", "resignation", "mate_proven", "adjudicated", "time", "illegal_move",
}

// String returns the reason's name in snake case, such as "perpetual_check".
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// ParseReason is the inverse of Reason.String.
func ParseReason(s string) (Reason, error) {
	for i, n := range reasonNames {
		if n == s {
			return Reason(i), nil
		}
	}
	return None, fmt.Errorf("unknown reason %q", s)
}

// Outcome is a result with its reason; the zero Outcome is a game that goes on.
type Outcome struct {
	Result Result
	Reason Reason
}

// String returns for example "sente by checkmate", or "ongoing".
func (o Outcome) String() string {
	if o.Result == Ongoing {
		return o.Result.String()
	}
	return o.Result.String() + " by " + o.Reason.String()
}

// Value is what a position is worth: the probabilities of the three results for one side, usually the side to move.
type Value struct{ Win, Draw, Loss float32 }

// Flip returns the value for the other side.
func (v Value) Flip() Value { return Value{v.Loss, v.Draw, v.Win} }

// Score returns Win + Draw/2, between 0 and 1.
func (v Value) Score() float32 { return v.Win + v.Draw/2 }

// Value returns the outcome as side sees it: a certain win, draw or loss. An ongoing game is the zero Value.
func (o Outcome) Value(side Side) Value {
	switch o.Result {
	case Ongoing:
		return Value{}
	case Draw:
		return Value{Draw: 1}
	case Winner(side):
		return Value{Win: 1}
	}
	return Value{Loss: 1}
}
