// The board: the game being played now, or a finished one to step through.
import { drawBoard, drawHand, hasKanji } from "./board.js";
import { moveText } from "./sfen.js";
import { el, percent, remember, remembered, replace, svg, words } from "./util.js";

export class Viewer {
  constructor(node, onlive) {
    this.onlive = onlive;
    this.letters = remembered("letters", hasKanji() ? "no" : "yes") === "yes";
    this.flipped = false;
    this.live = null; // the board of the live game
    this.game = null; // the game stepped through
    this.ply = 0;
    this.title = el("h2", {}, "Board");
    this.about = el("p", { class: "about" });
    this.back = el("button", { type: "button", class: "pill", hidden: true, onclick: () => this.showLive() }, "Back to live");
    this.stage = el("div", { class: "stage" });
    this.slider = el("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Move", oninput: () => this.go(Number(this.slider.value)) });
    this.count = el("output", { class: "count" });
    this.play = this.button("Play", "M7 4v16l13-8z", () => this.toggle());
    this.controls = el("div", { class: "controls", hidden: true },
      this.button("First position (Home)", "M6 5v14M19 5v14l-10-7z", () => this.go(0)),
      this.button("Back one move (left arrow)", "M17 5v14L7 12z", () => this.go(this.ply - 1)),
      this.play,
      this.button("Forward one move (right arrow)", "M7 5v14l10-7z", () => this.go(this.ply + 1)),
      this.button("Last position (End)", "M18 5v14M5 5v14l10-7z", () => this.go(Infinity)),
      this.slider, this.count);
    this.graph = el("div", { class: "graph", hidden: true });
    this.moves = el("ol", { class: "moves", hidden: true, tabindex: 0, "aria-label": "Moves" });
    replace(node, el("header", {}, this.title, this.back,
      el("button", { type: "button", class: "quiet", title: "Turn the board", "aria-label": "Turn the board", onclick: () => { this.flipped = !this.flipped; this.draw(); } }, icon("M7 4v14m0 0-3-3m3 3 3-3M17 20V6m0 0-3 3m3-3 3 3")),
      this.style = el("button", { type: "button", class: "quiet", title: "Kanji or letters", "aria-label": "Kanji or letters", onclick: () => this.switchSigns() }, "")),
      this.about, this.stage, this.controls, this.graph, this.moves);
    this.style.textContent = this.letters ? "字" : "A";
    this.graph.addEventListener("pointerdown", (e) => this.pick(e));
    this.graph.addEventListener("pointermove", (e) => e.buttons && this.pick(e));
    new ResizeObserver(() => this.drawGraph()).observe(this.graph);
    document.addEventListener("keydown", (e) => this.key(e));
    this.draw();
  }

  button(label, path, onclick) {
    return el("button", { type: "button", title: label, "aria-label": label, onclick }, icon(path));
  }

  switchSigns() {
    this.letters = !this.letters;
    remember("letters", this.letters ? "yes" : "no");
    this.style.textContent = this.letters ? "字" : "A";
    this.draw();
    if (this.game) this.listMoves();
  }

  // setLive takes the newest position of the live game.
  setLive(board) {
    this.live = board;
    if (!this.game) this.draw();
  }

  showLive() {
    this.stop();
    this.game = null;
    this.draw();
    this.onlive();
  }

  // showGame opens a finished game at its last position, or at its start.
  showGame(game, atEnd) {
    this.stop();
    this.game = game;
    this.ply = atEnd ? game.sfens.length - 1 : 0;
    this.slider.max = game.sfens.length - 1;
    this.listMoves();
    this.draw();
  }

  go(ply) {
    if (!this.game) return;
    this.ply = Math.max(0, Math.min(this.game.sfens.length - 1, ply));
    this.draw();
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.ply === this.game.sfens.length - 1) this.go(0);
    this.timer = setInterval(() => {
      this.go(this.ply + 1);
      if (this.ply === this.game.sfens.length - 1) this.stop();
    }, 700);
    replace(this.play, icon("M8 5v14M16 5v14"));
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    replace(this.play, icon("M7 4v16l13-8z"));
  }

  key(e) {
    if (!this.game || e.altKey || e.ctrlKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const to = { ArrowLeft: this.ply - 1, ArrowRight: this.ply + 1, Home: 0, End: Infinity }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    this.go(to);
  }

  draw() {
    const { game, live } = this;
    for (const n of [this.controls, this.graph, this.moves]) n.hidden = !game;
    this.back.hidden = !game || !live;
    if (!game && !live) {
      this.title.textContent = "Board";
      this.about.textContent = "";
      replace(this.stage, el("p", { class: "empty" }, "No game is being shown: pick one from the list, or wait for a live one"));
      return;
    }
    let variant, sfen, lastMove, value;
    if (game) {
      ({ variant } = game);
      sfen = game.sfens[this.ply];
      lastMove = this.ply ? game.moves[this.ply - 1] : "";
      value = game.values?.[this.ply];
      this.title.textContent = "Game " + game.id.slice(0, 8);
      this.about.textContent = [game.net, outcome(game)].filter(Boolean).join(" · ");
      this.slider.value = this.ply;
      this.count.textContent = `${this.ply} / ${game.sfens.length - 1}`;
    } else {
      ({ variant, sfen, value } = live);
      lastMove = live.last_move;
      this.title.textContent = "Being played now";
      this.about.textContent = [live.net, "move " + live.ply].filter(Boolean).join(" · ");
    }
    const options = { lastMove, letters: this.letters, flipped: this.flipped };
    const { node, position } = drawBoard(variant, sfen, options);
    const hands = [true, false].map((gote) => drawHand(variant, position, gote, options));
    if (this.flipped) hands.reverse();
    replace(this.stage, hands[0], el("div", { class: "field" }, valueBar(value, this.flipped), node), hands[1]);
    if (game) {
      this.drawGraph();
      [...this.moves.children].forEach((li, i) => li.classList.toggle("current", i + 1 === this.ply));
      const current = this.moves.children[this.ply - 1];
      this.moves.scrollTop = current ? current.offsetTop - this.moves.clientHeight / 2 : 0;
    }
  }

  listMoves() {
    const { game } = this;
    replace(this.moves, game.moves.map((m, i) => el("li", { onclick: () => this.go(i + 1) }, moveText(m, game.sfens[i], game.variant, this.letters))));
  }

  // drawGraph draws sente's expected score over the game.
  drawGraph() {
    const values = this.game?.values;
    const width = this.graph.clientWidth, height = 64;
    if (!width || !values?.some((v) => v >= 0)) return replace(this.graph);
    const n = this.game.sfens.length - 1 || 1;
    const x = (i) => (i / n) * width, y = (v) => height - v * height;
    let d = "";
    values.forEach((v, i) => { if (v >= 0) d += (d ? "L" : "M") + x(i).toFixed(1) + " " + y(v).toFixed(1); });
    const known = values.flatMap((v, i) => (v >= 0 ? [i] : []));
    replace(this.graph, svg("svg", { width, height, role: "img", "aria-label": "Expected score of sente over the game" },
      svg("path", { class: "under", d: `${d}L${x(known[known.length - 1])} ${height}L${x(known[0])} ${height}Z` }),
      svg("line", { class: "gridline", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
      svg("path", { class: "line c0", d }),
      svg("line", { class: "cursorline", x1: x(this.ply), x2: x(this.ply), y1: 0, y2: height }),
      values[this.ply] >= 0 ? svg("circle", { class: "mark c0", cx: x(this.ply), cy: y(values[this.ply]), r: 3 }) : null));
  }

  pick(e) {
    const box = this.graph.getBoundingClientRect();
    this.go(Math.round(((e.clientX - box.left) / box.width) * (this.game.sfens.length - 1)));
  }
}

// outcome is how a game ended, in words.
export function outcome(game) {
  const who = { sente: "sente wins", gote: "gote wins", draw: "draw" }[game.result] || "unfinished";
  return who + (game.reason && game.reason !== "none" ? ", " + words(game.reason) : "");
}

// valueBar shows sente's expected score; sente's share stands on its side.
function valueBar(value, flipped) {
  const known = value !== undefined && value !== null && value >= 0;
  const bar = el("div", { class: "value" + (flipped ? " flipped" : ""), role: "img", "aria-label": known ? "Sente's expected score " + percent(value) : "Value not known", title: known ? "Sente's expected score: " + percent(value) : "Value not known" }, el("i", {}), known ? el("b", {}, String(Math.round(100 * value))) : "");
  bar.firstChild.style.height = (known ? 100 * value : 50) + "%";
  return bar;
}

export function icon(path) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" }, svg("path", { d: path }));
}
