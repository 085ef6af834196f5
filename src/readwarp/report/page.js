// Draws the pictures of the page with plotly.js when they come into view, and makes its tables sortable. Without it the
// page shows the same pictures as SVG.
"use strict";
(() => {
  const pictures = JSON.parse(document.getElementById("pictures").textContent);
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const pointed = matchMedia("(hover: hover)");
  const colour = name => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const drawn = new Map();

  const withAlpha = (hex, alpha) => `rgba(${[1, 3, 5].map(n => parseInt(hex.slice(n, n + 2), 16)).join(",")},${alpha})`;

  function traces(picture, width) {
    return picture.series.flatMap(series => picture.kind === "lines"
      ? lines(picture, series) : [bars(picture, series, width)]);
  }

  function lines(picture, series) {
    const paint = colour(`series-${series.colour + 1}`);
    const value = picture.y.percent ? "%{y:.3~p}" : "%{y:,.5~r}";
    const place = picture.places.length ? "%{text}: " : ""; // else it is at the axis
    const line = {
      type: "scatter", mode: "lines", x: series.x, y: series.y, name: escape(series.legend || ""),
      line: {color: paint, width: series.base ? 0 : 1.9, dash: series.dash ? "dash" : "solid"},
      fill: series.fill ? "tozeroy" : "none", fillcolor: withAlpha(paint, 0.15),
      text: picture.places.map(escape), showlegend: Boolean(series.legend),
      hovertemplate: `${place}${value}<extra>${escape(series.name || "")}</extra>`,
    };
    if (!series.base) return [line];
    const floor = {...line, y: series.base, fill: "none", showlegend: false, hoverinfo: "skip", hovertemplate: null};
    return [floor, {...line, fill: "tonexty", fillcolor: withAlpha(paint, series.opacity)}];
  }

  function bars(picture, series, width) {
    const paint = colour(`series-${series.colour + 1}`);
    const lying = picture.kind === "rows";
    const [number, category] = lying ? ["x", "y"] : ["y", "x"];
    const form = picture.y.percent ? ".3~p" : ",.5~r";
    const names = series.x.map(place => escape(picture.places[place]));
    const count = picture.series.length * series.x.length;
    const labelled = !series.base && !series.is_mark && (lying ? picture.series.length <= 2 : width / count > 38);
    const own = {
      name: escape(series.legend || ""), showlegend: Boolean(series.legend), customdata: names,
      [category]: series.x, [number]: series.y, orientation: lying ? "h" : "v",
      hovertemplate: `%{customdata}: %{${number}:${form}}<extra>${escape(series.name || "")}</extra>`,
    };
    if (series.is_mark) return {
      ...own, type: "scatter", mode: "markers",
      marker: {symbol: lying ? "line-ns" : "line-ew", size: 16, line: {color: colour("ink"), width: 2}},
    };
    const over = series.base
      ? {base: series.base, [number]: series.y.map((top, n) => top - series.base[n]), width: 0.5, offset: -0.25,
         customdata: names.map((name, n) => [name, series.base[n], series.y[n]]),
         hovertemplate: `%{customdata[0]}: %{customdata[1]:${form}} to %{customdata[2]:${form}}<extra>${escape(series.name)}</extra>`}
      : {};
    const labels = labelled ? {text: series.y.map(value => short(value, picture.y.percent)), textposition: "outside",
      cliponaxis: false, constraintext: "none", textangle: 0, textfont: {size: 11}} : {};
    return {...own, ...over, ...labels, type: "bar", marker: {color: withAlpha(paint, series.opacity || 1)}};
  }

  function short(value, percent) {
    if (percent) return `${(100 * value).toFixed(value === 0 || value === 1 ? 0 : value < 0.1 || value > 0.9 ? 2 : 1)}%`;
    if (Number.isInteger(value) || value >= 1000) return Math.round(value).toLocaleString("en");
    return value >= 10 ? value.toFixed(1) : String(Number(value.toPrecision(3)));
  }

  const escape = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/%/g, "&#37;");

  function axis(given, shown, counts) {
    const range = given.log ? given.range.map(Math.log10) : given.range;
    const own = {
      range, type: given.log ? "log" : "linear", gridcolor: colour("grid"), linecolor: colour("line"), zeroline: false,
      tickformat: given.percent ? ",.3~p" : ",.6~f", ticks: "", // numbers in full: all of an axis look alike
      hoverformat: given.percent ? ",.3~p" : ",.6~r", automargin: true, showgrid: shown, fixedrange: coarse.matches,
      nticks: Math.abs(range[1]) < 1e6 || given.log ? 7 : 4, tickangle: 0,
    };
    if (counts && Math.abs(range[1]) < 7) own.dtick = 1;
    if (given.log) own.dtick = range[1] - range[0] > 3 ? 1 : "D2";
    if (given.ticks.length) {
      own.tickvals = given.ticks.map(tick => tick[0]);
      own.ticktext = given.ticks.map(tick => tick[1]);
    }
    return own;
  }

  function layout(picture, box) {
    const lying = picture.kind === "rows", isBars = picture.kind !== "lines";
    const [across, up] = lying ? [picture.y, picture.x] : [picture.x, picture.y];
    const x = {...axis(across, !isBars || lying, lying && picture.counts), title: {text: across.label, standoff: 8, font: {color: colour("soft"), size: 12}}};
    const y = axis(up, !lying, !lying && picture.counts);
    if (lying) y.range = [...y.range].reverse();
    if (picture.places.length && !lying) thin(x, box.clientWidth - 70);
    for (const own of [x, y]) own.ticktext = own.ticktext && own.ticktext.map(text => escape(text).replace(/\n/g, "<br>"));
    return {
      xaxis: x, yaxis: y, height: box.clientHeight, margin: {l: 44, r: 20, t: 30, b: 36}, barmode: "group", bargap: 0.2,
      ...(picture.series.some(series => series.base) ? {barmode: "overlay"} : {}),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink")},
      title: {text: escape(up.label), font: {color: colour("soft"), size: 12}, x: 0, xanchor: "left", xref: "container", y: 1, yref: "container",
        yanchor: "top", pad: {t: 6}},
      showlegend: true, legend: {orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom", font: {size: 12}},
      hovermode: picture.kind === "lines" && !picture.places.length ? "x" : "closest", hoverdistance: 60, dragmode: coarse.matches ? false : "zoom",
      hoverlabel: {bgcolor: colour("card"), bordercolor: colour("line"), font: {color: colour("ink"), size: 12}},
      modebar: {bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("accent")},
    };
  }

  // Names of categories that have no room are left out.
  function thin(x, width) {
    if (!x.tickvals) return;
    const scale = width / (x.range[1] - x.range[0]);
    let end = -Infinity;
    const kept = x.tickvals.map((place, n) => {
      const half = 3.6 * Math.max(...x.ticktext[n].split("\n").map(line => line.length));
      const shown = (place - x.range[0]) * scale - half > end + 4;
      if (shown) end = (place - x.range[0]) * scale + half;
      return shown;
    });
    x.ticktext = x.ticktext.filter((_, n) => kept[n]);
    x.tickvals = x.tickvals.filter((_, n) => kept[n]);
  }

  function draw(figure) {
    const picture = pictures[figure.id], box = figure.querySelector(".live");
    const still = figure.querySelector(".still");
    box.style.height = `${Math.max(230, Math.min(still.clientHeight || 300, 640))}px`;
    figure.classList.add("is-live");
    const options = {
      responsive: true, displaylogo: false, displayModeBar: pointed.matches ? "hover" : false,
      modeBarButtons: [["toImage", "resetScale2d"]], toImageButtonOptions: {format: "svg", filename: figure.id},
    };
    Plotly.newPlot(box, traces(picture, box.clientWidth - 70), layout(picture, box), options)
      .then(() => drawn.set(figure, box))
      .catch(error => { figure.classList.remove("is-live"); throw error; });
  }

  const figures = [...document.querySelectorAll("figure")].filter(figure => pictures[figure.id]);
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, {rootMargin: "300px"});
  figures.forEach(figure => seen.observe(figure));
  dark.addEventListener("change", () => {
    for (const [figure, box] of drawn) Plotly.react(box, traces(pictures[figure.id], box.clientWidth - 70), layout(pictures[figure.id], box));
  });

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
