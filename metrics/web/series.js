// A run's history in columns, and what is derived from it.

export class Series {
  constructor(raw) {
    Object.assign(this, raw);
    this.length = this.time.length;
    this.bases = new Map();
    for (const name of Object.keys(this.values)) {
      const base = name.split("{", 1)[0];
      if (!this.bases.has(base)) this.bases.set(base, []);
      this.bases.get(base).push(name);
    }
  }

  // value is the column of one name, or undefined.
  value(name) {
    return this.values[name];
  }

  // by gives the columns of a name summed by one label: Map of label value to column.
  by(base, label) {
    const out = new Map();
    for (const name of this.bases.get(base) || []) {
      const m = name.match(new RegExp("[{,]" + label + '="((?:[^"\\\\]|\\\\.)*)"'));
      if (m) out.set(m[1], add(out.get(m[1]), this.values[name]));
    }
    return out;
  }

  // sum adds all columns of a name, whatever their labels.
  sum(base) {
    let out;
    for (const name of this.bases.get(base) || []) out = add(out, this.values[name]);
    return out;
  }

  // width is the half width, in rows, of the window that smooths.
  get width() {
    return Math.max(1, Math.round(this.length / 50));
  }

  // inSession narrows rows a..b around i to the session of row i.
  inSession(i, a, b) {
    while (a < i && this.session[a] !== this.session[i]) a++;
    while (b > i && this.session[b] !== this.session[i]) b--;
    return [a, b];
  }

  // growth is how much a counter grows per row, over 2w+1 rows around each;
  // null across a restart.
  growth(column, w = 0) {
    if (!column) return undefined;
    const out = new Array(this.length).fill(null);
    for (let i = 0; i < this.length; i++) {
      let [a, b] = this.inSession(i, Math.max(0, i - w - 1), Math.min(this.length - 1, i + w));
      while (a < b && column[a] === null) a++;
      while (b > a && column[b] === null) b--;
      if (a < b) out[i] = { by: column[b] - column[a], seconds: this.elapsed[b] - this.elapsed[a] };
    }
    return out;
  }

  // rate is a counter's growth per second of running time.
  rate(column, w = 0) {
    return this.growth(column, w)?.map((g) => (g && g.seconds > 0 ? g.by / g.seconds : null));
  }

  // quotient is the growth of one counter by that of another.
  quotient(a, b, w = this.width) {
    if (!a || !b) return undefined;
    const x = this.growth(a, w), y = this.growth(b, w);
    return x.map((g, i) => (g && y[i] && y[i].by > 0 ? g.by / y[i].by : null));
  }

  // smooth is the mean over a window around each row.
  smooth(column) {
    const w = this.width, out = new Array(this.length).fill(null);
    for (let i = 0; i < this.length; i++) {
      if (column[i] === null) continue;
      const a = Math.max(0, i - w), b = Math.min(this.length - 1, i + w);
      let sum = 0, n = 0;
      for (let j = a; j <= b; j++) {
        if (column[j] === null) continue;
        sum += column[j];
        n++;
      }
      out[i] = sum / n;
    }
    return out;
  }

  // atStep gives the value of an axis (elapsed, time, games) at a step.
  atStep(axis, step) {
    const at = this[axis], n = this.length;
    if (axis === "step") return step;
    for (let i = 0; i < n; i++) {
      if (this.step[i] >= step) {
        if (i === 0 || this.step[i] === this.step[i - 1]) return at[i];
        const f = (step - this.step[i - 1]) / (this.step[i] - this.step[i - 1]);
        return at[i - 1] + Math.max(0, f) * (at[i] - at[i - 1]);
      }
    }
    return n ? at[n - 1] : null;
  }
}

// add sums two columns; a value that is not known counts as 0 next to one
// that is.
function add(a, b) {
  if (!a) return b;
  return a.map((v, i) => (v === null ? b[i] : b[i] === null ? v : v + b[i]));
}

// last is the last known value of a column.
export function last(column) {
  if (!column) return null;
  for (let i = column.length - 1; i >= 0; i--) if (column[i] !== null) return column[i];
  return null;
}
