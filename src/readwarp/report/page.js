// Shows values under the pointer, zooms and saves figures, hides what is clicked in a legend, and makes tables sortable.
// Without it the page shows the same figures.
"use strict";
(() => {
  const pictures = JSON.parse(document.getElementById("pictures").textContent);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", "true");
  const hide = () => tip.remove();
  addEventListener("pointerdown", hide, true);

  const plain = value => value.toLocaleString("en", {maximumSignificantDigits: 5});
  const shown = (value, axis) => axis.percent ? `${plain(Number((100 * value).toPrecision(3)))}%` : plain(value);

  // What converts values between `range` and places between two edges.
  function makeScale(log, range, [from, to]) {
    const flat = value => log ? Math.log10(value) : value;
    const low = flat(range[0]), wide = flat(range[1]) - low;
    return {
      at: value => from + (flat(value) - low) / wide * (to - from),
      value: place => (value => log ? 10 ** value : value)(low + (place - from) / (to - from) * wide),
    };
  }

  // Round numbers in a range; on a logarithmic axis of more than a factor of ten, 1, 2 and 5 times powers of ten.
  function findTicks([low, high], log) {
    const size = 10 ** Math.floor(Math.log10((high - low) / 6));
    const step = [1, 2, 5, 10].map(factor => factor * size).find(step => (high - low) / step < 6);
    const powers = Array.from({length: 40}, (_, n) => 10 ** (n - 20));
    const found = log && high > 10 * low
      ? powers.flatMap(power => [power, 2 * power, 5 * power])
      : Array.from({length: 7}, (_, n) => (Math.ceil(low / step) + n) * step);
    return found.filter(value => low <= value && value <= high).map(value => [value, plain(value)]);
  }

  function make(name, attributes, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return node;
  }

  class Drawing {
    constructor(figure, svg) {
      [this.figure, this.svg, this.picture] = [figure, svg, pictures[figure.id]];
      [this.left, this.right, this.top, this.bottom] = svg.dataset.edges.split(" ").map(Number);
      this.isLying = this.picture.kind === "rows";
      this.edges = this.isLying ? [this.top, this.bottom] : [this.left, this.right];
      this.plot = svg.querySelector(".plot");
      this.ticks = svg.querySelector(".ticks");
      this.hidden = new Set();
      this.mark = make("path", {class: "mark"});
      this.setRange(this.picture.x.range);
      svg.addEventListener("pointermove", event => this.move(event));
      svg.addEventListener("pointerdown", event => this.press(event));
      svg.addEventListener("pointerup", event => this.release(event));
      svg.addEventListener("pointerleave", event => event.pointerType === "mouse" && this.leave());
      svg.querySelectorAll(".key").forEach(key => key.addEventListener("click", () => this.toggle(key.dataset.key)));
      if (!this.plot) return;
      const [ticks, box] = [[...this.ticks.childNodes], this.plot.getAttribute("viewBox")];
      svg.addEventListener("dblclick", () => {
        this.setRange(this.picture.x.range);
        this.plot.setAttribute("viewBox", box);
        this.ticks.replaceChildren(...ticks);
      });
    }

    setRange(range) {
      this.scale = makeScale(this.picture.x.log, range, this.edges);
    }

    placeOf(event) {
      return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    }

    clamp(x) {
      return Math.min(Math.max(x, this.left), this.right);
    }

    holds({x, y}) {
      return this.left <= x && x <= this.right && this.top <= y && y <= this.bottom;
    }

    move(event) {
      const place = this.placeOf(event), at = this.isLying ? place.y : place.x;
      if (this.start !== undefined) this.drawMark(this.start, this.clamp(at));
      else if (this.holds(place)) this.show(event, at);
      else this.leave();
    }

    leave() {
      hide();
      this.mark.remove();
      this.start = undefined;
    }

    press(event) {
      const place = this.placeOf(event);
      if (!this.holds(place)) return;
      this.move(event);
      if (event.pointerType !== "mouse" || event.button || !this.plot) return;
      event.preventDefault();
      this.svg.setPointerCapture(event.pointerId);
      this.start = place.x;
    }

    release(event) {
      if (this.start === undefined) return;
      const ends = [this.start, this.clamp(this.placeOf(event).x)].sort((a, b) => a - b);
      this.leave();
      if (ends[1] - ends[0] > 8) this.zoom(ends.map(this.scale.value));
    }

    zoom(range) {
      const [first, last] = range.map(makeScale(this.picture.x.log, this.picture.x.range, this.edges).at);
      const [, top, , height] = this.plot.getAttribute("viewBox").split(" ");
      this.plot.setAttribute("viewBox", `${first} ${top} ${last - first} ${height}`);
      this.setRange(range);
      const {ticks, log} = this.picture.x;
      const kept = ticks.length ? ticks.filter(([x]) => range[0] <= x && x <= range[1]) : findTicks(range, log);
      this.ticks.replaceChildren(...kept.flatMap(([value, text]) => {
        const x = this.scale.at(value);
        return [
          make("path", {class: "grid", d: `M${x},${this.top} ${x},${this.bottom}`}),
          make("text", {x, y: this.bottom + 18, "text-anchor": "middle"}, text),
        ];
      }));
    }

    toggle(name) {
      this.hidden[this.hidden.has(name) ? "delete" : "add"](name);
      for (const one of this.svg.querySelectorAll("[data-key]")) one.classList.toggle("off", this.hidden.has(one.dataset.key));
    }

    drawMark(from, to) {
      const {top, bottom} = this;
      this.mark.setAttribute("d", `M${from},${top} ${from},${bottom} ${to},${bottom} ${to},${top}z`);
      this.svg.append(this.mark);
    }

    // The values nearest to a place, of all series that are shown.
    show(event, at) {
      const {x: along, y: up, places, series: all} = this.picture;
      const distance = value => Math.abs(this.scale.at(value) - at);
      const found = all.filter(series => !this.hidden.has(series.legend)).map(series => {
        const n = series.x.reduce((best, x, n) => distance(x) < distance(series.x[best]) ? n : best, 0);
        return {series, n, x: series.x[n], gap: distance(series.x[n])};
      });
      if (!found.length) return;
      const nearest = Math.min(...found.map(one => one.gap));
      const {x, n} = found.find(one => one.gap === nearest);
      const title = places.length ? places[n] : `${along.label.split(",")[0]} ${shown(x, along)}`;
      const lines = found.filter(one => one.gap < nearest + 3).map(({series, n}) => {
        const value = (series.base ? `${shown(series.base[n], up)} to ` : "") + shown(series.y[n], up);
        return [series, value];
      });
      tip.replaceChildren();
      if (lines.length === 1 && !lines[0][0].name) tip.append(`${title}: ${lines[0][1]}`);
      else {
        tip.append(title);
        for (const [series, value] of lines) {
          const line = document.createElement("div"), swatch = document.createElement("span");
          swatch.className = "swatch";
          swatch.style.background = series.is_mark ? "var(--ink)" : `var(--series-${series.colour + 1})`;
          swatch.style.opacity = series.base ? series.opacity : 1;
          line.append(swatch, `${series.name}: ${value}`);
          tip.append(line);
        }
      }
      if (this.plot) this.drawMark(this.clamp(this.scale.at(x)), this.clamp(this.scale.at(x)));
      this.placeTip(event);
    }

    placeTip(event) {
      const box = this.figure.getBoundingClientRect();
      this.figure.append(tip);
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      tip.style.left = `${x > box.width / 2 ? Math.max(0, x - tip.offsetWidth - 14) : x + 14}px`;
      tip.style.top = `${y + 14}px`;
    }
  }

  const SAVED = ["fill", "stroke", "display", "opacity", "font-size", "font-family"]; // of CSS

  // The figure as a file, in the colours that it has now.
  function save(figure) {
    const svg = [...figure.querySelectorAll(".picture > svg")].find(svg => svg.clientWidth), copy = svg.cloneNode(true);
    const pairs = [[svg, copy], ...[...svg.querySelectorAll("*")].map((own, n) => [own, copy.querySelectorAll("*")[n]])];
    for (const [own, node] of pairs) {
      const style = getComputedStyle(own);
      for (const name of SAVED) node.style[name] = style[name];
    }
    copy.style.background = getComputedStyle(figure).backgroundColor;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"}));
    link.download = `${figure.id}.svg`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  for (const figure of document.querySelectorAll("figure")) {
    figure.querySelectorAll(".picture > svg").forEach(svg => new Drawing(figure, svg));
    const button = document.createElement("button");
    button.className = "save";
    button.textContent = "Save as SVG";
    button.addEventListener("click", () => save(figure));
    figure.append(button);
  }

  // Tables: a click on a heading sorts, words above the table choose rows.
  const number = text => parseFloat(text.replace(/[,\s%]/g, "")) || (/^[\s0.,%]*0/.test(text) ? 0 : -Infinity);
  for (const table of document.querySelectorAll("table[data-kinds]")) {
    const body = table.tBodies[0], rows = [...body.rows];
    table.dataset.kinds.split(" ").forEach((kind, column) => {
      if (kind === "none") return;
      const th = table.tHead.rows[0].cells[column], button = document.createElement("button");
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener("click", () => {
        const down = th.ariaSort === "ascending" || (kind === "number" && th.ariaSort !== "descending");
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keys = new Map(rows.map((row, place) => {
          const text = row.cells[column].textContent;
          return [row, kind === "order" ? place : kind === "number" ? number(text) : text.toLowerCase()];
        }));
        const sorted = [...rows].sort((a, b) => {
          const [x, y] = [keys.get(a), keys.get(b)];
          return x < y ? -1 : x > y ? 1 : 0;
        });
        body.append(...(down ? sorted.reverse() : sorted));
      });
    });
    if (rows.length < 8) continue;
    const label = document.createElement("label"), input = document.createElement("input");
    const count = document.createElement("output");
    input.type = "search";
    input.placeholder = "words to look for";
    label.className = "search";
    label.append("Filter ", input, " ", count);
    table.parentElement.before(label);
    const texts = rows.map(row => [...row.cells].map(cell => cell.textContent).join("\t").toLowerCase().replace(/(\d),(?=\d{3})/g, "$1"));
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().replace(/(\d),(?=\d{3})/g, "$1").split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, n) => {
        row.hidden = !words.every(word => texts[n].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
    });
  }

  // A link into a closed part opens it.
  const open = () => {
    const part = document.getElementById(location.hash.slice(1));
    if (part instanceof HTMLDetailsElement) part.open = true;
  };
  addEventListener("hashchange", open);
  open();
})();
