// Reads SFEN and USI, and knows the signs of the pieces of the four games.

const common = { K: "玉", R: "飛", B: "角", G: "金", S: "銀", N: "桂", L: "香", P: "歩", "+R": "龍", "+B": "馬", "+S": "全", "+N": "圭", "+L": "杏", "+P": "と" };
const signs = {
  shogi: common,
  minishogi: common,
  torishogi: { K: "鵬", F: "鷹", C: "鶴", P: "雉", L: "鶉", R: "鶉", S: "燕", "+F": "鵰", "+S": "鴈" },
  chushogi: {
    K: "玉", Q: "奔", N: "獅", E: "象", O: "麒", X: "鳳", D: "龍", H: "馬", R: "飛", B: "角", V: "竪", M: "横", T: "虎", F: "豹", G: "金", S: "銀", C: "銅", A: "反", L: "香", I: "仲", P: "歩",
    "+E": "太", "+O": "獅", "+X": "奔", "+D": "鷲", "+H": "鷹", "+R": "龍", "+B": "馬", "+V": "牛", "+M": "猪", "+T": "鹿", "+F": "角", "+G": "飛", "+S": "竪", "+C": "横", "+A": "鯨", "+L": "駒", "+I": "象", "+P": "と",
  },
};
const handOrder = { torishogi: "FCPLRS" };
const stars = { shogi: [[3, 3], [6, 3], [3, 6], [6, 6]], chushogi: [[4, 4], [8, 4], [4, 8], [8, 8]] };

// starPoints are the corners, in squares from the upper left, that bear a dot.
export const starPoints = (variant) => stars[variant] || [];

// sign is what stands on a piece: kanji, or its letter. Gote's king is 王.
export function sign(variant, piece, letters) {
  if (letters) return piece.letter;
  const text = signs[variant]?.[piece.letter] || piece.letter;
  return text === "玉" && piece.gote ? "王" : text;
}

// parseSFEN gives { rows: [[piece or null]], gote (to move), hands: [sente, gote] };
// a piece is { letter: "+P", gote }, a hand a list of [letter, number].
export function parseSFEN(sfen, variant) {
  const [board = "", side = "b", third = "-"] = sfen.trim().split(/\s+/);
  const rows = board.split("/").map((text) => {
    const row = [];
    for (const [, empty, letter] of text.matchAll(/(\d+)|(\+?[A-Za-z])/g)) {
      if (empty) for (let i = 0; i < Number(empty) && row.length < 36; i++) row.push(null);
      else row.push({ letter: letter.toUpperCase(), gote: letter !== letter.toUpperCase() });
    }
    return row;
  });
  const hands = [[], []];
  // Chu shogi has no hands: its third field names the square of a lion that may not be taken back.
  if (variant !== "chushogi" && third !== "-") {
    for (const [, count, letter] of third.matchAll(/(\d*)([A-Za-z])/g)) {
      hands[letter === letter.toUpperCase() ? 0 : 1].push([letter.toUpperCase(), Number(count || 1)]);
    }
    const order = handOrder[variant] || "RBGSNLP";
    hands.forEach((h) => h.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0])));
  }
  return { rows, width: Math.max(...rows.map((r) => r.length)), gote: side === "w", hands };
}

// squaresOf gives the squares of a USI move as [x, y] from the upper left: the
// squares it leaves, passes and reaches; a drop has only the last.
export function squaresOf(usi, width) {
  return [...(usi || "").replace(/^\+?[A-Za-z]\*/, "").matchAll(/(\d+)([a-l])/g)].map(([, file, rank]) => [width - Number(file), rank.charCodeAt(0) - 97]);
}

// moveText writes a USI move with the sign of its piece, read from the
// position before it: 歩 5d5c.
export function moveText(usi, sfen, variant, letters) {
  const drop = usi.match(/^([A-Za-z])\*(.*)$/);
  if (drop) return sign(variant, { letter: drop[1].toUpperCase() }, letters) + "*" + drop[2];
  const { rows, width } = parseSFEN(sfen, variant);
  const from = squaresOf(usi, width)[0];
  const piece = from && rows[from[1]]?.[from[0]];
  return (piece ? sign(variant, piece, letters) + " " : "") + usi;
}
