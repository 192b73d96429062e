// One chart: a card with title, plot, legend and a line that says what it
// should look like. Lines, shares stacked on each other, and ratings with
// their intervals are drawn as SVG.
import { axes, logTicks, scale, ticks, tickText, timeTicks } from "./axis.js";
import { amount, el, replace, svg } from "./util.js";
import { last } from "./series.js";

const height = 190, top = 8, bottom = 24, right = 12;

// charts lists every chart made, for the cursor that they share.
const charts = [];

export class Chart {
  constructor(spec) {
    this.spec = spec;
    this.now = el("output", { class: "now" });
    this.plot = el("div", { class: "plot" });
    this.legend = el("div", { class: "legend" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.node = el("section", { class: "card chart" + (spec.wide ? " wide" : ""), "data-chart": spec.id },
      el("header", {}, el("h3", {}, spec.title, spec.unit ? el("small", {}, spec.unit) : ""), this.now),
      this.plot, this.legend, el("p", { class: "hint" }, spec.hint));
    this.plot.addEventListener("pointermove", (e) => this.point(e));
    this.plot.addEventListener("pointerdown", (e) => this.point(e));
    this.plot.addEventListener("pointerleave", () => charts.forEach((c) => c.cursor(null)));
    new ResizeObserver(() => this.view && this.draw()).observe(this.plot);
    charts.push(this);
  }

  // update takes new data: the runs that are shown, and the reader's view.
  update(runs, view) {
    this.runs = runs;
    this.view = view;
    this.draw();
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    const spec = this.spec, view = this.view;
    const model = spec.stack ? this.stackModel() : spec.ratings ? this.ratingModel() : this.lineModel();
    this.model = model;
    this.node.hidden = Boolean(spec.optional && model.empty);
    this.node.setAttribute("data-drawn", model.empty ? 0 : model.items.length);
    if (model.empty) {
      this.plotted = null;
      this.tip.hidden = true;
      replace(this.plot, el("p", { class: "empty" }, spec.empty || "Nothing measured yet"));
      replace(this.legend);
      this.now.textContent = "";
      return;
    }
    const format = spec.format || amount;
    const [x0, x1] = this.domainX(model);
    const [y0, y1] = model.range;
    const log = Boolean(spec.log && y0 > 0);
    const ys = log && y1 / y0 > 8 ? logTicks(y0, y1) : ticks(y0, y1, 4);
    const left = 12 + 6.4 * Math.max(...ys.map((v) => format(v).length));
    const x = scale(x0, x1, left, width - right);
    const y = scale(y0, y1, height - bottom, top, log);
    this.plotted = { x, y, x0, x1, left, width };

    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": spec.title + ". " + spec.hint });
    const clip = "clip-" + spec.id;
    root.append(svg("clipPath", { id: clip }, svg("rect", { x: left, y: top - 2, width: Math.max(0, width - right - left + 2), height: height - bottom - top + 3 })));
    for (const v of ys) {
      root.append(svg("line", { class: v === 0 ? "gridline zero" : "gridline", x1: left, x2: width - right, y1: y(v), y2: y(v) }),
        svg("text", { class: "tick", x: left - 6, y: y(v) + 3.5, "text-anchor": "end" }, format(v)));
    }
    const count = Math.max(2, Math.floor((width - left) / 72));
    const xs = view.axis === "elapsed" || view.axis === "time" ? timeTicks(x0, x1, count, view.axis === "time") : ticks(x0, x1, count);
    const step = xs.length > 1 ? xs[1] - xs[0] : x1 - x0;
    for (const v of xs) {
      const at = x(v), edge = at > width - right - 16 ? "end" : "middle";
      root.append(svg("text", { class: "tick", x: edge === "end" ? width - right + 4 : at, y: height - 6, "text-anchor": edge }, tickText(view.axis, v, step, x1 - x0)));
    }
    const body = svg("g", { "clip-path": `url(#${clip})` });
    for (const v of model.restarts || []) body.append(svg("line", { class: "restart", x1: x(v), x2: x(v), y1: top, y2: height - bottom }));
    if (model.bands) this.drawStack(body, model, x, y);
    for (const item of model.items) this.drawItem(body, item, x, y, width);
    this.overlay = svg("g", { class: "cursor" });
    root.append(body, this.overlay);
    replace(this.plot, root, this.tip);
    this.drawLegend(format);
  }

  domainX(model) {
    let low = Infinity, high = -Infinity;
    for (const xs of model.domain) {
      if (!xs.length) continue;
      low = Math.min(low, ...xs);
      high = Math.max(high, ...xs);
    }
    if (!isFinite(low)) return [0, 1];
    if (this.view.axis !== "time") low = Math.min(low, 0);
    return high > low ? [low, high] : [low, low + 1];
  }

  // lineModel gathers the lines of all runs. With one run colours tell lines
  // apart; with several, colours tell runs apart and dashes tell lines apart.
  lineModel() {
    const { spec, runs, view } = this;
    const items = [], seen = [], restarts = new Set();
    for (const run of runs) {
      const s = run.series;
      if (!s) continue;
      (spec.lines(s, run) || []).forEach((line, i) => {
        if (!line.values || !line.values.some((v) => v !== null)) return;
        const values = view.smooth && !line.exact ? s.smooth(line.values) : line.values;
        items.push({
          label: runs.length > 1 ? run.name : line.label, detail: line.label, color: runs.length > 1 ? run.color : (line.color ?? i),
          dash: runs.length > 1 ? i : line.dash ? 1 : 0, xs: s[view.axis], session: view.axis === "time" ? s.session : null, values, faint: values !== line.values && runs.length === 1 ? line.values : null, run,
        });
        seen.push({ raw: line.values, shown: values });
      });
      if (view.axis === "elapsed" || view.axis === "time") this.restarts(s).forEach((v) => restarts.add(v));
    }
    return {
      items, empty: !items.length, domain: runs.filter((r) => r.series).map((r) => r.series[view.axis]),
      range: this.range(seen), restarts: runs.length === 1 && restarts.size <= 20 ? [...restarts] : [],
    };
  }

  restarts(s) {
    const out = [];
    for (let i = 1; i < s.length; i++) if (s.session[i] !== s.session[i - 1]) out.push(s[this.view.axis][i]);
    return out;
  }

  // range is that of the lines shown, and of nearly all of the raw values.
  range(seen) {
    const spec = this.spec, all = [];
    let low = Infinity, high = -Infinity;
    for (const { raw, shown } of seen) {
      for (const v of shown) {
        if (v === null) continue;
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
      for (const v of raw) if (v !== null) all.push(v);
    }
    all.sort((a, b) => a - b);
    if (all.length) {
      low = Math.min(low, all[Math.floor(0.01 * (all.length - 1))]);
      high = Math.max(high, all[Math.ceil(0.99 * (all.length - 1))]);
    }
    if (spec.log && low > 0) return [low / 1.15, high * 1.15];
    if (spec.zero) low = Math.min(0, low);
    if (spec.most !== undefined) high = Math.max(high, spec.most);
    const pad = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [spec.zero && low === 0 ? 0 : low - pad, high + pad];
  }

  // stackModel piles the parts of the run in focus.
  stackModel() {
    const { spec, runs, view } = this;
    const run = runs.find((r) => r.focus) || runs[0];
    const s = run?.series;
    const made = s && spec.stack(s);
    const parts = made ? [...made.parts].filter(([, c]) => c && c.some((v) => v)) : [];
    if (!parts.length) return { items: [], empty: true };
    const sums = new Array(s.length).fill(null);
    const bands = parts.map(([label, column], i) => {
      const low = sums.slice();
      column.forEach((v, j) => { if (v !== null) sums[j] = (sums[j] || 0) + v; });
      return { label, color: made.colors?.[label] ?? i, low, high: sums.slice(), column };
    });
    if (made.share) {
      const total = sums.slice();
      for (const b of bands) {
        for (const k of ["low", "high"]) b[k] = b[k].map((v, j) => (total[j] ? (v || 0) / total[j] : null));
        b.column = b.column.map((v, j) => (total[j] ? (v || 0) / total[j] : null));
      }
    }
    const limit = made.limit?.some((v) => v !== null) ? made.limit : null;
    const most = made.share ? 1 : 1.05 * Math.max(...sums.filter((v) => v !== null), ...(limit || []).filter((v) => v !== null));
    const items = bands.map((b) => ({ label: b.label, detail: b.label, color: b.color, xs: s[view.axis], values: b.column, band: b, run }));
    if (limit) items.push({ label: made.limitLabel, detail: made.limitLabel, limit: true, xs: s[view.axis], values: limit, run });
    return { items, bands, domain: [s[view.axis]], range: [0, most || 1], focus: runs.length > 1 ? run : null, restarts: view.axis === "elapsed" || view.axis === "time" ? this.restarts(s) : [] };
  }

  // ratingModel draws the rated nets of each run and the anchors of the run in focus.
  ratingModel() {
    const { runs, view } = this;
    const items = [], domain = [];
    let low = Infinity, high = -Infinity;
    const see = (...v) => { low = Math.min(low, ...v); high = Math.max(high, ...v); };
    for (const run of runs) {
      if (!run.series || !run.ratings?.length) continue;
      domain.push(run.series[view.axis]);
      const nets = run.ratings.filter((r) => !r.anchor).sort((a, b) => a.step - b.step);
      if (nets.length) {
        nets.forEach((r) => see(r.low, r.high));
        items.push({
          label: runs.length > 1 ? run.name : "nets of this run", detail: "rating", color: runs.length > 1 ? run.color : 0, run, marks: true,
          xs: nets.map((r) => run.series.atStep(view.axis, r.step)), values: nets.map((r) => r.elo), low: nets.map((r) => r.low), high: nets.map((r) => r.high),
        });
      }
      if (run.focus || runs.length === 1) {
        for (const r of run.ratings.filter((r) => r.anchor)) {
          see(r.elo);
          items.push({ label: r.name, anchor: r, run });
        }
      }
    }
    const pad = (high - low) * 0.08 || 50;
    return { items, empty: !items.some((i) => i.marks), domain, range: [low - pad, high + pad] };
  }

  drawStack(body, model, x, y) {
    for (const b of model.bands) {
      const xs = model.items[0].xs;
      for (const [from, to] of pieces(b.high)) {
        let d = "";
        for (let i = from; i <= to; i++) d += (i === from ? "M" : "L") + n(x(xs[i])) + " " + n(y(b.high[i]));
        for (let i = to; i >= from; i--) d += "L" + n(x(xs[i])) + " " + n(y(b.low[i] || 0));
        body.append(svg("path", { class: "area c" + (b.color % 8), d: d + "Z" }));
      }
    }
  }

  drawItem(body, item, x, y, width) {
    if (item.band) return;
    if (item.anchor) {
      const at = y(item.anchor.elo);
      body.append(svg("line", { class: "anchor", x1: 0, x2: width, y1: at, y2: at }),
        svg("text", { class: "anchorname", x: width - right, y: at - 4, "text-anchor": "end" }, item.anchor.name));
      return;
    }
    const color = item.limit ? "limit" : "c" + (item.color % 8);
    if (item.low) {
      let d = "";
      item.xs.forEach((v, i) => { d += (i ? "L" : "M") + n(x(v)) + " " + n(y(item.high[i])); });
      for (let i = item.xs.length - 1; i >= 0; i--) d += "L" + n(x(item.xs[i])) + " " + n(y(item.low[i]));
      body.append(svg("path", { class: "band " + color, d: d + "Z" }));
    }
    if (item.faint) body.append(svg("path", { class: "line faint " + color, d: path(item, item.faint, x, y) }));
    body.append(svg("path", { class: "line " + color + (item.dash ? " dash" + item.dash : ""), d: path(item, item.values, x, y) }));
    if (item.marks) item.xs.forEach((v, i) => body.append(svg("circle", { class: "mark " + color, cx: n(x(v)), cy: n(y(item.values[i])), r: item.xs.length > 60 ? 1.5 : 2.5 })));
  }

  drawLegend(format) {
    const { items, focus } = this.model;
    const several = this.runs.length > 1;
    const first = items.find((i) => !i.anchor && !i.limit);
    const main = first && !first.band ? last(first.values) : null;
    this.now.textContent = several || main === null ? (focus ? focus.name : "") : format(main);
    const shown = items.filter((i) => !i.anchor);
    if (several && !focus) {
      const dashes = [...new Map(shown.map((i) => [i.dash || 0, i.detail]))];
      replace(this.legend, dashes.length > 1 ? dashes.map(([d, text]) => el("span", {}, swatch("limit" + (d ? " dash" + d : "")), text)) : []);
      return;
    }
    if (shown.length < 2) return replace(this.legend);
    replace(this.legend, shown.map((i) => el("span", {},
      swatch((i.limit ? "limit" : "c" + (i.color % 8)) + (i.band ? " solid" : "") + (i.dash ? " dash" + i.dash : "")),
      i.label, el("b", {}, format(last(i.values))))));
  }

  // point follows the pointer: every chart shows the same place.
  point(e) {
    if (!this.plotted) return;
    const { x0, x1, left, width } = this.plotted;
    const at = e.clientX - this.plot.getBoundingClientRect().left;
    const value = x0 + ((at - left) / (width - right - left)) * (x1 - x0);
    const inside = at >= left - 4 && at <= width - right + 4;
    cancelAnimationFrame(Chart.frame);
    Chart.frame = requestAnimationFrame(() => charts.forEach((c) => c.cursor(inside ? value : null, c === this)));
  }

  cursor(value, here) {
    if (!this.plotted || this.node.hidden) return;
    const { x, y, x0, x1, width } = this.plotted;
    if (value === null || value < x0 || value > x1) {
      replace(this.overlay);
      this.tip.hidden = true;
      return;
    }
    const format = this.spec.format || amount;
    const rows = [], dots = [];
    for (const item of this.model.items) {
      if (item.anchor) continue;
      const i = nearest(item.xs, value, item.values);
      if (i < 0) continue;
      const color = item.limit ? "limit" : "c" + (item.color % 8);
      const v = item.band ? item.band.high[i] : item.values[i];
      dots.push(svg("circle", { class: "mark " + color, cx: n(x(item.xs[i])), cy: n(y(v)), r: 3 }));
      const text = format(item.values[i]) + (item.low ? ` (${format(item.low[i])} to ${format(item.high[i])})` : "");
      const name = this.runs.length > 1 && !this.model.focus && item.dash !== undefined && this.model.items.some((o) => o.detail !== item.detail) ? item.label + ", " + item.detail : item.label || this.spec.title;
      rows.push(el("div", {}, swatch(color + (item.band ? " solid" : "")), el("span", {}, name), el("b", {}, text)));
    }
    replace(this.overlay, svg("line", { class: "cursorline", x1: x(value), x2: x(value), y1: top, y2: height - bottom }), dots);
    this.tip.hidden = !here;
    if (!here) return;
    replace(this.tip, el("p", {}, axes[this.view.axis].value(value)), this.model.bands ? rows.reverse() : rows);
    const half = this.tip.offsetWidth;
    const at = x(value);
    this.tip.style.left = Math.max(0, at + 14 + half > width ? at - 14 - half : at + 14) + "px";
    this.tip.style.top = "4px";
  }
}

function swatch(cls) {
  return svg("svg", { class: "swatch", width: 14, height: 10, "aria-hidden": "true" },
    cls.includes("solid") ? svg("rect", { class: "area " + cls, x: 1, y: 0, width: 10, height: 10, rx: 2 }) : svg("line", { class: "line " + cls, x1: 1, x2: 13, y1: 5, y2: 5 }));
}

// path draws a column. A value that is missing breaks the line, and so do a
// step back and, on the clock, a pause between sessions; a value alone becomes
// a dot.
function path({ xs, session }, values, x, y) {
  let d = "", down = false;
  for (let i = 0; i < values.length; i++) {
    if (values[i] === null || xs[i] === null) {
      down = false;
      continue;
    }
    if (i > 0 && (xs[i] < xs[i - 1] || (session && session[i] !== session[i - 1]))) down = false;
    d += (down ? "L" : "M") + n(x(xs[i])) + " " + n(y(values[i])) + (!down && (i + 1 >= values.length || values[i + 1] === null) ? "h0" : "");
    down = true;
  }
  return d;
}

// pieces are the spans of rows whose value is known.
function pieces(values) {
  const out = [];
  let from = -1;
  for (let i = 0; i <= values.length; i++) {
    const known = i < values.length && values[i] !== null;
    if (known && from < 0) from = i;
    if (!known && from >= 0) {
      out.push([from, i - 1]);
      from = -1;
    }
  }
  return out;
}

// nearest is the row with a value whose place is nearest to x, or -1.
function nearest(xs, x, values) {
  let best = -1, least = Infinity;
  for (let i = 0; i < xs.length; i++) {
    if (values[i] === null || xs[i] === null) continue;
    const d = Math.abs(xs[i] - x);
    if (d < least) [best, least] = [i, d];
  }
  return best;
}

function n(v) {
  return Math.round(v * 10) / 10;
}
