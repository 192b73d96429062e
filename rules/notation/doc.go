// Package notation writes and reads what people and other programs use beside SFEN and USI: Western (Hodges) and Japanese
// move texts, KIF and CSA files, USI game lines, and pictures of boards as text and SVG.
//
// Everything works from a [rules.Position] and from tables of piece names (names.go), for all four games. A move text is
// always read in a position: it names a legal move of it or is an error that wraps [rules.ErrMoveText] (it is no move at
// all) or [rules.ErrIllegalMove].
//
//	notation.Western(p, m)           P-7f  Bx3c+  G6i-5h  Sw*5e  Lnx7fx7e  Lnx!7f  --
//	notation.Japanese(p, m)          ▲７六歩  △同銀不成  ▲５八金右  ▲７六・７五獅  ▲７六居喰い  ▲じっと
//	notation.ParseWestern(p, s), notation.ParseJapanese(p, s)
//
// A [Game] is a whole game apart from any file format. [Read] tells the formats apart:
//
//	KIF   ReadKIF, Game.WriteKIF   all games; UTF-8 (with or without byte order mark) and Shift-JIS
//	CSA   ReadCSA, Game.WriteCSA   shogi; version 2.2
//	USI   ReadUSI, Game.USI        all games; "position sfen ... moves ..."
//	move list   ReadMoveList, Game.MoveList   all games; "1. P-7f P-3d 2. ..."
//
// Errors in files are a [*FileError] with the line. Variations are skipped, times are ignored.
//
// The KIF of the games other than shogi is the dialect of lishogi (chu shogi: full names, "7六歩兵 （←7七）", double moves as
// two lines 一歩目 and 二歩目). Nobody is known to keep tori shogi in KIF: it is written like shogi with the header 禽将棋 and
// the quails as 左鶉 and 右鶉. A first line "#kirin ..." keeps what KIF has no words for; other programs take it for a
// remark.
//
// [Text] and [SVG] draw a position. SVG needs no file but the system's fonts and looks the same on light and dark pages.
package notation
