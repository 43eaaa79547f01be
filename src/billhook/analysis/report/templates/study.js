// Shows which method is best at which size, for the memory cap and the methods that are switched on.
(() => {
  const study = JSON.parse(document.getElementById("study").textContent);
  const at = (id) => document.getElementById(id);
  const slider = at("cap");
  const shown = study.methods.map(() => true);

  const percent = (accuracy) => (accuracy / 1e4).toFixed(2);
  const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

  function sizeText(bytes) {
    for (const [unit, factor] of [["MB", 2 ** 20], ["KB", 2 ** 10]]) {
      if (bytes < factor) continue;
      const number = (bytes / factor).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
      return `${number.replace(/\.0$/, "")} ${unit}`;
    }
    return `${bytes} B`;
  }

  function make(tag, words, kind) {
    const made = document.createElement(tag);
    if (words !== undefined) made.textContent = words;
    if (kind) made.className = kind;
    return made;
  }

  function shape(runs, k) {
    const parts = [];
    if (runs.leaves[k] !== null) parts.push(`${runs.leaves[k]} leaves`);
    if (runs.trees[k] !== null) parts.push(plural(runs.trees[k], "tree"));
    const options = study.options[runs.options[k]];
    return parts.join(" \u00d7 ") + (options ? `${parts.length ? ", " : ""}${options}` : "");
  }

  // Rows of a data set are in the order of their bytes: those below a cap come first.
  function bestBelow(runs, cap) {
    const best = study.methods.map(() => -1);
    addBelow(best, runs, 0, cap);
    return best;
  }

  // Returns the first row, from row k on, that is above the cap.
  function addBelow(best, runs, k, cap) {
    for (; k < runs.bytes.length && runs.bytes[k] <= cap; k++) {
      const m = runs.method[k];
      if (best[m] < 0 || runs.accuracy[k] > runs.accuracy[best[m]]) best[m] = k;
    }
    return k;
  }

  function winnersOf(best, runs) {
    const scores = best.map((k, m) => (k < 0 || !shown[m] ? -1 : runs.accuracy[k]));
    const top = Math.max(...scores);
    return top < 0 ? [] : scores.flatMap((score, m) => (score === top ? [m] : []));
  }

  // Ranks from 1, ties averaged; methods without a model that small come last together.
  function ranksOf(best, runs) {
    const scores = best.map((k) => (k < 0 ? -1 : runs.accuracy[k]));
    return scores.map((score, m) => {
      if (!shown[m]) return NaN;
      const others = scores.filter((_, n) => shown[n]);
      const above = others.filter((other) => other > score).length;
      const same = others.filter((other) => other === score).length;
      return above + (same + 1) / 2;
    });
  }

  const nameOf = (m) => study.methods[m].name;
  const cap = () => study.stops[slider.value];

  function chip(m) {
    return make("span", nameOf(m), `chip own-${m} ${study.methods[m].fill}`);
  }

  function updateTable() {
    const wins = study.methods.map(() => 0);
    const ranks = study.methods.map(() => 0);
    let counted = 0;
    const lines = study.data.map((data, d) => {
      const runs = study.runs[d];
      const best = bestBelow(runs, cap());
      const winners = winnersOf(best, runs);
      for (const m of winners) wins[m] += 1;
      if (winners.length) {
        counted += 1;
        ranksOf(best, runs).forEach((rank, m) => (ranks[m] += rank));
      }
      const line = make("tr");
      const name = make("th");
      name.scope = "row";
      const link = make("a", data);
      link.href = `#plot-${d}`;
      name.append(link);
      const winner = make("td", winners.length ? undefined : "no model this small", winners.length ? "winner" : "winner none");
      for (const m of winners) winner.append(chip(m), " ");
      if (winners.length) winner.append(percent(runs.accuracy[best[winners[0]]]));
      const model = make("td", undefined, "model");
      if (winners.length) {
        const k = best[winners[0]];
        model.textContent = `${shape(runs, k)}${shape(runs, k) ? ", " : ""}${sizeText(runs.bytes[k])}`;
      }
      line.append(name, winner, model);
      best.forEach((k, m) => {
        if (!shown[m]) return;
        const cell = make("td", k < 0 ? "\u2013" : percent(runs.accuracy[k]), winners.includes(m) ? "number best" : "number");
        line.append(cell);
      });
      at(`best-${d}`).replaceChildren(...bestWords(winners, best, runs));
      return line;
    });
    at("best-body").replaceChildren(...lines);
    const heads = [...at("best-heads").children];
    heads.slice(3).forEach((head, m) => (head.hidden = !shown[m]));
    updateFoot(wins, ranks, counted);
    updateVerdict(wins, counted);
  }

  function bestWords(winners, best, runs) {
    if (!winners.length) return [`no model below ${sizeText(cap())}`];
    const k = best[winners[0]];
    const words = [];
    for (const m of winners) words.push(chip(m), " ");
    words.push(`${percent(runs.accuracy[k])}% below ${sizeText(cap())}`);
    return words;
  }

  function updateFoot(wins, ranks, counted) {
    const rows = [["best on", (m) => wins[m]], ["mean rank", (m) => (counted ? (ranks[m] / counted).toFixed(2) : "\u2013")]];
    at("best-foot").replaceChildren(
      ...rows.map(([words, value]) => {
        const line = make("tr");
        const name = make("th", words);
        name.scope = "row";
        name.colSpan = 3;
        line.append(name);
        study.methods.forEach((_, m) => shown[m] && line.append(make("td", value(m), "number")));
        return line;
      }),
    );
  }

  function updateVerdict(wins, counted) {
    const order = study.methods.map((_, m) => m).filter((m) => wins[m]);
    order.sort((a, b) => wins[b] - wins[a]);
    const words = [make("strong", `Below ${sizeText(cap())}: `)];
    if (!order.length) words.push("no method has a model this small.");
    order.forEach((m, n) => {
      words.push(n ? (n === 1 ? ", then " : ", ") : "", chip(m));
      words.push(n ? ` on ${wins[m]}` : ` is the most accurate on ${wins[m]} of ${plural(counted, "data set")}`);
    });
    if (order.length) words.push(".");
    if (order.length && counted < study.data.length) words.push(` No model is this small on ${plural(study.data.length - counted, "data set")}.`);
    at("verdict").replaceChildren(...words);
  }

  function updateTargets() {
    const enough = [];
    for (const button of document.querySelectorAll(".target")) {
      const fits = Number(button.dataset.flash) >= cap();
      button.classList.toggle("small", !fits);
      button.lastElementChild.textContent = fits ? "large enough" : "too small";
      if (fits) enough.push(button.firstElementChild.textContent);
    }
    const n = document.querySelectorAll(".target").length;
    at("targets-said").textContent = enough.length
      ? `smallest target with that much flash: ${enough[0]} (${enough.length} of ${n} targets are large enough)`
      : "no target has this much flash";
  }

  // ---- the map: for every data set, which method is best at which size
  const span = study.span[1] - study.span[0];
  const across = (bytes) => Math.min(Math.max((100 * (Math.log2(Math.max(bytes, 1)) - study.span[0])) / span, 0), 100);

  // At each stop of the slider, so that the map shows what the table says there.
  function winnersAtStops(runs) {
    const best = study.methods.map(() => -1);
    let k = 0;
    return study.stops.map((stop) => {
      k = addBelow(best, runs, k, stop);
      return winnersOf(best, runs);
    });
  }

  function mostOf(all) {
    return study.stops.map((_, stop) => {
      const wins = study.methods.map(() => 0);
      for (const winners of all) for (const m of winners[stop]) wins[m] += 1;
      const most = Math.max(...wins);
      return most ? wins.flatMap((n, m) => (n === most ? [m] : [])) : [];
    });
  }

  function piecesOf(winners) {
    const pieces = [];
    winners.forEach((now, stop) => {
      if (!stop || now.join() !== winners[stop - 1].join()) pieces.push({ from: study.stops[stop], winners: now });
    });
    return pieces;
  }

  function strip(words, found, kind) {
    const row = make("div", undefined, `strip ${kind}`);
    const name = make("span", words, "name");
    const bar = make("span", undefined, "pieces");
    found.forEach((piece, n) => {
      const start = across(piece.from);
      const end = n + 1 < found.length ? across(found[n + 1].from) : 100;
      if (end <= start || !piece.winners.length) return;
      const names = piece.winners.map(nameOf).join(" and ");
      const [m] = piece.winners;
      const isTie = piece.winners.length > 1;
      const made = make("span", isTie ? "tie" : names, isTie ? "piece tie" : `piece own-${m} ${study.methods[m].fill}`);
      made.style.left = `${start}%`;
      made.style.width = `${end - start}%`;
      const until = n + 1 < found.length ? ` to ${sizeText(found[n + 1].from)}` : "";
      made.title = `${words}: ${names} from ${sizeText(piece.from)}${until}`;
      bar.append(made);
    });
    row.append(name, bar);
    return row;
  }

  function updateMap() {
    const all = study.runs.map(winnersAtStops);
    const rows = study.data.map((data, d) => strip(data, piecesOf(all[d]), ""));
    if (study.data.length > 1) rows.unshift(strip("overall", piecesOf(mostOf(all)), "most"));
    at("map-rows").replaceChildren(...rows);
    // Names that do not fit into their piece are left to the colours.
    for (const piece of document.querySelectorAll(".piece")) {
      piece.classList.toggle("bare", piece.scrollWidth > piece.clientWidth);
    }
  }

  // ---- the slider
  function moveCap() {
    slider.setAttribute("aria-valuetext", sizeText(cap()));
    at("cap-said").textContent = sizeText(cap());
    for (const line of document.querySelectorAll("line.cap")) {
      for (const end of ["x1", "x2"]) line.setAttribute(end, `${across(cap())}%`);
    }
    at("map").style.setProperty("--cap", across(cap()) / 100);
    updateTargets();
    updateTable();
  }

  slider.addEventListener("input", moveCap);
  for (const button of document.querySelectorAll(".target")) {
    button.addEventListener("click", () => {
      slider.value = Math.max(study.stops.findLastIndex((stop) => stop <= Number(button.dataset.flash)), 0);
      moveCap();
    });
  }

  // ---- methods on and off
  document.querySelectorAll(".method").forEach((button, m) => {
    button.addEventListener("click", () => {
      shown[m] = !shown[m];
      button.setAttribute("aria-pressed", shown[m]);
      for (const drawn of document.querySelectorAll(`.curves .own-${m}`)) drawn.style.display = shown[m] ? "" : "none";
      updateMap();
      moveCap();
    });
  });

  // ---- configurations of the plots
  document.querySelectorAll(".curves").forEach((plot) => {
    const d = Number(plot.dataset.number);
    const runs = study.runs[d];
    const ring = plot.querySelector(".selected");
    const text = at(`selected-${d}`);
    const [low, high] = plot.dataset.accuracy.split(" ").map(Number);
    const up = (accuracy) => Math.min(Math.max((100 * (accuracy / 1e6 - low)) / (high - low), 0), 100);
    let now = -1;

    function select(k) {
      if (k < 0 || k === now) return;
      now = k;
      ring.setAttribute("cx", `${across(runs.bytes[k])}%`);
      ring.setAttribute("cy", `${100 - up(runs.accuracy[k])}%`);
      ring.style.display = "inline";
      const spread = runs.folds[k] > 1 ? ` \u00b1 ${percent(runs.spread[k])}` : "";
      text.replaceChildren(
        chip(runs.method[k]),
        ` ${percent(runs.accuracy[k])}${spread}%, ${sizeText(runs.bytes[k])}${shape(runs, k) ? `, ${shape(runs, k)}` : ""}, ${plural(runs.folds[k], "fold")}`,
      );
    }

    // Dots are small: the nearest within a finger's breadth is meant.
    function nearest(event) {
      const box = plot.getBoundingClientRect();
      let best = -1;
      let least = 24 ** 2;
      runs.bytes.forEach((bytes, k) => {
        if (!shown[runs.method[k]] || bytes > study.stops.at(-1)) return;
        const dx = box.left + (across(bytes) / 100) * box.width - event.clientX;
        const dy = box.top + (1 - up(runs.accuracy[k]) / 100) * box.height - event.clientY;
        if (dx * dx + dy * dy >= least) return;
        best = k;
        least = dx * dx + dy * dy;
      });
      return best;
    }

    for (const kind of ["pointermove", "pointerdown"]) plot.parentElement.addEventListener(kind, (event) => select(nearest(event)));
    plot.addEventListener("keydown", (event) => {
      const there = runs.bytes.flatMap((bytes, k) => (shown[runs.method[k]] && runs.front[k] && bytes <= study.stops.at(-1) ? [k] : []));
      const place = there.findLastIndex((k) => k <= now);
      const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: there.length - 1 };
      if (!(event.key in to) || !there.length) return;
      event.preventDefault();
      select(there[Math.min(Math.max(to[event.key], 0), there.length - 1)]);
    });
  });

  updateMap();
  moveCap();
  window.addEventListener("resize", updateMap);
})();
