// Draws a position as SVG: board, pieces, hands and the last move.
import { parseSFEN, sign, squaresOf, starPoints } from "./sfen.js";
import { el, svg } from "./util.js";

const cell = 40;

// hasKanji reports whether this browser has the signs of the pieces: signs
// that are missing are all drawn as the same box.
export function hasKanji() {
  const draw = (text) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 32;
    const c = canvas.getContext("2d", { willReadFrequently: true });
    c.font = '24px "Noto Serif CJK JP", "Hiragino Mincho ProN", "Yu Mincho", serif';
    c.fillText(text, 2, 26);
    return c.getImageData(0, 0, 32, 32).data.join();
  };
  return draw("獅") !== draw("鴈");
}

// drawBoard gives the board of a position. options: lastMove (USI), letters,
// flipped (seen by gote).
export function drawBoard(variant, sfen, options = {}) {
  const position = parseSFEN(sfen, variant);
  const { rows, width } = position, heightSquares = rows.length;
  const w = width * cell, h = heightSquares * cell;
  const small = Math.max(8, 0.026 * w), margin = small + 6; // coordinates look alike on all boards
  const place = ([x, y]) => (options.flipped ? [width - 1 - x, heightSquares - 1 - y] : [x, y]);
  const root = svg("svg", { class: "board", viewBox: `0 0 ${w + margin + 2} ${h + margin + 4}`, role: "img", "aria-label": "Position " + sfen });
  const g = svg("g", { transform: `translate(2 ${margin})` });
  root.append(g);
  g.append(svg("rect", { class: "wood", x: -1, y: -1, width: w + 2, height: h + 2, rx: 2 }));
  const squares = squaresOf(options.lastMove, width);
  squares.forEach((s, i) => {
    const [x, y] = place(s);
    g.append(svg("rect", { class: i === squares.length - 1 ? "reached" : "left", x: x * cell, y: y * cell, width: cell, height: cell }));
  });
  let lines = "";
  for (let i = 0; i <= width; i++) lines += `M${i * cell} 0V${h}`;
  for (let i = 0; i <= heightSquares; i++) lines += `M0 ${i * cell}H${w}`;
  g.append(svg("path", { class: "lines", d: lines }), svg("rect", { class: "frame", x: 0, y: 0, width: w, height: h }));
  for (const [x, y] of starPoints(variant)) g.append(svg("circle", { class: "star", cx: x * cell, cy: y * cell, r: 2.6 }));
  for (let i = 0; i < width; i++) {
    const [x] = place([i, 0]);
    root.append(svg("text", { class: "coordinate", "font-size": small, x: 2 + (x + 0.5) * cell, y: small, "text-anchor": "middle" }, String(width - i)));
  }
  for (let i = 0; i < heightSquares; i++) {
    const [, y] = place([0, i]);
    root.append(svg("text", { class: "coordinate", "font-size": small, x: w + margin / 2 + 2, y: margin + (y + 0.5) * cell + small / 3, "text-anchor": "middle" }, String.fromCharCode(97 + i)));
  }
  rows.forEach((row, y) => row.forEach((piece, x) => {
    if (!piece) return;
    const [px, py] = place([x, y]);
    g.append(drawPiece(variant, piece, (px + 0.5) * cell, (py + 0.5) * cell, options));
  }));
  return { node: root, position };
}

// drawPiece draws one piece around a centre: its point leads the way its owner plays.
export function drawPiece(variant, piece, x, y, options = {}) {
  const down = Boolean(piece.gote) !== Boolean(options.flipped);
  const text = sign(variant, piece, options.letters);
  const big = royal.has(piece.letter) ? 1.06 : /^\+?[PSI]$/.test(piece.letter) && variant !== "torishogi" ? 0.94 : 1;
  return svg("g", { transform: `translate(${x} ${y})` + (down ? " rotate(180)" : "") + ` scale(${big})`, class: "piece" + (piece.letter[0] === "+" ? " promoted" : "") },
    svg("path", { d: "M0-17 11-12.6 14.6 16.4H-14.6L-11-12.6Z" }),
    svg("text", { class: options.letters ? "latin" : "kanji", x: 0, y: options.letters ? 7 : 9.5, "text-anchor": "middle" }, text));
}

const royal = new Set(["K", "+E"]);

// drawHand gives a side's pieces in hand as a row.
export function drawHand(variant, position, gote, options = {}) {
  const pieces = position.hands[gote ? 1 : 0];
  const turn = position.gote === gote;
  return el("div", { class: "hand" + (turn ? " turn" : "") },
    el("span", { class: "owner" }, svg("svg", { class: "sidemark" + (gote ? " gote" : ""), viewBox: "-18 -20 36 40", width: 14, height: 16, "aria-hidden": "true" }, svg("path", { d: "M0-17 11-12.6 14.6 16.4H-14.6L-11-12.6Z" })), gote ? "gote" : "sente"),
    pieces.map(([letter, count]) => el("span", { class: "held" },
      svg("svg", { viewBox: "-18 -19 36 38", width: 27, height: 28 }, drawPiece(variant, { letter, gote }, 0, 0, options)),
      count > 1 ? el("b", {}, String(count)) : "")));
}
